"""Queries of Nexmark on Spark, over files: DuckDB answers the same."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from windrow_lab.generate.nexmark.scale import Nexmark
from windrow_lab.nexmark import on_spark
from windrow_lab.nexmark.local import Feed
from windrow_lab.nexmark.queries import nexmark_query

pytestmark = pytest.mark.spark

SCALE = Nexmark(events=9_000, rate=200)


@pytest.fixture(scope="module")
def feed() -> Iterator[Feed]:
    made = Feed.of(SCALE)
    yield made
    made.oracle.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, feed: Feed) -> Iterator[on_spark.Files]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(on_spark, "WARM", 1)
        patch.setattr(on_spark, "COUNTED", 1)
        yield on_spark.Files.of(tmp_path_factory.mktemp("nexmark"), feed)


def test_duckdb_answers_the_same_and_micro_batches_are_timed(
    spark: SparkSession, feed: Feed, files: on_spark.Files
) -> None:
    found = on_spark.measure(nexmark_query("q9"), spark, files, feed)
    assert found.check == "equal"
    assert found.results
    assert found.rows_per_second > 0


def test_duckdb_answers_the_same_to_windows_that_slide(
    spark: SparkSession, feed: Feed, files: on_spark.Files
) -> None:
    assert on_spark.compared(nexmark_query("q5"), spark, files, feed) == ""


def test_a_lost_file_is_seen(
    spark: SparkSession, tmp_path: Path, feed: Feed, files: on_spark.Files
) -> None:
    partial = on_spark.Files(tmp_path, files.scale, files.first)
    for path in files.beginning.rglob("*.parquet"):
        if not path.match("bid/00001.parquet"):
            copy = partial.beginning / path.relative_to(files.beginning)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.hardlink_to(path)
    told = on_spark.compared(nexmark_query("q0"), spark, partial, feed)
    assert "rows are missing" in told
