"""What goes into the engine through its public API, and how time goes on."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import windrow
from windrow.core.errors import BindError, InputError
from windrow.runtime.local.database import Database
from windrow.runtime.local.handle import QueryHandle

ROWS = [{"ts": 1, "k": 7, "s": "a"}, {"ts": 2, "k": None, "s": "b"}]


@pytest.fixture
def db() -> Database:
    db = windrow.connect()
    db.execute("CREATE STREAM s (ts BIGINT, k BIGINT, s STRING) TIMESTAMP BY ts")
    return db


def rows(query: QueryHandle) -> list[dict]:
    return query.answer().to_pylist()


def changes(query: QueryHandle) -> list[tuple]:
    return [tuple(row.values()) for row in query.changes().to_pylist()]


# -- shapes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        ROWS,
        tuple(ROWS),
        {"ts": [1, 2], "k": [7, None], "s": ["a", "b"]},
        {"ts": np.array([1, 2]), "k": pa.array([7, None]), "s": pd.Series(["a", "b"])},
        {"ts": pl.Series([1, 2]), "k": pa.chunked_array([[7], [None]]), "s": ("a", "b")},
        pa.Table.from_pylist(ROWS),
        pa.concat_tables([pa.Table.from_pylist(ROWS).slice(i, 1) for i in (0, 1)]),
        pa.RecordBatch.from_pylist(ROWS),
        pd.DataFrame(ROWS),
        pd.DataFrame([{"ts": 0, "k": 0, "s": ""}, *ROWS])[1:],
        pd.DataFrame(ROWS, index=["x", "y"]),
        pl.DataFrame(ROWS),
    ],
    ids=lambda data: type(data).__module__.split(".")[0] + "." + type(data).__name__,
)
def test_tuples_come_in_every_usual_shape(db: Database, data: object) -> None:
    query = db.query("SELECT * FROM s [RANGE 10]")
    db.push("s", data)
    assert rows(query) == ROWS
    assert len(db.rejected("s")) == 0


def test_columns_come_in_any_order_and_case_and_nullable_ones_may_be_missing(db) -> None:
    query = db.query("SELECT * FROM s [RANGE 10]")
    db.push("s", {"K": [7], "ts": [1]})
    assert rows(query) == [{"ts": 1, "k": 7, "s": None}]


def test_nothing_at_all_may_be_pushed(db: Database) -> None:
    query = db.query("SELECT * FROM s [RANGE 10]")
    for nothing in ([], {}, pa.Table.from_pylist(ROWS).slice(0, 0), pd.DataFrame({"ts": []})):
        db.push("s", nothing)
    assert rows(query) == []


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        ([{"ts": 1, "kk": 2}], 'no column "kk"'),
        ({"k": [1]}, 'column "ts" of "s" is missing'),
        ({"ts": [1, 2], "k": [1]}, "different lengths"),
        ({"ts": 1}, "not a list"),
        ({"ts": [1], "TS": [1]}, "given twice"),
        ([(1, 2)], "not a dict"),
        ("text", "cannot read tuples"),
        (5, "cannot read tuples"),
    ],
)
def test_what_has_no_shape_is_refused_and_nothing_is_pushed(db, data, fact: str) -> None:
    query = db.query("SELECT * FROM s [RANGE 10]")
    with pytest.raises(InputError, match=fact):
        db.push("s", data)
    assert rows(query) == []


def test_an_unknown_stream_is_told_with_those_that_exist(db: Database) -> None:
    with pytest.raises(BindError, match='unknown stream or relation "t"'):
        db.push("t", ROWS)


# -- values ------------------------------------------------------------------------------------

TYPES = (
    "i1 TINYINT, i2 SMALLINT, i4 INT, i8 BIGINT, f4 FLOAT, f8 DOUBLE, d10 DECIMAL(10, 2), "
    "d38 DECIMAL(38, 5), day DATE, at TIMESTAMP, ok BOOLEAN, word STRING, raw BINARY"
)
MOMENT = datetime(2026, 3, 1, 12, 30, 0, 250_000, tzinfo=UTC)
FULL = {
    "i1": -(2**7), "i2": 2**15 - 1, "i4": -(2**31), "i8": 2**63 - 1,
    "f4": 0.5, "f8": 1e300, "d10": Decimal("-12345678.90"),
    "d38": Decimal("123456789012345678901234567890123.45678"),
    "day": date(1969, 12, 31), "at": MOMENT, "ok": True, "word": "ü ☃", "raw": b"\x00\xff",
}  # fmt: skip


def typed() -> Database:
    db = windrow.connect()
    db.execute(f"CREATE STREAM t (ts BIGINT, {TYPES}) TIMESTAMP BY ts")
    return db


@pytest.mark.parametrize("strategy", ["upa", "direct", "negative"])
@pytest.mark.parametrize(
    "text",
    [
        f"SELECT {', '.join(FULL)} FROM t [RANGE 10]",
        f"SELECT DISTINCT {', '.join(FULL)} FROM t [RANGE 10]",
        f"SELECT {', '.join(FULL)} FROM t [ROWS 2]",
        f"SELECT {', '.join(FULL)}, COUNT(*) AS n FROM t [RANGE 10] GROUP BY {', '.join(FULL)}",
    ],
    ids=["range", "distinct", "rows", "group"],
)
def test_every_type_comes_out_as_it_went_in(text: str, strategy: str) -> None:
    db = typed()
    query = db.query(text, strategy=strategy)
    nothing = dict.fromkeys(FULL)
    db.push("t", [{"ts": 1, **FULL}, {"ts": 1, **nothing}])
    got = [{k: v for k, v in row.items() if k != "n"} for row in rows(query)]
    assert sorted(got, key=str) == sorted([FULL, nothing], key=str)
    db.advance(50)
    if "ROWS" not in text:
        assert rows(query) == []
        assert Counter(c[1] for c in changes(query)) == {1: 2, -1: 2}


def test_types_survive_arrow_pandas_and_polars() -> None:
    db = typed()
    query = db.query(f"SELECT {', '.join(FULL)} FROM t [UNBOUNDED]")
    one = {"ts": 1, **FULL}
    table = pa.Table.from_pylist([one])
    db.push("t", table)
    db.push("t", table.to_pandas())
    db.push("t", pl.from_arrow(table))
    assert rows(query) == [FULL] * 3


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("i1", 128), ("i4", 1.5), ("i8", "5"), ("i8", True), ("i8", 2**70), ("i8", float("nan")),
        ("f4", 1e300), ("f8", "1"), ("d10", Decimal("1.005")), ("d10", Decimal(10) ** 9),
        ("day", "soon"), ("at", "yesterday"), ("at", "2026-02-30"), ("ok", 1), ("ok", "true"),
        ("word", 5), ("word", b"\xff"), ("raw", 5), ("i8", [1]), ("i8", object()),
    ],
)  # fmt: skip
def test_a_value_that_does_not_fit_is_kept_with_its_reason(column: str, value: object) -> None:
    db = typed()
    query = db.query(f"SELECT {column} FROM t [RANGE 10]")
    fine = FULL[column]
    db.push("t", [{"ts": 1, column: fine}, {"ts": 2, column: value}, {"ts": 3, column: fine}])
    assert rows(query) == [{column: fine}] * 2
    (rejected,) = db.rejected("t").to_pylist()
    assert f"{column} is not " in rejected["_reason"]
    assert (rejected["ts"], rejected[column]) == ("2", str(value))


@pytest.mark.parametrize(
    ("column", "value", "kept"),
    [
        ("i8", 5.0, 5), ("i8", np.int16(5), 5), ("f8", 5, 5.0), ("d10", 5, Decimal("5.00")),
        ("d10", 1.25, Decimal("1.25")), ("d38", 2**70, Decimal(2**70)),
        ("day", "2026-3-1", date(2026, 3, 1)),
        ("day", datetime(2026, 3, 1, tzinfo=UTC), date(2026, 3, 1)),
        ("raw", "x", b"x"), ("word", b"x", "x"),
    ],
)  # fmt: skip
def test_a_value_that_loses_nothing_is_converted(column: str, value: object, kept: object) -> None:
    db = typed()
    query = db.query(f"SELECT {column} FROM t [RANGE 10]")
    db.push("t", [{"ts": 1, column: value}])
    db.push("t", {"ts": [2], column: [value]})
    assert rows(query) == [{column: kept}] * 2, db.rejected("t").to_pylist()


def test_one_bad_value_does_not_change_how_others_are_read() -> None:
    db = typed()
    query = db.query("SELECT i8, d10, at FROM t [RANGE 10]")
    column = {"ts": pa.array([1, 2, 3]), "i8": pa.array([1.0, 1.5, 3.0])}
    db.push("t", {**column, "d10": pa.array([1.25, 2.0, 3.0]), "at": pa.array([0, 1, 2])})
    assert [row["i8"] for row in rows(query)] == [1, 3]
    assert db.rejected("t")["ts"].to_pylist() == ["2"]


def test_numbers_are_not_read_from_text_columns_either() -> None:
    db = typed()
    query = db.query("SELECT i8 FROM t [RANGE 10]")
    db.push("t", pa.table({"ts": [1], "i8": ["5"]}))
    assert rows(query) == []
    assert len(db.rejected("t")) == 1


def test_rejected_rows_of_different_pushes_stay_together(db: Database) -> None:
    assert db.rejected("s").column_names == ["_reason"]
    db.push("s", [{"ts": "x"}])
    db.push("s", [{"ts": 1, "k": "y"}])
    assert db.rejected("s")["_reason"].to_pylist() == ["ts is not BIGINT", "k is not BIGINT"]


# -- times -------------------------------------------------------------------------------------


@pytest.fixture
def moments() -> Database:
    db = windrow.connect()
    db.execute("CREATE STREAM m (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts")
    return db


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
PLUS_TWO = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    "value",
    [
        NOON,
        NOON.replace(tzinfo=None),
        datetime(2026, 1, 1, 14, tzinfo=PLUS_TWO),
        "2026-01-01T12:00:00Z",
        "2026-01-01 12:00",
        "2026-01-01T14:00:00+02:00",
        int(NOON.timestamp() * 1_000_000),
        pd.Timestamp("2026-01-01 12:00:00.000000999"),
        pd.Timestamp("2026-01-01 14:00", tz="Europe/Kyiv"),
    ],
    ids=str,
)
def test_a_time_is_the_same_instant_in_every_form(moments: Database, value: object) -> None:
    query = moments.query("SELECT ts FROM m [RANGE 1 MINUTE]")
    for data in ([{"ts": value}], {"ts": [value]}, pd.DataFrame({"ts": [value]})):
        moments.push("m", data)
    moments.push("m", pa.table({"ts": pa.array([value])}))
    assert [row["ts"] for row in rows(query)] == [NOON] * 4, moments.rejected("m").to_pylist()


def test_forms_of_time_may_be_mixed_in_one_push(moments: Database) -> None:
    query = moments.query("SELECT COUNT(*) AS n FROM m [RANGE 1 MINUTE]")
    mixed = [NOON, "2026-01-01T12:00:00", NOON.replace(tzinfo=None), NOON.astimezone(PLUS_TWO)]
    moments.push("m", [{"ts": value} for value in mixed])
    assert rows(query) == [{"n": 4}]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York"])
def test_arrow_times_of_every_unit_and_zone(moments: Database, unit: str, zone: str | None) -> None:
    query = moments.query("SELECT ts FROM m [RANGE 1 MINUTE]")
    naive = pa.array([NOON.replace(tzinfo=None)], pa.timestamp(unit))
    column = (
        naive
        if zone is None
        else naive.cast(pa.timestamp(unit, "UTC")).cast(pa.timestamp(unit, zone))
    )
    moments.push("m", pa.table({"ts": column}))
    assert [row["ts"] for row in rows(query)] == [NOON]


def test_a_tuple_without_a_time_is_rejected(moments: Database) -> None:
    query = moments.query("SELECT k FROM m [RANGE 1 MINUTE]")
    moments.push("m", [{"ts": None, "k": 1}, {"ts": NOON, "k": 2}])
    assert rows(query) == [{"k": 2}]
    assert moments.rejected("m").to_pylist() == [{"_reason": "ts is NULL", "ts": None, "k": "1"}]


@pytest.mark.parametrize("ts", [2**63 - 1, -(2**63), 2**62 + 1])
def test_a_time_that_a_window_cannot_be_added_to_is_rejected(db: Database, ts: int) -> None:
    query = db.query("SELECT k FROM s [RANGE 10]")
    db.push("s", [{"ts": ts, "k": 1}, {"ts": 5, "k": 2}])
    assert rows(query) == [{"k": 2}]
    assert db.rejected("s")["_reason"].to_pylist() == ["ts is out of range"]


def test_a_moment_beyond_the_calendar_is_rejected(moments: Database) -> None:
    moments.push("m", {"ts": pa.array([2**62]), "k": [1]})
    moments.push("m", {"ts": pa.array([2**62], pa.timestamp("us")), "k": [1]})
    assert moments.rejected("m")["_reason"].to_pylist() == ["ts is out of range"] * 2


def test_times_before_1970_and_below_zero_are_times(db: Database, moments: Database) -> None:
    old = moments.query("SELECT k FROM m [RANGE 1 MINUTE]")
    moments.push("m", [{"ts": "1914-07-28", "k": 1}])
    assert rows(old) == [{"k": 1}]
    below = db.query("SELECT k FROM s [RANGE 10]")
    db.push("s", [{"ts": -20, "k": 1}, {"ts": -12, "k": 2}])
    db.advance(-10)
    assert rows(below) == [{"k": 2}]


@pytest.mark.parametrize(
    "instant",
    ["2026-01-01T12:01:00Z", NOON + timedelta(minutes=1), NOON.replace(tzinfo=None, hour=13),
     date(2026, 1, 2),
     int(NOON.timestamp() + 60) * 1_000_000, np.int64(int(NOON.timestamp() + 60) * 1_000_000)],
    ids=str,
)  # fmt: skip
def test_heartbeats_come_in_every_form(moments: Database, instant) -> None:
    query = moments.query("SELECT k FROM m [RANGE 1 MINUTE]")
    moments.push("m", [{"ts": NOON, "k": 1}])
    assert len(rows(query)) == 1
    assert len(query.answer(at=instant)) == 0
    moments.advance(instant)
    assert rows(query) == []


@pytest.mark.parametrize("instant", ["noon", 1.5, None, 2**62 + 1, True, "2026-01-01"])
def test_what_is_no_instant_of_the_clock_is_refused(db: Database, instant) -> None:
    with pytest.raises(InputError, match="no instant of this clock"):
        db.advance(instant)


def test_columns_that_no_query_can_read_are_left_out_of_a_push() -> None:
    with windrow.connect() as db:
        db.execute("CREATE STREAM s (ts BIGINT, Tags MAP<STRING, INT>, k BIGINT) SLACK 0")
        query = db.query("SELECT * FROM s [RANGE 5]")
        db.push("s", [{"ts": 1, "tags": {"a": 1}, "k": 7}, {"ts": 2, "k": 8}])
        assert query.answer().to_pylist() == [{"ts": 1, "k": 7}, {"ts": 2, "k": 8}]
