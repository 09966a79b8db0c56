"""`windrow demo` with few rows: it ends well, tells what it does, and its answer is right."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from windrow.cli.main import windrow

pytestmark = pytest.mark.spark

QUERIES = ("both_links", "sources", "quiet", "load")


def test_the_demo_runs_four_queries_and_checks_one(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    args = ["demo", "--folder", str(folder), "--rows", "40000"]
    result = CliRunner().invoke(windrow, args, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert "the same." in result.output
    assert "40,000 of 40,000 rows" in result.output
    for name in QUERIES:
        changes = pq.read_table(folder / "results" / name)
        assert changes.column_names[:2] == ["_ts", "_sign"]
        assert len(changes) > 0
        assert spark.read.parquet(str(folder / "results" / name)).count() == len(changes)
