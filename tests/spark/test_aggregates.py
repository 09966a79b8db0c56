"""Aggregates and functions of the user's own on Spark: in a module, and shipped to the shards."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from tests.spark.test_runs import net
from windrow.cli.main import windrow
from windrow.generate.files import write_piece
from windrow.operators.aggregate.user_defined import REGISTERED
from windrow.operators.evaluate import BUILDERS
from windrow.operators.evaluate.user_defined import USER_FUNCTIONS
from windrow.plan.functions import AGGREGATES, FUNCTIONS

pytestmark = pytest.mark.spark

MODULE = '''
import pyarrow as pa
import pyarrow.compute as pc

import windrow as wr

NONE = (None, None)


class Spread:
    """The distance between the least and the greatest."""

    def init(self):
        return NONE

    def add(self, state, value):
        low, high = state
        return (value, value) if low is None else (min(low, value), max(high, value))

    def result(self, state):
        low, high = state
        return None if low is None else high - low


wr.register_aggregate("spread_of", Spread, (pa.int64(),), pa.int64())


def folded_at(values, edge):
    return pc.if_else(pc.greater(values, edge), pc.subtract(edge, values), values)


wr.register_function("folded_at", folded_at, (pa.int64(), pa.int64()), pa.int64())
'''


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    paths = patch.object(sys, "path", [*sys.path])
    registries = (AGGREGATES, REGISTERED, FUNCTIONS, USER_FUNCTIONS, BUILDERS)
    with ExitStack() as stack:
        for registry in registries:
            stack.enter_context(patch.dict(registry))
        stack.enter_context(paths)
        yield


def test_a_module_beside_the_script_gives_it_aggregates(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "spreads_of_mine.py").write_text(MODULE)
    for n in range(3):
        times = range(20 * n, 20 * n + 20)
        table = pa.table(
            {"ts": times, "k": [t % 3 for t in times], "v": [t * t % 17 for t in times]}
        )
        write_piece(tmp_path / "in" / f"{n}.parquet", table, 1_700_000_000 + n)
    script = tmp_path / "job.cql"
    script.write_text(
        "CREATE STREAM s (ts BIGINT, k BIGINT, v BIGINT) USING parquet OPTIONS"
        f" (path '{tmp_path}/in', maxFilesPerTrigger '1') TIMESTAMP BY ts;\n"
        "CREATE VIEW folded (k, v) AS SELECT k, folded_at(v, 9) FROM s WHERE folded_at(v, 9) > -5;"
        "CREATE QUERY q AS SELECT k, spread_of(v) AS spread FROM s [RANGE 10] GROUP BY k;"
        "CREATE QUERY f AS SELECT k, SUM(v) AS v FROM folded [RANGE 9] GROUP BY k"
        " HAVING SUM(v) > 0;"
        "CREATE QUERY w AS SELECT a.k FROM s AS a [RANGE 3], s AS b [RANGE 4]"
        " WHERE folded_at(a.v, 8) = b.v;"
    )
    words = ["run", str(script), "--module", "spreads_of_mine", "--drain"]
    for engine in ("local", "spark"):
        more = ["--engine", engine, "--sink", f"parquet:{tmp_path}/{engine}"]
        done = CliRunner().invoke(windrow, [*words, *more], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    for query in "qfw":
        found = [net(pq.read_table(tmp_path / engine / query)) for engine in ("local", "spark")]
        assert found[0] == found[1]
        assert len(found[0]) > 25
    lost = CliRunner().invoke(windrow, ["run", str(script), "--module", "no_such_module"])
    assert lost.exit_code == 1
    assert "there is no module no_such_module" in lost.output
