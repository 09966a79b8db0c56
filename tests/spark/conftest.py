"""One Spark session for all tests of this folder: one of ours, on two cores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.nursery import ROOT, surroundings
from tests.spark.running import Runner
from windrow.runtime.spark.session import open_session

ARCHIVE = ROOT / "build" / "spark.jsa"
"""Classes that the demo's JVM had loaded, where `.ci/run` asks for them.

A JVM comes to the end of its first query with 9 s of a core in place of 22; one that was made of
other files takes no notice.
"""

# Of each JVM here, in whatever process: no second compiler and no parallel collector. They are for
# runs of hours; while five stories are told to Spark they take 30 of the JVM's 60 s.
OPTIONS = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
if ARCHIVE.exists():
    OPTIONS += [f'"-XX:SharedArchiveFile={ARCHIVE}"', "-Xlog:disable"]
os.environ.setdefault("JDK_JAVA_OPTIONS", " ".join(OPTIONS))

LONGEST = (
    "test_thirty_kills_change_nothing",
    "test_a_killed_run_goes_on_with_merged_tuples",
)
"""They begin first: whatever is left when others have ended leaves a core idle."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest; leave the others in their order."""
    first = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: first.get(item.name, len(LONGEST)))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in surroundings().items():
            patch.setenv(name, value)
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
