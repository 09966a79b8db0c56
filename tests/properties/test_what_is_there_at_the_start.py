"""What is there before any tuple is shown at the query's first instant, refreshed or not."""

from __future__ import annotations

import pytest
from tests.properties.test_engine_matches_oracle import STRATEGIES, assert_same
from tests.properties.test_shards_match_oracle import assert_sharded
from tests.reference.drive import Drive
from tests.reference.histories import RelationHistory, StreamHistory, World
from tests.reference.shards import ShardedDrive

from windrow.core.time import BEGINNING

WORLD = World(
    streams={
        "a": StreamHistory([(-4, -4, 1, 1, "a", 0.5, 1), (12, 12, 2, 2, "b", 0.5, 2)]),
        "b": StreamHistory([]),
        "c": StreamHistory([(-2, -2, 1, 1, "a", 0.5, 3)]),
    },
    relations={
        "r": RelationHistory([(BEGINNING, 1, (1, 7, "x")), (-9, 1, (2, 8, "y"))]),
        "n": RelationHistory([]),
    },
)

QUERIES = (
    "SELECT a.v FROM a [TUMBLE 3], r WHERE a.v = r.k UNION ALL SELECT r.k FROM r",
    "SELECT COUNT(*) AS n FROM a [TUMBLE 5]",
    "RSTREAM(SELECT MAX(a.v) AS c1 FROM a [ROWS 1] UNION ALL SELECT d.v FROM a AS d "
    "[RANGE 6 SLIDE 3]) RESTORE",
    "WSTREAM(SELECT COUNT(a.k) AS c1 FROM a [RANGE 5 SLIDE 3], r WHERE a.k = r.k)[RANGE 8]",
    "SELECT COUNT(*) AS n FROM (SELECT DISTINCT a.k FROM a [TUMBLE 5]) AS q",
)


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_first_instant_shows_it(text: str, strategy: str) -> None:
    assert_same(text, WORLD, Drive(strategy, cuts=(2, 3)))
    for shards in (1, 3):
        assert_sharded(text, WORLD, ShardedDrive(shards, strategy, cuts=(2, 3)))
