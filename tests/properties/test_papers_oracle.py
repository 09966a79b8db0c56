"""The papers' oracle: it knows nothing of windrow, says what the papers say, and the engine agrees.

More cases: ``python -m tests.papers --cases 100000 --seed 1``.
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest
from tests.generate.papers import random_case
from tests.generate.papers_queries import COLUMNS
from tests.papers.__main__ import Options, Tally, chunk, written
from tests.papers.judge import judge
from tests.papers.script import Case, Push, Register, Update
from tests.papers.shrink import shrunk
from tests.reference import papers
from tests.reference.papers.description import (
    Agg,
    Block,
    Col,
    Compare,
    Derived,
    Item,
    PairBound,
    Query,
    SetOp,
    Stream,
    Sub,
    Table,
    Window,
)
from tests.reference.papers.evaluate import evaluate
from tests.reference.papers.rendering import to_sql
from tests.reference.papers.worlds import Arrival, Change, World

FOLDER = Path(papers.__file__).parent


def imported(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda p: p.name)
def test_it_imports_nothing_but_itself_and_the_standard_library(path: Path) -> None:
    own = {name for name in imported(path) if name.startswith("tests.")}
    assert all(name.startswith("tests.reference.papers") for name in own)
    others = {name.partition(".")[0] for name in imported(path)} - {"tests"}
    assert others <= {"__future__", "collections", "dataclasses", "itertools", "operator"}


# ---------------------------------------------------------------------------- what the papers say


def world(times: list[int], relations: dict[str, list[Change]] | None = None) -> World:
    """Equal tuples of stream a at these instants."""
    tuples = tuple(Arrival(ts, (ts, 1, 1)) for ts in times)
    tables = {name: tuple(changes) for name, changes in (relations or {}).items()}
    return World(COLUMNS, {"a": tuples}, tables)


def keys(window: Window) -> Query:
    return Query(Block((Stream("a", "s", window),), (Item(Col("s", "k"), "k"),)))


def emitted(query: Query, times: list[int], end: int = 40) -> list[int]:
    """When a stream of equal rows emits, a time for each."""
    output = evaluate(query, world(times), end)
    assert output is not None
    assert output.stream
    return [at for at, bag in sorted(output.bags.items()) for _ in range(bag.total())]


@pytest.mark.parametrize(
    ("window", "times", "expected"),
    [
        (Window("range", 10, internal=True), [0, 10, 20], [0, 10, 20]),
        (Window("rows", 1, internal=True), [0, 10, 20], [0, 10, 20]),
        (Window("rows", 1, internal=True), [3, 3, 3], [3]),
        (Window("range", 4, 4, internal=True), [1, 5, 9, 13], [4, 8, 12, 16]),
    ],
)
def test_internal_windows_emit_every_result(
    window: Window, times: list[int], expected: list[int]
) -> None:
    assert emitted(keys(window), times) == expected


def test_an_output_window_has_the_most_recently_generated_results() -> None:
    query = Query(keys(Window("now")).body, "wstream", window=Window("rows", 10))
    output = evaluate(query, world([0, 1, 2]), 5)
    assert output is not None
    assert output.bags[5] == Counter({(1,): 3})


def test_a_window_on_a_sub_query_holds_every_result() -> None:
    inner = Derived(keys(Window("now")), "d", Window("range", 150))
    query = Query(Block((inner,), (Item(Agg("sum", Col("d", "k")), "v"),)))
    output = evaluate(query, world([0, 1, 2]), 3)
    assert output is not None
    assert output.bags[3] == Counter({(3,): 1})
    assert to_sql(query) == (
        "SELECT SUM(d.k) AS v FROM (SELECT s.k AS k FROM a AS s [NOW]) AS d [RANGE 150]"
    )


def test_a_result_meets_the_nrr_of_its_stream_tuples_time() -> None:
    sources = (Stream("a", "s", Window("range", 20)), Table("r", "r1"), Table("n", "n1", False))
    query = Query(Block(sources, (Item(Col("n1", "w"), "w"),)))
    changes = {
        "r": [Change(7, 1, (1, 1))],
        "n": [Change(None, 1, (1, 1)), Change(5, -1, (1, 1)), Change(5, 1, (1, 2))],
    }
    output = evaluate(query, world([0], changes), 8)
    assert output is not None
    assert output.bags[7] == Counter({(1,): 1})


def test_sums_of_chunks_are_emitted_though_they_do_not_change() -> None:
    chunks = Block(
        (Stream("a", "s", Window("rows", 2, 2, internal=True)),), (Item(Agg("count"), "n"),)
    )
    assert emitted(Query(chunks), [0, 1, 2, 3]) == [1, 3]
    assert emitted(Query(chunks), [0, 0, 0, 0]) == [0]


def test_restore_reports_what_was_produced_and_has_expired() -> None:
    join = Block(
        (Stream("a", "s", Window("range", 3, 4)),),
        (Item(Col("s", "k"), "k"),),
        (Compare(Col("s", "k"), "=", 1),),
    )
    output = evaluate(Query(join, "rstream", restore=True), world([1, 2, 3]), 4)
    assert output is not None
    assert output.bags[4] == Counter({(1,): 3})
    again = evaluate(Query(join, "istream", restore=True), world([1, 2, 3]), 4)
    assert again is not None
    assert again.bags[4] == Counter({(1,): 3})


# ---------------------------------------------------------------------------- random cases


def found(tally: Tally, options: Options) -> str:
    return "\n\n".join(written(seed, kind, options) for seed, kind in tally.differences[:2])


@pytest.mark.parametrize("first", range(0, 150, 50))
def test_the_engine_gives_what_the_papers_say(first: int) -> None:
    options = Options(duckdb_share=0.1)
    tally = chunk(range(first, first + 50), options)
    assert not tally.differences, found(tally, options)


@pytest.mark.long
@pytest.mark.parametrize("first", range(1000, 4000, 250))
def test_engine_papers_and_duckdb_agree_on_thousands_of_cases(first: int) -> None:
    options = Options(duckdb_share=0.25)
    tally = chunk(range(first, first + 250), options)
    assert not tally.differences, found(tally, options)


COUNTED = Block(
    (Stream("a", "s1", Window("rows", 3, 2)), Table("n", "s2", retroactive=False)),
    (Item(Col("s2", "w"), "c1"),),
)
PAIRS = Block(
    (Stream("a", "s1"), Stream("c", "s2")),
    (Item(Col("s2", "v"), "c1"),),
    pairs=(PairBound(1, "s1", "s2"),),
)
KEPT = Sub(Query(PAIRS, "wstream", window=Window("since", 4)), "s3")
SUMS = Block(
    (Stream("a", "s5", Window("range", 3, 5)),),
    (Item(Agg("sum", Col("s5", "k")), "c1"), Item(Agg("sum", Col("s5", "v")), "c2")),
)
ROWS = Block((KEPT, Table("r", "s4")), (Item(Col("s4", "w"), "c1"), Item(Col("s3", "c1"), "c2")))
FOUND = {
    "a tuple that a count window shows later meets the NRR of its own time": Case(
        (Query(COUNTED),),
        ("auto",),
        (
            Register(0),
            Update("n", ((7, 1, (1, 1)),)),
            Push("a", ((0, 1, 0), (5, 1, None), (6, 1, 0), (10, 2, 0))),
        ),
        10,
    ),
    "the row of no tuples is there before the first refresh": Case(
        (Query(SetOp("union", False, Query(ROWS), Query(SUMS)), "rstream", restore=True),),
        ("auto",),
        (Register(0), Push("a", ((2, 1, None),))),
        2,
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_random_cases_have_found(name: str) -> None:
    verdict = judge(FOUND[name])
    assert verdict.refused is None
    assert not verdict.differences, "\n".join(map(str, verdict.differences))


def test_a_seed_always_makes_the_same_case() -> None:
    assert random_case(7) == random_case(7)
    assert random_case(7) != random_case(8)


def test_features_can_be_asked_for_and_banned() -> None:
    asked = frozenset({"nrr", "relation"})
    assert all(asked <= random_case(seed, asked).features for seed in range(20))
    assert not any(
        "slide" in random_case(s, without=frozenset({"slide"})).features for s in range(20)
    )


def test_a_failing_case_is_made_small() -> None:
    rows = tuple((ts, 1, 1) for ts in range(6))
    script = (Register(0), Push("a", rows))
    case = Case((keys(Window("rows", 1)),), ("upa",), script, 9)

    def fails(smaller: Case) -> bool:
        return any(isinstance(a, Push) and (3, 1, 1) in a.rows for a in smaller.script)

    small = shrunk(case, fails)
    assert small.script == (Register(0), Push("a", ((3, 1, 1),)))
    assert small.until == 3
