"""`windrow bench spark` at a tiny size: every part runs, and its answers are equal."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from windrow_lab.bench.spark import NAMES, bars, idle
from windrow_lab.bench.spark.bars import JOIN, Bench
from windrow_lab.bench.spark.runs import checked

pytestmark = pytest.mark.spark

ROWS = 2_000


@pytest.fixture
def bench(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    for name in ("WARM", "OURS", "THEIRS", "EMPTY"):
        monkeypatch.setattr(bars, name, 1)
    for name, value in (("INTERVAL", 0.5), ("HEARTBEAT", 1.5), ("WINDOW", 0.5), ("TUPLES", 4)):
        monkeypatch.setattr(idle, name, value)
    return Bench(spark, tmp_path, ROWS)


@pytest.mark.parametrize("part", NAMES)
def test_a_part_measures_with_equal_answers(bench: Bench, part: str) -> None:
    found = list(bars.PARTS[part](bench))
    assert found
    assert [bar.check for bar in found] == ["equal"] * len(found)
    assert all(bar.ratio > 0 for bar in found)


def test_a_wrong_answer_is_told(bench: Bench) -> None:
    feed = bench.feed("wrong", ("a", "b"), 1, 2)
    path = feed.folder / "b" / "00001.parquet"
    pq.write_table(pq.read_table(path).slice(1), path)
    text = JOIN.sql(feed.scale)
    assert "results" in checked(JOIN, bars.shot(bench, feed, "wrong", q=text))
