"""Equal tuples of different times meet different versions of an NRR, also when they leave."""

from __future__ import annotations

import pytest
from tests.properties.test_engine_matches_oracle import STRATEGIES, assert_same
from tests.properties.test_shards_match_oracle import assert_sharded
from tests.reference.drive import Drive
from tests.reference.histories import RelationHistory, StreamHistory, World
from tests.reference.shards import ShardedDrive

from windrow.core.time import BEGINNING

TUPLES = [(ts, ts, 1, None, "a", 0.5, ts) for ts in (7, 8, 9, 10)]
WORLD = World(
    streams={"a": StreamHistory([]), "b": StreamHistory(TUPLES), "c": StreamHistory([])},
    relations={
        "r": RelationHistory([(BEGINNING, 1, (1, 1, "x"))]),
        "n": RelationHistory([(8, 1, (1, None, "a")), (10, 1, (2, None, "b"))]),
    },
)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("window", ["RANGE 2", "TUMBLE 2", "ROWS 2"])
def test_a_tuple_leaves_as_it_came(strategy: str, window: str) -> None:
    sources = f"b [{window}], n, r WHERE b.k = r.k AND n.k > 0"
    text = f"SELECT b.s, COUNT(*) AS c FROM {sources} GROUP BY b.s"
    assert_same(text, WORLD, Drive(strategy, cuts=(4,)))
    assert_sharded(text, WORLD, ShardedDrive(2, strategy, cuts=(4,)))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    "made",
    [
        "SELECT k, COUNT(*) AS c FROM b [RANGE 2] GROUP BY k",
        "SELECT k FROM b [RANGE 2] GROUP BY k HAVING COUNT(*) > 0",
        "SELECT k FROM (SELECT k, MAX(id) AS newest FROM b [RANGE 2] GROUP BY k) AS y",
        "SELECT k, id FROM b [RANGE 2] ORDER BY id DESC LIMIT 1",
    ],
)
def test_a_row_appears_with_all_its_columns(made: str, strategy: str) -> None:
    """Also with those that nobody reads above: a new count is a new row, at its own time."""
    text = f"SELECT x.k, n.k FROM ({made}) AS x, n WHERE x.k <= n.k"
    assert_same(text, WORLD, Drive(strategy))
    assert_sharded(text, WORLD, ShardedDrive(2, strategy))
