"""Whatever happens to runs, every sink holds what DuckDB answers over the rows that count.

A few histories here; ``python -m tests.spark.histories --count 200`` for many.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.postgres import server
from tests.spark.histories import live, schema_of

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with server() as url:
        yield url


@pytest.mark.parametrize("seed", [2, 5])
def test_a_history_changes_no_answer(
    spark: SparkSession, postgres: str, tmp_path: Path, seed: int
) -> None:
    with schema_of(postgres, seed) as url:
        live(spark, url, tmp_path, seed, length=5)
