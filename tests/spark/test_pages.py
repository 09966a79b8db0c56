"""The pages about Spark are true: their Python runs and prints what is shown."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.test_docs import ON_SPARK, name_of, run_python

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("page", ON_SPARK, ids=name_of)
def test_python_in_a_page_runs_on_spark(page: Path, spark: SparkSession) -> None:
    assert spark is not None
    run_python(page)
