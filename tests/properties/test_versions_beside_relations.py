"""A result meets the version of an NRR at the time of its stream tuples, beside any RELATION.

THESIS 3.3.1: an update of an NRR at τ "affects only those stream tuples which arrive after time τ";
Def. 3.1 looks NRRs up as of each tuple's own ts. Rows of relations have no ts and no say.
"""

from __future__ import annotations

from itertools import cycle, permutations

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from tests.generate.effort import examples
from tests.generate.streams import worlds_of
from tests.generate.versions import beside_relations
from tests.properties.test_engine_matches_oracle import STRATEGIES, assert_same, drives
from tests.properties.test_shards_match_oracle import assert_sharded
from tests.reference.drive import Drive
from tests.reference.histories import RelationHistory, StreamHistory, World
from tests.reference.shards import ShardedDrive

import windrow as wr
from windrow.core.time import BEGINNING


@given(st.data())
@examples(6)
def test_any_spelling_meets_the_version_of_the_tuples(data: st.DataObject) -> None:
    assert_versions(data)


@pytest.mark.long
@given(st.data())
@examples(150)
def test_every_spelling_meets_the_version_of_the_tuples(data: st.DataObject) -> None:
    assert_versions(data)


def assert_versions(data: st.DataObject) -> None:
    text = data.draw(beside_relations())
    world = data.draw(worlds_of(text, max_rows=6))
    plan = data.draw(drives(world))
    note(f"{text}\n{plan}")
    assert_same(text, world, plan)


@pytest.mark.long
@given(st.data())
@examples(60)
def test_so_it_is_on_shards(data: st.DataObject) -> None:
    text = data.draw(beside_relations())
    world = data.draw(worlds_of(text, max_rows=6))
    strategy = data.draw(st.sampled_from(STRATEGIES))
    shards = data.draw(st.sampled_from([1, 2, 3]))
    note(text)
    assert_sharded(text, world, ShardedDrive(shards, strategy, cuts=(2, 5, 8)))


def _tuple(ts: int) -> tuple[object, ...]:
    return (ts, ts, 1, 0, "a", 0.5, ts)


WORLD = World(
    streams={
        "a": StreamHistory([_tuple(t) for t in (0, 2, 6)]),
        "b": StreamHistory([_tuple(t) for t in (1, 3)]),
        "c": StreamHistory([]),
    },
    relations={
        "r": RelationHistory([(7, 1, (1, 1, "x")), (8, -1, (1, 1, "x")), (9, 1, (1, 1, "x"))]),
        "n": RelationHistory(
            [(BEGINNING, 1, (1, 1, "old")), (5, -1, (1, 1, "old")), (5, 1, (1, 2, "new"))]
        ),
    },
)
"""Tuples before and after an update of the NRR, and a row of the relation that comes later."""

SPELLINGS = (
    *(
        f"SELECT a.id, n.s FROM {', '.join(froms)} WHERE a.k = r.k AND {tie}"
        for froms in permutations(["a [{w}]", "r", "n"])
        for tie in ("a.k = n.k", "r.k = n.k")
    ),
    "SELECT x.id, n.s FROM (SELECT a.id, a.k FROM a [{w}], r WHERE a.k = r.k) AS x, n"
    " WHERE x.k = n.k",
    "SELECT x.id, x.s FROM (SELECT a.id, a.k, n.s FROM a [{w}], n WHERE a.k = n.k) AS x, r"
    " WHERE x.k = r.k",
)


@pytest.mark.parametrize(
    "window",
    [
        "ROWS 2",
        *(pytest.param(w, marks=pytest.mark.long) for w in ("RANGE 20", "RANGE 20 SLIDE 2")),
    ],
)
def test_flat_and_nested_spellings_agree(window: str) -> None:
    for text, strategy in zip(SPELLINGS, cycle(STRATEGIES), strict=False):
        assert_same(text.format(w=window), WORLD, Drive(strategy, cuts=(3, 6)))


@pytest.mark.parametrize(
    "inner",
    [
        "SELECT k FROM a [ROWS 1]",
        "SELECT k FROM a [ROWS 1] UNION ALL SELECT k FROM b [ROWS 1]",
        "SELECT k FROM a [RANGE 4] UNION ALL SELECT k FROM r",
        "SELECT DISTINCT k FROM a [RANGE 4] UNION ALL SELECT DISTINCT k FROM b [RANGE 9]",
        "SELECT k FROM (SELECT k FROM a [NOW]) AS d [ROWS 1] UNION ALL SELECT k FROM b [ROWS 1]",
        "SELECT k FROM (SELECT k FROM a [NOW]) AS d [ROWS 2]",
    ],
)
def test_equal_results_of_different_times_are_different_results(inner: str) -> None:
    text = f"SELECT x.k, n.s FROM ({inner}) AS x, n WHERE x.k = n.k"
    for strategy in ("upa", "negative"):
        assert_same(text, WORLD, Drive(strategy, cuts=(3, 6)))
    assert_sharded(text, WORLD, ShardedDrive(2, "auto", cuts=(3, 6)))


@pytest.mark.parametrize("early", ["auto", "none", "{a}", "{a, r}"])
def test_early_aggregation_meets_the_same_versions(early: str) -> None:
    """What meets the NRR is an input of the join with the relation, and may be aggregated first."""
    text = (
        "SELECT n.s, COUNT(*) AS c, SUM(a.id) AS t FROM a [RANGE 20], r, n"
        " WHERE a.k = r.k AND a.k = n.k GROUP BY n.s"
    )
    assert_same(text, WORLD, Drive("auto", cuts=(3, 6), early_aggregation=early))


@pytest.mark.parametrize(
    "source",
    [
        "(SELECT k FROM r) AS s [ROWS 2]",
        "(SELECT k FROM r) AS s [PARTITION BY k ROWS 2]",
        "(SELECT k FROM r UNION ALL SELECT k FROM r) AS s [ROWS 3]",
        "(WSTREAM(SELECT k FROM r)[ROWS 2]) AS s",
    ],
)
def test_results_of_relations_in_a_window_meet_an_nrr(source: str) -> None:
    db = wr.connect()
    db.execute("CREATE STREAM a (ts BIGINT) TIMESTAMP BY ts; CREATE RELATION r (k BIGINT)")
    db.execute("CREATE NON RETROACTIVE RELATION n (k BIGINT, w BIGINT)")
    query = db.query(f"SELECT s.k, n.w FROM {source}, n WHERE s.k = n.k")
    db.push("n", [{"k": 1, "w": 5}])
    db.push("r", [{"k": 1, "_ts": 3}])
    db.advance(9)
    copies = 2 if "UNION" in source else 1
    assert query.answer().to_pylist() == [{"k": 1, "w": 5}] * copies
