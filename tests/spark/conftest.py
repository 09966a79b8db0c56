"""One Spark session for all tests of this folder: one of ours, on two cores."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.running import Runner
from windrow.runtime.spark.session import open_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = open_session("local[2,1]", 2)
    session.conf.set("spark.sql.adaptive.enabled", "true")  # as in sessions of users
    session.conf.set("spark.sql.streaming.metricsEnabled", "false")
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def runner(spark: SparkSession, tmp_path: Path) -> Iterator[Runner]:
    """Run programs on a checkpoint of the test's own; end their shards."""
    made = Runner(spark, str(tmp_path / "checkpoint"))
    yield made
    made.end()
