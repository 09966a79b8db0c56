"""Relations at the door: whole batches do what rows do one after the other."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.generate.effort import examples
from tests.reference.histories import canonical

import windrow as wr
from windrow.core.schema import Field, Schema
from windrow.core.time import BEGINNING, Clock
from windrow.core.types import BIGINT, DOUBLE, STRING
from windrow.plan.catalog import Relation
from windrow.runtime.local.ingest import FittedRows
from windrow.runtime.local.relations import KEY_MOVED, NOT_THERE, RelationInput, fewest_from

FIELDS = (Field("k", DOUBLE), Field("s", STRING), Field("v", BIGINT))
NAN = float("nan")
KEYS = (1.0, 2.0, 0.0, -0.0, NAN, None)

Row = tuple[object, ...]
Given = tuple[int | None, int, Row]
"""A time, if it has one; a sign; a row."""

ROWS = st.tuples(st.sampled_from(KEYS), st.sampled_from(["a", "b", None]), st.integers(0, 2))
GIVEN = st.tuples(st.one_of(st.none(), st.integers(0, 9)), st.sampled_from([1, 1, 1, -1]), ROWS)
BATCHES = st.lists(st.lists(GIVEN, max_size=12), max_size=4)
NOW = 4


def batch_of(rows: list[Given]) -> FittedRows:
    columns = {f.name: pa.array([r[2][i] for r in rows], f.type) for i, f in enumerate(FIELDS)}
    columns["_ts"] = pa.array([r[0] for r in rows], pa.int64())
    columns["_sign"] = pa.array([r[1] for r in rows], pa.int64())
    return FittedRows(len(rows), columns)  # type: ignore[arg-type]


def in_order(rows: list[Given]) -> list[tuple[int, int, Row]]:
    timed = [(NOW if ts is None else ts, sign, row) for ts, sign, row in rows]
    return sorted(timed, key=lambda r: r[0])


def replaced(batches: list[list[Given]], key: int) -> tuple[list[object], list[Row]]:
    """The definition: of each key, a row ends the one before it; none before its key's last."""
    current: dict[object, tuple[int, Row | None]] = {}
    made, refused = [], []
    for batch in batches:
        for t, sign, row in in_order(batch):
            since, old = current.get(canonical(row[:key]), (BEGINNING, None))
            if t < since:
                refused.append(row)
                continue
            made += [(t, -1, canonical(old))] if old is not None else []
            made += [(t, 1, canonical(row))] if sign > 0 else []
            current[canonical(row[:key])] = t, row if sign > 0 else None
    return made, refused


def counted(batches: list[list[Given]]) -> tuple[list[object], list[Row]]:
    """The definition: a deletion needs a copy at every instant from then on."""
    events: dict[object, list[tuple[int, int]]] = {}
    made, refused = [], []
    for batch in batches:
        for t, sign, row in in_order(batch):
            known = events.setdefault(canonical(row), [])
            if sign < 0 and fewest_from(known, t) < 1:
                refused.append(row)
                continue
            known.append((t, sign))
            made.append((t, sign, canonical(row)))
    return made, refused


def taken(batches: list[list[Given]], key: int) -> tuple[list[object], RelationInput]:
    names = tuple(f.name for f in FIELDS[:key])
    target = RelationInput(Relation("r", Schema(FIELDS), key=names))
    made: list[object] = []
    for batch in batches:
        changes = target.accept(batch_of(batch), {Clock.TICKS: NOW})
        rows = zip(*(changes.arrays[f.name].to_pylist() for f in FIELDS), strict=True)
        signs = zip(changes.ts.tolist(), changes.sign.tolist(), map(canonical, rows), strict=True)
        made += list(signs)
        if target.keyed is not None:
            target.keyed.check()
    return made, target


@pytest.mark.parametrize("key", [1, 2])
@given(batches=BATCHES)
@examples(25)
def test_rows_replace_those_of_their_keys(key: int, batches: list[list[Given]]) -> None:
    made, target = taken(batches, key)
    expected, refused = replaced(batches, key)
    assert made == expected
    reasons = Counter(r for t in target.poison for r in t["_reason"].to_pylist())
    assert reasons == Counter({KEY_MOVED: len(refused)} if refused else {})


@given(batches=BATCHES)
@examples(25)
def test_deletions_find_a_row_or_are_set_aside(batches: list[list[Given]]) -> None:
    made, target = taken(batches, 0)
    expected, refused = counted(batches)
    assert made == expected
    reasons = Counter(r for t in target.poison for r in t["_reason"].to_pylist())
    assert reasons == Counter({NOT_THERE: len(refused)} if refused else {})


@pytest.mark.parametrize(
    ("type_", "one", "other"),
    [
        (pa.decimal128(30, 2), Decimal("1.00"), Decimal("2.00")),
        (pa.list_(pa.int64()), [1, 2], [2, 1]),
        (pa.binary(), b"a", b"b"),
        (pa.bool_(), True, False),
        (pa.date32(), 1, 2),
    ],
)
def test_keys_are_of_any_type(type_: pa.DataType, one: object, other: object) -> None:
    schema = Schema((Field("k", type_), Field("v", BIGINT)))
    target = RelationInput(Relation("r", schema, key=("k",)))
    keys = pa.array([one, other, one, None, None], type_)
    changes = target.accept(FittedRows(5, {"k": keys, "v": pa.array(range(5))}), {})
    assert changes.sign.tolist() == [1, 1, -1, 1, 1, -1, 1]
    assert changes.arrays["v"].to_pylist() == [0, 1, 0, 2, 3, 3, 4]


def test_rows_of_many_pushes_are_found_again() -> None:
    """Also when rows that no key has any more are dropped meanwhile."""
    schema = Schema((Field("k", BIGINT), Field("v", BIGINT)))
    target = RelationInput(Relation("r", schema, key=("k",)))
    rng = np.random.default_rng(5)
    current: dict[int, int] = {}
    for step in range(60):
        keys, values = rng.integers(0, 300, 100), rng.integers(0, 9, 100)
        batch = FittedRows(100, {"k": pa.array(keys), "v": pa.array(values)})
        changes = target.accept(batch, {Clock.TICKS: step})
        gone = [
            v for v, s in zip(changes.arrays["v"].to_pylist(), changes.sign, strict=True) if s < 0
        ]
        expected = []
        for key, value in zip(keys.tolist(), values.tolist(), strict=True):
            expected += [current[key]] if key in current else []
            current[key] = value
        assert gone == expected
    assert target.keyed is not None
    assert len(target.keyed.stored) <= 2 * len(current) + 2_048


def test_a_row_without_a_time_takes_effect_no_earlier_than_the_last_change_of_its_key() -> None:
    db = wr.connect()
    db.execute("CREATE STREAM a (ts BIGINT, k BIGINT) TIMESTAMP BY ts")
    db.execute("CREATE RELATION r (k BIGINT PRIMARY KEY, w BIGINT)")
    db.push("r", [{"k": 1, "w": 1, "_ts": 30}])
    db.push("r", [{"k": 1, "w": 2}])  # no stream has a time yet
    query = db.query("SELECT a.ts, r.w FROM a [RANGE 100], r WHERE a.k = r.k")
    db.push("a", [{"ts": 5, "k": 1}])
    db.advance(10)
    assert query.answer().to_pylist() == []
    db.advance(40)
    assert query.answer().to_pylist() == [{"ts": 5, "w": 2}]
