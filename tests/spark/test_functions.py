"""Functions mean what they mean to Spark: each over a table of edge values, in both."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.properties.function_cases import CASES, argument, edge_table
from windrow.core.types import INTERVAL
from windrow.operators.evaluate import evaluate
from windrow.optimize.catalyst import literal_sql
from windrow.plan.expressions import Column, Expr, Literal
from windrow.plan.functions import resolve_call

pytestmark = pytest.mark.spark

ROWS = 150
COLUMNS = {n: a for n, a in edge_table(7, ROWS).items() if a.type not in (INTERVAL, pa.binary())}

CHECKED = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh"),
    *("acosh", "atanh", "cbrt", "expm1", "log1p", "rint", "degrees", "radians", "hypot", "pi", "e"),
    *("factorial", "bit_count", "nullifzero", "zeroifnull", "decode", "elt", "space", "overlay"),
    *("octet_length", "bit_length", "substring_index", "regexp_count", "levenshtein"),
    *("date_part", "date_from_unix_date", "make_date"),
)


APART = {
    ("factorial", "m"): "Spark cuts a BIGINT to its low 32 bits",
    ("factorial", "i64"): "the same",
    ("date_from_unix_date", "m"): "the same",
    ("date_from_unix_date", "i32"): "Spark has years that Python does not",
    ("make_date", "i32"): "the same",
}
"""Cases that are left out, and why."""


def written(name: str, case: tuple[object, ...]) -> str | None:
    """Return a call as Spark's SQL; None if an argument cannot be written."""
    parts = []
    for part in map(argument, case):
        text = f"`{part.name}`" if isinstance(part, Column) else _constant(part)
        if text is None or (isinstance(part, Column) and part.name not in COLUMNS):
            return None
        parts.append(text)
    return f"{name}({', '.join(parts)})"


def _constant(part: Expr) -> str | None:
    return literal_sql(part) if isinstance(part, Literal) and part.value is not None else None


def same(mine: object, theirs: object) -> bool:
    if isinstance(mine, float) and isinstance(theirs, float):
        undefined = math.isnan(mine) and math.isnan(theirs)
        return undefined or mine == theirs or math.isclose(mine, theirs, rel_tol=1e-9)
    if mine is None and isinstance(theirs, float) and math.isnan(theirs):
        return True  # what is undefined is NULL here
    return mine == theirs


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> SparkSession:
    spark.createDataFrame(pa.table(COLUMNS)).createOrReplaceTempView("edge_values")
    spark.conf.set("spark.sql.ansi.enabled", "false")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    return spark


def test_functions_give_what_spark_gives(table: SparkSession) -> None:
    found = {}
    for name in CHECKED:
        for case in CASES[name]:
            text = None if (name, *case[:1]) in APART else written(name, case)
            if text is not None and "SECOND" not in text:  # of which Spark has the fraction, too
                found[text] = resolve_call(name, tuple(map(argument, case)))
    names = {text: f"x{i}" for i, text in enumerate(found)}
    query = ", ".join(f"{text} AS {n}" for text, n in names.items())
    theirs = table.sql(f"SELECT {query} FROM edge_values").toArrow()
    wrong = {}
    for text, expr in found.items():
        mine = evaluate(expr, COLUMNS, ROWS)
        right = theirs[names[text]].cast(mine.type)
        for row, pair in enumerate(zip(mine.to_pylist(), right.to_pylist(), strict=True)):
            if not same(*pair):
                read = [str(COLUMNS[c][row]) for c in COLUMNS if f"`{c}`" in text]
                wrong[text] = (*pair, read)
                break
    assert not wrong, "\n".join(f"{text}: {what}" for text, what in wrong.items())
