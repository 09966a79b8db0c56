"""The schema that a footer tells is the one that Spark infers, for every type and by any writer."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from windrow.runtime.spark.guessing import footer_schema

pytestmark = pytest.mark.spark

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LIMITS = frozenset({"maxfilespertrigger"})
INTEGERS = (
    pa.int8(), pa.int16(), pa.int32(), pa.int64(),
    pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
)  # fmt: skip
PLAIN = pa.table(
    {
        **{str(t): pa.array([1], t) for t in INTEGERS},
        "flag": [True],
        "f32": pa.array([1.5], pa.float32()),
        "f64": [1.5],
        "text": ["a"],
        "wide text": pa.array(["a"], pa.large_string()),
        "bytes": [b"a"],
        "day": [date(2026, 1, 1)],
        "us": pa.array([NOON], pa.timestamp("us", tz="UTC")),
        "ms": pa.array([NOON], pa.timestamp("ms", tz="Europe/Zurich")),
        "naive": pa.array([NOON.replace(tzinfo=None)], pa.timestamp("us")),
        "money": pa.array([Decimal("1.50")], pa.decimal128(9, 2)),
        "more money": pa.array([Decimal("1.50")], pa.decimal128(38, 10)),
        "codes": pa.array(["x"]).dictionary_encode(),
    }
)


def told_and_inferred(spark: SparkSession, folder: Path) -> tuple[object, object]:
    options = {"path": str(folder), "maxFilesPerTrigger": "1"}
    return footer_schema("parquet", options, LIMITS), spark.read.parquet(str(folder)).schema


@pytest.mark.parametrize("version", ["1.0", "2.4", "2.6"])
@pytest.mark.parametrize("int96", [False, True])
def test_files_of_arrow(spark: SparkSession, tmp_path: Path, version: str, int96: bool) -> None:
    path = tmp_path / "1.parquet"
    pq.write_table(PLAIN, path, version=version, use_deprecated_int96_timestamps=int96)
    told, inferred = told_and_inferred(spark, tmp_path)
    assert told == inferred


def test_files_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(PLAIN, tmp_path / "1.parquet")
    spark.read.parquet(str(tmp_path / "1.parquet")).write.parquet(str(tmp_path / "again"))
    told, inferred = told_and_inferred(spark, tmp_path / "again")
    assert told == inferred


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"a": [[1]]}),
        pa.table({"a": [{"b": 1}]}),
        pa.table({"a": pa.array([1], pa.time64("us"))}),
    ],
)
def test_what_is_not_plain_is_left_to_spark(tmp_path: Path, table: pa.Table) -> None:
    pq.write_table(table, tmp_path / "1.parquet")
    assert footer_schema("parquet", {"path": str(tmp_path)}, LIMITS) is None


def test_what_is_no_plain_folder_is_left_to_spark(tmp_path: Path) -> None:
    def told(**options: str) -> object:
        return footer_schema("parquet", {"path": str(tmp_path), **options}, LIMITS)

    assert told() is None
    (tmp_path / "1.parquet").write_bytes(b"nothing")
    assert told() is None
    pq.write_table(PLAIN, tmp_path / "1.parquet")
    assert told() is not None
    assert told(path=f"file://{tmp_path}") == told()
    assert told(path=f"{tmp_path}/*") is None
    assert told(path="s3://bucket/folder") is None
    assert told(mergeSchema="true") is None
    assert footer_schema("orc", {"path": str(tmp_path)}, LIMITS) is None
    (tmp_path / "day=1").mkdir()
    assert told() is None
