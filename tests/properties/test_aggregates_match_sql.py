"""Each aggregate is that of DuckDB's own text over the tuples alive, at every instant.

The texts are written by hand on both sides: neither binder nor catalogue takes part in DuckDB's.
"""

from __future__ import annotations

import math
import random
from decimal import Decimal

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.generate.effort import examples

import windrow

SCHEMA = pa.schema({
    "t": pa.int64(), "k": pa.string(), "v": pa.float64(), "n": pa.int32(), "b": pa.bool_(),
    "d": pa.decimal128(30, 2), "w": pa.timestamp("us", "UTC"),
})  # fmt: skip

DECLARED = "t BIGINT, k STRING, v DOUBLE, n INT, b BOOLEAN, d DECIMAL(30, 2), w TIMESTAMP"

ALL = "ASC NULLS FIRST"
LAST = "DESC NULLS LAST"

TEXTS: dict[str, str] = {
    "COUNT_IF(n > 1)": "count(*) FILTER (WHERE n > 1)",
    "COUNT_IF(n > 1) FILTER (WHERE b)": "count(*) FILTER (WHERE n > 1 AND b)",
    "CORR(v, n)": "nullif(corr(v, n), 'nan'::DOUBLE)",
    "COVAR_POP(v, n)": "covar_pop(v, n)",
    "COVAR_SAMP(v, n)": "covar_samp(v, n)",
    "REGR_COUNT(v, n)": "regr_count(v, n)",
    "REGR_AVGX(v, n)": "regr_avgx(v, n)",
    "REGR_AVGY(v, n)": "regr_avgy(v, n)",
    "REGR_SXX(v, n)": "regr_sxx(v, n)",
    "REGR_SYY(v, n)": "regr_syy(v, n)",
    "REGR_SXY(v, n)": "regr_sxy(v, n)",
    "REGR_SLOPE(v, n)": "nullif(regr_slope(v, n), 'nan'::DOUBLE)",
    "REGR_INTERCEPT(v, n)": "regr_intercept(v, n)",
    "REGR_R2(v, n)": "regr_r2(v, n)",
    "SKEWNESS(v)": "CASE WHEN count(v) < 3 THEN CASE WHEN var_pop(v) > 0 THEN 0 END ELSE "
    "skewness(v) * (count(v) - 2) / sqrt(count(v) * (count(v) - 1)) END",
    "KURTOSIS(v)": "CASE WHEN var_pop(v) > 0 THEN kurtosis_pop(v) END",
    "BIT_AND(n)": "bit_and(n)",
    "BIT_OR(n) FILTER (WHERE b)": "bit_or(n) FILTER (WHERE b)",
    "BIT_XOR(n)": "bit_xor(n)",
    "ARG_MIN(v, n)": "first(v ORDER BY n, v ASC NULLS LAST) FILTER (WHERE n IS NOT NULL)",
    "MAX_BY(k, v)": f"first(k ORDER BY v DESC, k {LAST}) FILTER (WHERE v IS NOT NULL)",
    "MAX_BY(d, n)": f"first(d ORDER BY n DESC, d {LAST}) FILTER (WHERE n IS NOT NULL)",
    "MIN_BY(w, d)": "first(w ORDER BY d, w ASC NULLS LAST) FILTER (WHERE d IS NOT NULL)",
    "FIRST(k)": "first(k ORDER BY t, k ASC NULLS LAST)",
    "LAST(d)": f"first(d ORDER BY t DESC, d {LAST})",
    "LAST_VALUE(b) FILTER (WHERE n > 0)": f"first(b ORDER BY t DESC, b {LAST}) "
    "FILTER (WHERE n > 0)",
    "FIRST(v IGNORE NULLS)": "first(v ORDER BY t, v) FILTER (WHERE v IS NOT NULL)",
    "FIRST_VALUE(n, TRUE)": "first(n ORDER BY t, n) FILTER (WHERE n IS NOT NULL)",
    "LAST(k) IGNORE NULLS": "first(k ORDER BY t DESC, k DESC) FILTER (WHERE k IS NOT NULL)",
    "FIRST(v ORDER BY k DESC, n)": f"first(v ORDER BY k {LAST}, n {ALL}, v ASC NULLS LAST)",
    "LAST(v ORDER BY k NULLS LAST)": f"first(v ORDER BY k DESC NULLS FIRST, v {LAST})",
    "ANY_VALUE(k)": "min(k)",
    "MODE(n)": "list_sort(map_keys(map_from_entries(list_filter(map_entries(histogram(n)), "
    "lambda e: e.value = list_max(map_values(histogram(n)))))))[1]",
    "PERCENTILE_CONT(0.3) WITHIN GROUP (ORDER BY v)": "quantile_cont(v, 0.3)",
    "PERCENTILE_CONT(0.3) WITHIN GROUP (ORDER BY n DESC)": "quantile_cont(n::DOUBLE, 0.7)",
    "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY k)": "quantile_disc(k, 0.5)",
    "COLLECT_LIST(v)": "coalesce(list(v ORDER BY t, v) FILTER (WHERE v IS NOT NULL), [])",
    "ARRAY_AGG(k ORDER BY v DESC, n)": f"coalesce(list(k ORDER BY v {LAST}, n {ALL}, k) "
    "FILTER (WHERE k IS NOT NULL), [])",
    "COLLECT_LIST(w ORDER BY d)": f"coalesce(list(w ORDER BY d {ALL}, w) "
    "FILTER (WHERE w IS NOT NULL), [])",
    "COLLECT_SET(n)": "coalesce(list(DISTINCT n ORDER BY n) FILTER (WHERE n IS NOT NULL), [])",
    "STRING_AGG(k, '; ')": "string_agg(k, '; ' ORDER BY t, k)",
    "LISTAGG(k) WITHIN GROUP (ORDER BY n DESC)": f"string_agg(k, '' ORDER BY n {LAST}, k)",
    "STRING_AGG(DISTINCT k, ',' ORDER BY k DESC)": "string_agg(DISTINCT k, ',' ORDER BY k DESC)",
}

QUERY = "SELECT b AS g, " + ", ".join(f"{text} AS x{i}" for i, text in enumerate(TEXTS))
ORACLE = "SELECT b AS g, " + ", ".join(f"{text} AS x{i}" for i, text in enumerate(TEXTS.values()))
WINDOWS = {"[RANGE 5]": "t > {now} - 5 AND t <= {now}", "[UNBOUNDED]": "t <= {now}"}


@st.composite
def rows(draw: st.DrawFn) -> list[dict[str, object]]:
    some = random.Random(draw(st.integers(0, 2**32)))
    pick = {
        "k": ["a", "b", "ab", "a\0", "\0", "", "ü", None],
        "v": [1.5, -2.25, 0.0, -0.0, 1e6, 3.0, None, -0.5],
        "n": [1, 2, -3, 7, 0, 6, None, 2**31 - 1],
        "b": [True, False, None],
        "d": [Decimal("1.50"), Decimal("-7.25"), Decimal("123456789012345678901.01"), None],
        "w": [0, 10**15, -(10**15), None],
    }
    times = sorted(some.randrange(12) for _ in range(some.randrange(1, 24)))
    return [{"t": t, **{name: some.choice(values) for name, values in pick.items()}} for t in times]


def same(mine: object, theirs: object) -> bool:
    if isinstance(mine, float) and isinstance(theirs, float):
        return math.isclose(mine, theirs, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(mine, list) and isinstance(theirs, list):
        return len(mine) == len(theirs) and all(map(same, mine, theirs))
    return mine == theirs


def assert_same(mine: pa.Table, theirs: pa.Table, now: int) -> None:
    """Compare two answers, one row a group."""
    theirs = theirs.cast(mine.schema)
    found = {row["g"]: row for row in mine.to_pylist()}
    wanted = {row["g"]: row for row in theirs.to_pylist()}
    assert found.keys() == wanted.keys()
    for group, row in wanted.items():
        for i, text in enumerate(TEXTS):
            got = found[group][f"x{i}"]
            assert same(got, row[f"x{i}"]), (
                f"{text} of group {group} at {now}: {got}, {row[f'x{i}']}"
            )


@pytest.mark.parametrize("strategy", ["upa", "direct", "negative"])
@pytest.mark.parametrize("window", WINDOWS)
@given(rows=rows(), step=st.integers(1, 3))
@examples(4)
def test_aggregates_are_those_of_the_tuples_alive(strategy, window, rows, step):
    with windrow.connect(engine="local") as db, duckdb.connect() as duck:
        db.execute(f"CREATE STREAM s ({DECLARED}) TIMESTAMP BY t")
        query = db.query(f"{QUERY} FROM s {window} GROUP BY b", strategy=strategy)
        table = pa.Table.from_pylist(rows, SCHEMA)
        duck.register("s", table.set_column(6, "w", table["w"].cast(pa.timestamp("us"))))
        for now in range(0, 20, step):
            db.push("s", table.filter((pc.field("t") > now - step) & (pc.field("t") <= now)))
            db.advance(now)
            alive = WINDOWS[window].format(now=now)
            theirs = duck.sql(f"{ORACLE} FROM s WHERE {alive} GROUP BY b").to_arrow_table()
            assert_same(query.answer(), theirs, now)
