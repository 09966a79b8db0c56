"""Laws of the algebra that the oracle must obey: it is the truth of all other tests."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.generate.catalog import bind
from tests.generate.effort import examples
from tests.generate.expressions import EXACT_AGGREGATES
from tests.generate.grammar import WINDOWS as GRAMMAR_WINDOWS
from tests.generate.queries import queries
from tests.generate.streams import cut_times, random_world, worlds
from tests.reference.histories import Row, World
from tests.reference.oracle import Oracle

pytestmark = pytest.mark.long

EXTERNAL = tuple(set(GRAMMAR_WINDOWS) - {"internal"})

WINDOWS = st.sampled_from(
    ["RANGE 5", "NOW", "ROWS 2", "PARTITION BY k ROWS 1", "UNBOUNDED", "SINCE 3", "RANGE 8"]
)


def moments(*oracles: Oracle) -> list[int]:
    """Every instant at which one of them can change, and some between."""
    found = {i for oracle in oracles for i in oracle.instants()}
    return sorted(found | {i + 1 for i in found})


def assert_same(world: World, *texts: str) -> None:
    """Assert that all queries have the same answer at every instant."""
    first, *others = [Oracle(bind(text), world) for text in texts]
    at = moments(first, *others)
    answers = first.answers(at)
    for text, other in zip(texts[1:], others, strict=True):
        assert other.answers(at) == answers, text


@st.composite
def arms(draw: st.DrawFn, count: int) -> list[str]:
    """Draw blocks of one whole number each."""
    made = []
    for name in "abc"[:count]:
        window, column = draw(WINDOWS), draw(st.sampled_from(["k", "v"]))
        head = draw(st.sampled_from(["SELECT", "SELECT DISTINCT"]))
        made.append(f"{head} {column} AS c FROM {name} [{window}]")
    return made


@examples(12)
@given(arms(3), worlds(max_rows=6, names="abc"))
def test_set_operations_obey_the_laws_of_bags(three, world):
    a, b, c = three
    assert_same(world, f"{a} UNION ALL {b}", f"{b} UNION ALL {a}")
    assert_same(world, f"{a} INTERSECT ALL {b}", f"{b} INTERSECT ALL {a}")
    assert_same(world, f"{a} UNION {b}", f"SELECT DISTINCT q.c FROM ({a} UNION ALL {b}) AS q")
    assert_same(
        world,
        f"SELECT q.c FROM ({a} UNION ALL {b}) AS q UNION ALL {c}",
        f"{a} UNION ALL SELECT q.c FROM ({b} UNION ALL {c}) AS q",
    )
    assert_same(
        world,
        f"{a} INTERSECT ALL {b}",
        f"{a} EXCEPT ALL SELECT q.c FROM ({a} EXCEPT ALL {b}) AS q",
    )


@examples(10)
@given(WINDOWS, WINDOWS, st.sampled_from(["=", "<", "<=>"]), worlds(max_rows=6, names="ab"))
def test_each_tuple_has_a_match_or_has_none(outer, inner, operator, world):
    source = f"SELECT a.id FROM a [{outer}]"
    matches = f"(SELECT * FROM b [{inner}] WHERE b.k {operator} a.k)"
    assert_same(
        world,
        source,
        f"{source} WHERE EXISTS {matches} UNION ALL {source} WHERE NOT EXISTS {matches}",
    )


@examples(10)
@given(WINDOWS, WINDOWS, worlds(max_rows=6, names="ab"))
def test_in_is_exists_and_not_in_minds_nulls(outer, inner, world):
    source, members = f"SELECT a.id, a.k FROM a [{outer}]", f"(SELECT k FROM b [{inner}])"
    matches = f"(SELECT * FROM b [{inner}] WHERE b.k = a.k)"
    assert_same(world, f"{source} WHERE a.k IN {members}", f"{source} WHERE EXISTS {matches}")
    kept, free = (
        Oracle(bind(f"{source} WHERE {condition}"), world)
        for condition in (f"a.k NOT IN {members}", f"NOT EXISTS {matches}")
    )
    for at in moments(kept, free):
        assert not kept.answer(at) - free.answer(at)


@examples(20)
@given(queries(windows=EXTERNAL, aggregates=EXACT_AGGREGATES, outputs=["view"]), worlds(max_rows=5))
def test_rstream_is_the_view_and_the_changes_add_up_to_it(text, world):
    view, again = Oracle(bind(text), world), Oracle(bind(f"RSTREAM({text})"), world)
    at = moments(view)
    answers = view.answers(at)
    assert again.answers(at) == answers
    grown, shrunk = (Oracle(bind(f"{word}({text})"), world) for word in ("ISTREAM", "DSTREAM"))
    came, went = grown.changes(), shrunk.changes()
    for i in at:
        assert total(came, i) - total(went, i) == answers[i]


def total(changes: list[tuple[int, int, Row]], at: int) -> Counter[Row]:
    return Counter(row for ts, _, row in changes if ts <= at)


@examples(15)
@given(st.sampled_from([2, 3, 4]), st.sampled_from([2, 3, 5, 8]), worlds(max_rows=6, names="ab"))
def test_a_slide_shows_the_answer_as_of_its_last_multiple(slide, width, world):
    for shape in (
        "SELECT id FROM a [RANGE {}]",
        "SELECT k, COUNT(*), SUM(v) FROM a [RANGE {}] GROUP BY k",
        "SELECT a.id, b.id FROM a [RANGE {}], b [RANGE 4] WHERE a.k = b.k",
    ):
        free = Oracle(bind(shape.format(width)), world)
        held = Oracle(bind(shape.format(f"{width} SLIDE {slide}")), world)
        at = [i for i in moments(free, held) if i // slide * slide >= min(cut_times(world))]
        now, due = held.answers(at), free.answers(i // slide * slide for i in at)
        assert all(now[i] == due[i // slide * slide] for i in at), shape


@examples(10)
@given(st.sampled_from([1, 2, 5]), worlds(max_rows=6, names="ab"))
def test_ways_to_write_the_same_window_agree(width, world):
    assert_same(
        world,
        f"SELECT k, COUNT(*) FROM a [TUMBLE {width}] GROUP BY k",
        f"SELECT k, COUNT(*) FROM a [RANGE {width} SLIDE {width}] GROUP BY k",
    )
    assert_same(world, "SELECT id FROM a [NOW]", "SELECT id FROM a [RANGE 1]")
    assert_same(world, "SELECT id FROM a", "SELECT id FROM a [UNBOUNDED]")
    pairs = "SELECT a.id, b.id FROM a [RANGE 8], b [RANGE 8] WHERE"
    assert_same(
        world,
        f"{pairs} WINDOW(a, b) = {width}",
        f"{pairs} WINDOW(b, a) = {width}",
        f"{pairs} WINDOW = {width}",
        f"{pairs} ABS(a.ts - b.ts) < {width}",
        f"{pairs} DWINDOW(a, b) = {width} UNION ALL {pairs} DWINDOW(b, a) = {width} "
        "AND a.ts <> b.ts",
    )


BELOW = "SELECT q.id FROM (SELECT id, s FROM a WHERE k > 1) AS q [{}]"
ABOVE = "SELECT id FROM a [{}] WHERE k > 1"


@examples(10)
@given(st.sampled_from(["RANGE 5", "NOW", "SINCE 3", "UNBOUNDED"]), worlds(max_rows=8, names="a"))
def test_a_filter_may_go_below_a_window_of_time(window, world):
    assert_same(world, ABOVE.format(window), BELOW.format(window))


@pytest.mark.parametrize("window", ["ROWS 2", "PARTITION BY s ROWS 1"])
def test_a_filter_may_not_go_below_a_window_that_counts(window):
    above, below = (bind(shape.format(window)) for shape in (ABOVE, BELOW))
    tried = (random_world(seed, rows=8, names="a") for seed in range(20))
    assert any(Oracle(above, w).changes() != Oracle(below, w).changes() for w in tried)
