"""Whatever Python object is given to the API: it works, or it is a `WindrowError`."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.generate.effort import examples

import windrow
from windrow.core.errors import WindrowError
from windrow.runtime.local.database import Database

TYPES = {
    "b": "BOOLEAN", "i": "INT", "n": "BIGINT", "f": "FLOAT", "d": "DOUBLE", "m": "DECIMAL(9, 2)",
    "s": "STRING", "y": "BINARY", "a": "DATE", "t": "TIMESTAMP", "l": "ARRAY<BIGINT>",
    "w": "ARRAY<STRING>",
}  # fmt: skip
COLUMNS = ", ".join(f"{name} {type_}" for name, type_ in TYPES.items())
DECLARATIONS = f"""
    CREATE STREAM moments (ts TIMESTAMP, {COLUMNS}) TIMESTAMP BY ts;
    CREATE STREAM ticks (ts BIGINT, {COLUMNS}) TIMESTAMP BY ts SLACK 2;
    CREATE RELATION bag ({COLUMNS});
    CREATE RELATION keyed (ts TIMESTAMP, {COLUMNS}, PRIMARY KEY (n));
    CREATE QUERY q AS SELECT s, COUNT(*) AS c, MAX(t) AS t FROM moments [RANGE 10] GROUP BY s;
    CREATE QUERY p AS SELECT ticks.* FROM ticks [RANGE 9] JOIN bag ON ticks.s = bag.s;
    CREATE QUERY k AS SELECT * FROM keyed;
"""


class Colour(Enum):
    RED = "red"


class Odd:
    """Raises wherever it can."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__

    def __float__(self) -> float:
        raise RuntimeError("no number")


class Kept:
    """An aggregate: the last value."""

    def init(self) -> None:
        return None

    def add(self, state: object, value: object) -> object:
        return value

    def result(self, state: object) -> object:
        return state


ODDITIES = [
    time(12, 30), timedelta(seconds=3), [], {}, [1, 2], {"a": 1}, "\ud800", "a\udfffb", b"\xff",
    Odd(), object(), Colour.RED, Path("x"), uuid.UUID(int=5), Fraction(1, 3), Decimal("NaN"),
    Decimal("1e400"), Decimal("sNaN"), 1 + 2j, math.nan, math.inf, -math.inf, 2**63, -(2**63),
    2**70, 10**400, float, print, range(3), np.int8(3), np.uint64(2**64 - 1), np.float16(1.5),
    np.bool_(True), np.datetime64("NaT"), np.datetime64("2026-01-01"), np.datetime64(2**62, "s"),
    np.timedelta64(3, "s"), np.array([1, 2]), np.array(5), np.str_("x"), np.ma.masked,
    np.void(b"ab"), pd.NaT, pd.NA, pd.Timestamp("2026-01-01", tz="Asia/Tokyo"), pd.Timedelta(3),
    pd.Interval(0, 1), pd.Period("2026"), pl.lit(3), pl.Series([1]), pa.scalar(5), pa.scalar("x"),
    pa.scalar(None), pa.array([1]), datetime(9999, 12, 31, 23,
    tzinfo=timezone(timedelta(hours=-14))), datetime(1, 1, 1,
    tzinfo=timezone(timedelta(hours=14))), date.max, date.min, set(), frozenset(), (), (1,),
    bytearray(b"x"), memoryview(b"x"), iter([]), NotImplemented, ..., Exception("x"), [[1]],
    [None], ["\ud800"], [time(1)], {1: 2}, "", "2026-01-01", "2026-13-45T99:99", "infinity",
    "9" * 400, True, False, None, 0, 1, 1.5, -0.0, datetime(2026, 1, 1, tzinfo=UTC), date(2026, 1,
    1),
]  # fmt: skip
VALUES = st.one_of(
    st.sampled_from(ODDITIES),
    st.none(),
    st.integers(),
    st.floats(),
    st.text(st.characters(codec=None), max_size=5),
    st.binary(max_size=4),
    st.datetimes(timezones=st.one_of(st.none(), st.just(UTC))),
    st.dates(),
    st.decimals(),
    st.recursive(
        st.one_of(st.none(), st.integers(), st.text(max_size=3), st.booleans()),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner),
        max_leaves=4,
    ),
)
NAMES = st.one_of(st.sampled_from(["ts", *TYPES]), st.sampled_from(["_ts", "_sign", "TS", "x"]))
TARGETS = st.sampled_from(["moments", "ticks", "bag", "keyed"])
ROWS = st.lists(st.dictionaries(NAMES, VALUES, max_size=5), max_size=4)


def opened() -> Database:
    db = windrow.connect()
    db.execute(DECLARATIONS)
    return db


def only_ours(call: Callable[[], object]) -> bool:
    """Call it; tell whether it was refused. Anything but one of our errors comes out."""
    try:
        call()
    except WindrowError as error:
        return bool(error.render())
    return False


def read_all(db: Database) -> None:
    for name in ("q", "p", "k"):
        query = db.query(name)
        query.answer()
        query.changes()
        query.stats()
    for name in ("moments", "ticks", "bag", "keyed"):
        db.rejected(name).to_pylist()
    for name in ("moments", "ticks"):
        db.late(name).to_pylist()


def shaped(shape: str, rows: list[dict]) -> object:
    """Return rows in one of the shapes that may be pushed; as they are if it cannot hold them."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    try:
        match shape:
            case "dict":
                return columns
            case "tuples":
                return tuple(rows)
            case "pandas":
                return pd.DataFrame(columns, dtype=object)
            case "pandas of its own":
                return pd.DataFrame(columns)
            case "polars objects":
                return pl.DataFrame(
                    {n: pl.Series(n, v, dtype=pl.Object) for n, v in columns.items()}
                )
            case "numpy":
                return {n: np.array(v, dtype=object) for n, v in columns.items()}
            case "numpy of its own":
                return {n: np.array(v) for n, v in columns.items()}
            case "series":
                return {n: pd.Series(v, dtype=object) for n, v in columns.items()}
            case "arrow":
                return pa.table({n: pa.array(v) for n, v in columns.items()})
    except Exception:  # another library refuses: nothing to push
        pass
    return rows


SHAPES = (
    "list", "dict", "tuples", "pandas", "pandas of its own", "polars objects", "numpy",
    "numpy of its own", "series", "arrow",
)  # fmt: skip


@examples(40)
@given(TARGETS, st.lists(st.tuples(st.sampled_from(SHAPES), ROWS), min_size=1, max_size=3))
@pytest.mark.filterwarnings("ignore")
def test_any_rows_are_taken_set_aside_or_refused(target: str, pushes: list) -> None:
    db = opened()
    for shape, rows in pushes:
        only_ours(lambda shape=shape, rows=rows: db.push(target, shaped(shape, rows)))
        read_all(db)


@pytest.mark.parametrize("column", ["ts", *TYPES])
@pytest.mark.filterwarnings("ignore")
def test_no_value_is_a_traceback(column: str) -> None:
    """Each odd value in each type of column: alone, and all of them at once in every shape."""
    db = opened()
    good = {"ts": datetime(2026, 1, 1), "s": "x"}  # noqa: DTZ001 - as users write it
    rows = [{**good, column: value} for value in ODDITIES]
    for row in rows:
        only_ours(lambda row=row: db.push("moments", [row]))
    for shape in ("list", "dict", "numpy", "pandas", "series", "polars objects"):
        for target in ("moments", "keyed"):
            only_ours(lambda shape=shape, to=target: db.push(to, shaped(shape, rows)))
    read_all(db)


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame([[1, 2, 3]], columns=["ts", "n", "n"]),
        pd.DataFrame([[1, 2]], columns=["ts", "TS"]),
        pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("c", "d")])),
        pd.DataFrame([[1, 2]], columns=[0, 1]),
        pd.Series([1, 2]),
        pd.Series([1, 2], name="ts"),
        pl.Series("ts", [1, 2]),
        pl.Series([1, 2]),
        pl.DataFrame({"ts": [1]}).lazy(),
        pl.lit(5),
        pa.table([[1], [2]], names=["ts", "ts"]),
        pa.record_batch([pa.array([1]), pa.array([2])], names=["ts", "ts"]),
        pa.array([1, 2]),
        pa.array([{"ts": 1}]),
        pa.chunked_array([[1]]),
        np.array([1, 2]),
        np.array([(1, 2)], dtype=[("ts", "i8"), ("n", "i8")]),
        [{1: 2}],
        [{"ts": 1}, None],
        [{"ts": 1}, 5],
        {5: [1]},
        {"ts": 5},
        {"ts": np.array(5)},
        {"ts": np.zeros((2, 2))},
        {"ts": iter([1])},
        {"ts": "text"},
        {"ts": pl.Series([1]), "n": [1, 2]},
        "text", b"bytes", 5, None, object(), Odd(), iter([{"ts": 1}]), print, {1, 2}, range(3),
        Database,
    ],
    ids=lambda data: type(data).__name__,
)  # fmt: skip
def test_what_is_no_table_is_refused(data: object) -> None:
    db = opened()
    only_ours(lambda: db.push("ticks", data))
    read_all(db)


ANY = st.one_of(VALUES, st.sampled_from(["q", "moments", "ticks", "bag", "SELECT * FROM bag"]))
CALLS: dict[str, Callable[[Database, object], object]] = {
    "push to": lambda db, x: db.push(x, []),
    "late": lambda db, x: db.late(x),
    "rejected": lambda db, x: db.rejected(x),
    "advance": lambda db, x: db.advance(x),
    "advance stream": lambda db, x: db.advance(5, stream=x),
    "execute": lambda db, x: db.execute(x),
    "query": lambda db, x: db.query(x),
    "query named": lambda db, x: db.query("SELECT * FROM bag", name=x),
    "strategy": lambda db, x: db.query("SELECT * FROM bag", strategy=x),
    "setting": lambda db, x: db.query("SELECT * FROM bag", hold=x),
    "expiry": lambda db, x: db.query("SELECT * FROM bag", expiry=x),
    "join": lambda db, x: db.query("SELECT * FROM bag", join_algorithm=x),
    "early": lambda db, x: db.query("SELECT * FROM bag", early_aggregation=x),
    "no setting": lambda db, x: db.query("SELECT * FROM bag", nothing=x),
    "answer at": lambda db, x: db.query("q").answer(at=x),
    "report every": lambda db, x: db.query("q").report(every=x, to=print),
    "report to": lambda db, x: callable(x) or db.query("q").report(every="1 second", to=x),
    "reoptimize": lambda db, x: db.query("q").reoptimize(x),
    "reoptimize join": lambda db, x: db.query("q").reoptimize(join_algorithm=x),
    "reoptimize early": lambda db, x: db.query("q").reoptimize(early_aggregation=x),
    "restore": lambda db, x: db.query("q").restore(x),
    "connect": lambda db, x: windrow.connect(x),
    "processor": lambda db, x: windrow.connect(processor=x),
    "now": lambda db, x: callable(x) or windrow.connect(now=x),
    "no option": lambda db, x: windrow.connect(nothing=x),
    "costs": lambda db, x: windrow.Costs(x),
    "processor costs": lambda db, x: windrow.Processor({"Join": x}),
    "processor names": lambda db, x: windrow.Processor({"x": x}),
    "aggregate": lambda db, x: windrow.register_aggregate(x, Kept, (pa.int64(),), pa.int64()),
    "aggregate class": lambda db, x: windrow.register_aggregate("odd_a", x, (), pa.int64()),
    "aggregate arguments": lambda db, x: windrow.register_aggregate("odd_b", Kept, x, pa.int64()),
    "aggregate result": lambda db, x: windrow.register_aggregate("odd_c", Kept, (), x),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.filterwarnings("ignore")
def test_no_argument_is_a_traceback(call: str) -> None:
    db = opened()
    texts = ["q", "moments", "ticks", "bag", "SELECT * FROM bag", "SELECT", ";", "DROP", "\x00"]
    for value in [*ODDITIES, *texts]:
        only_ours(lambda value=value: CALLS[call](db, value))
    if call not in ("advance", "advance stream"):
        read_all(db)


@examples(60)
@given(st.sampled_from(sorted(CALLS)), ANY)
@pytest.mark.filterwarnings("ignore")
def test_no_drawn_argument_is_a_traceback(call: str, value: object) -> None:
    db = opened()
    only_ours(lambda: CALLS[call](db, value))
