"""Whatever happens to runs, every sink holds what DuckDB answers over the rows that count.

A few histories here; ``python -m tests.spark.histories --count 200`` for many.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.postgres import server
from tests.spark.histories import (
    Action,
    drifted_file,
    files_arrive,
    full_disk,
    go_on_and_stop,
    history,
    interrupted,
    interrupted_while_it_starts,
    killed,
    late_file,
    live,
    mended_file,
    new_world,
    run_and_drain,
    run_to_end,
    schema_of,
    terminated,
)

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with server() as url:
        yield url


HISTORIES: dict[str, list[Action]] = {
    "interrupted": [files_arrive, interrupted_while_it_starts, interrupted, late_file, run_to_end],
    "terminated": [files_arrive, terminated, files_arrive, run_and_drain, late_file, run_to_end],
    "killed": [files_arrive, drifted_file, killed, late_file, run_to_end, mended_file, run_to_end],
    "full": [files_arrive, run_to_end, full_disk, drifted_file, run_to_end, run_and_drain],
    "stopped": [files_arrive, go_on_and_stop, late_file, go_on_and_stop, files_arrive, run_to_end],
}


@pytest.mark.parametrize("name", HISTORIES)
def test_a_history_changes_no_answer(
    spark: SparkSession, postgres: str, tmp_path: Path, name: str
) -> None:
    seed = list(HISTORIES).index(name)
    with schema_of(postgres, seed) as url, new_world(spark, url, tmp_path, seed) as world:
        live(world, HISTORIES[name])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_a_random_history_changes_no_answer(
    spark: SparkSession, postgres: str, tmp_path: Path, seed: int
) -> None:
    with schema_of(postgres, seed) as url, new_world(spark, url, tmp_path, seed) as world:
        live(world, history(world.rng, 8))
