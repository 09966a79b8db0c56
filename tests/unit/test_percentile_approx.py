"""PERCENTILE_APPROX is a value of the data, as Spark's; QUANTILE and PERCENTILE interpolate."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.generate.effort import examples

import windrow


def opened(type_: str, strategy: str, *calls: str):
    db = windrow.connect()
    db.execute(f"CREATE STREAM s (ts BIGINT, v {type_}) TIMESTAMP BY ts")
    listed = ", ".join(f"{call} AS c{i}" for i, call in enumerate(calls))
    return db, db.query(f"SELECT {listed} FROM s [RANGE 4]", strategy=strategy)


@examples(25)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(-3, 9)), min_size=1, max_size=25),
    st.sampled_from(["0", "0.1", "0.15", "0.25", "0.5", "0.7", "0.9", "0.95", "1"]),
    st.sampled_from(["upa", "direct", "negative"]),
)
def test_it_is_the_least_value_that_the_fraction_does_not_exceed(rows, fraction, strategy) -> None:
    """At rank ⌈n·fraction⌉ of the ordered values, the first at 0."""
    call = f"PERCENTILE_APPROX(v, {fraction})"
    db, query = opened("BIGINT", strategy, call)
    at, seen = 0, []
    for gap, value in rows:
        at += gap
        db.push("s", [{"ts": at, "v": value}])
        seen.append((at, value))
        alive = sorted(v for ts, v in seen if ts > at - 4)
        rank = max(1, ceil(Fraction(fraction) * len(alive)))
        assert query.answer().to_pylist()[0]["c0"] == alive[rank - 1]


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        ("INT", [1, 2, 3, 4]),
        ("DOUBLE", [1.5, 2.5, 3.5, 4.5]),
        ("DECIMAL(30, 2)", [Decimal(f"{n}.25") for n in range(1, 5)]),
        ("STRING", ["a", "b", "c", "d"]),
        ("TIMESTAMP", [datetime(2026, 1, n, tzinfo=UTC) for n in range(1, 5)]),
    ],
)
def test_it_has_the_type_of_its_values(type_: str, values: list) -> None:
    names = (
        "PERCENTILE_APPROX(v, 0.5)",
        "APPROX_PERCENTILE(v, 0.51, 100)",
        "APPROX_QUANTILE(v, 0)",
    )
    db, query = opened(type_, "auto", *names)
    db.push("s", [{"ts": 1, "v": value} for value in reversed(values)])
    [row] = query.answer().to_pylist()
    assert list(row.values()) == [values[1], values[2], values[0]]


def test_quantile_and_percentile_interpolate() -> None:
    db, query = opened("BIGINT", "auto", "QUANTILE(v, 0.5)", "PERCENTILE(v, 0.5)", "MEDIAN(v)")
    db.push("s", [{"ts": 1, "v": value} for value in (1, 2)])
    assert query.answer().to_pylist() == [{"c0": 1.5, "c1": 1.5, "c2": 1.5}]
