"""Values as their declared type: what fits is converted exactly, what does not is rejected.

A value keeps its kind: numbers become numbers, text stays text. Two exceptions, for what has no
literal of its own in JSON or CSV: text may be a DATE, TIMESTAMP or BINARY, and a whole number may
be a TIMESTAMP (µs since 1970). Nothing is rounded but a float that becomes a DECIMAL or FLOAT, and
a timestamp finer than a microsecond.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.core.schema import Field
from windrow.core.types import BIGINT, DATE, DOUBLE, STRING, TIMESTAMP, sql_name
from windrow.operators.evaluate.timestamps import parse_moment
from windrow.operators.few import FEW, Incoming, few_values
from windrow.operators.vector import Bools

Given: TypeAlias = Any  # pa.Array | list[object]: pyarrow has no types to check by
"""A column as it was pushed."""

REFUSALS = (Exception,)
"""What is raised when a value does not fit: by Arrow, or by a class of the user's own."""

KINDS = (
    ("bool", pa.types.is_boolean),
    ("number", pa.types.is_integer),
    ("number", pa.types.is_floating),
    ("number", pa.types.is_decimal),
    ("text", pa.types.is_string),
    ("text", pa.types.is_large_string),
    ("text", pa.types.is_string_view),
    ("bytes", pa.types.is_binary),
    ("bytes", pa.types.is_large_binary),
    ("bytes", pa.types.is_fixed_size_binary),
    ("bytes", pa.types.is_binary_view),
    ("date", pa.types.is_date),
    ("moment", pa.types.is_timestamp),
    ("null", pa.types.is_null),
)
TAKEN_AS = frozenset({
    ("text", "date"), ("text", "moment"), ("text", "bytes"), ("bytes", "text"),
    ("date", "moment"), ("moment", "date"), ("number", "moment"),
})  # fmt: skip
"""Kinds that may become another."""


PLAIN: dict[pa.DataType, frozenset[type]] = {
    BIGINT: frozenset({int, type(None)}),
    DOUBLE: frozenset({float, type(None)}),
    STRING: frozenset({str, type(None)}),
}
"""Python values that are a type's own: nothing about them has to be found out."""


def fitted(given: Given, field: Field) -> tuple[Incoming, list[tuple[Bools, str]]]:
    """Return the column in its declared type, and which rows do not fit, with the reason."""
    faults: list[tuple[Bools, str]] = []
    if isinstance(given, list) and len(given) <= FEW:
        few = few_values(given, field.type)
        if few is not None:
            return few, faults
    try:
        array = converted(given, field.type)
    except MemoryError:
        raise
    except REFUSALS:
        array, wrong = _one_by_one(given, field.type)
        faults.append((wrong, f"{field.name} is not {sql_name(field.type)}"))
    if not field.nullable and array.null_count:
        missing: Bools = array.is_null().to_numpy(zero_copy_only=False)
        for wrong, _ in faults:
            missing = missing & ~wrong
        faults.append((missing, f"{field.name} is NULL"))
    return array, faults


def converted(given: Given, type_: pa.DataType) -> pa.Array:
    """Return the column in the declared type, or raise one of `REFUSALS`."""
    if not isinstance(given, list):
        return _cast(given, type_)
    if (plain := PLAIN.get(type_)) is not None and plain.issuperset(map(type, given)):
        return pa.array(given, type_)
    if type_ == TIMESTAMP and all(isinstance(v, datetime) or v is None for v in given):
        return pa.array(given, TIMESTAMP)  # each with its own zone; without one, UTC
    if pa.types.is_decimal(type_) and not any(isinstance(v, float | bool) for v in given):
        return pa.array(given, type_)  # of any precision, exactly
    if any(isinstance(v, datetime) for v in given) and type_ != DATE:
        mixed = [_at_midnight(v) for v in given]
        return _cast(pa.array(mixed, TIMESTAMP), type_)
    return _cast(pa.array(given), type_)


def _at_midnight(value: object) -> object:
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)  # noqa: DTZ001 - Arrow takes it as UTC
    return value


def _kind(type_: pa.DataType) -> str:
    return next((kind for kind, holds in KINDS if holds(type_)), str(type_))


def _cast(given: pa.Array, type_: pa.DataType) -> pa.Array:
    if given.type == type_:
        return given
    if pa.types.is_dictionary(given.type):
        return _cast(given.dictionary_decode(), type_)
    source, target = _kind(given.type), _kind(type_)
    known = {kind for kind, _ in KINDS}
    if source in known and target in known and source not in (target, "null"):
        if (source, target) not in TAKEN_AS:
            raise pa.ArrowTypeError(f"{given.type} is no {type_}")
        return _of_another_kind(given, source, type_)
    if target == "moment" and source in (target, "null"):
        return _moments(given)
    if pa.types.is_decimal(type_) and pa.types.is_integer(given.type):
        return pa.array(given.to_pylist(), type_)  # Arrow casts only where 19 digits fit
    cast = pc.cast(given, type_)
    if pa.types.is_float32(type_) and not pc.all(pc.is_inf(cast) == pc.is_inf(given)).as_py():
        raise pa.ArrowInvalid("too large")
    return cast


def _of_another_kind(given: pa.Array, source: str, type_: pa.DataType) -> pa.Array:
    if type_ == TIMESTAMP:
        if source == "number":
            return pc.cast(given, pa.int64()).view(TIMESTAMP)
        return (
            _read(given) if source == "text" else pc.cast(given, pa.timestamp("us")).view(TIMESTAMP)
        )
    if type_ == DATE:
        return pc.cast(_read(given), DATE, safe=False) if source == "text" else pc.cast(given, DATE)
    return pc.cast(given, type_)


def _read(text: pa.Array) -> pa.Array:
    """Return the moments that texts name; one that names none is refused."""
    moments = parse_moment(pc.cast(text, pa.string()))
    if moments.null_count != text.null_count:
        raise pa.ArrowInvalid("no timestamp")
    return moments


def _moments(given: pa.Array) -> pa.Array:
    """Return timestamps of any unit and zone in µs UTC, what is finer cut off."""
    if pa.types.is_null(given.type):
        return pa.nulls(len(given), TIMESTAMP)
    zone = given.type.tz
    cut = pc.CastOptions(target_type=pa.timestamp("us", tz=zone), allow_time_truncate=True)
    return pc.cast(given, options=cut).view(TIMESTAMP)


def _one_by_one(given: Given, type_: pa.DataType) -> tuple[pa.Array, Bools]:
    """Convert a column in which some value does not fit. Only reached when one does not."""
    parts: list[pa.Array] = []
    wrong = np.zeros(len(given), np.bool_)
    for i in range(len(given)):
        try:
            one = given[i : i + 1] if isinstance(given, list) else given.slice(i, 1)
            parts.append(converted(one, type_))
        except REFUSALS:
            wrong[i] = True
            parts.append(pa.nulls(1, type_))
    return pa.concat_arrays(parts) if parts else pa.nulls(0, type_), wrong
