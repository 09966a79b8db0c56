"""The value types, which are Arrow's, and the names that SQL has for them."""

from __future__ import annotations

import pyarrow as pa

BOOLEAN = pa.bool_()
BIGINT = pa.int64()
DOUBLE = pa.float64()
STRING = pa.string()
BINARY = pa.binary()
DATE = pa.date32()
TIMESTAMP = pa.timestamp("us", tz="UTC")
INTERVAL = pa.duration("us")
NULL = pa.null()

MAX_PRECISION = 38

SQL_NAMES: dict[str, pa.DataType] = {
    "BOOLEAN": BOOLEAN,
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": BIGINT,
    "FLOAT": pa.float32(),
    "DOUBLE": DOUBLE,
    "STRING": STRING,
    "BINARY": BINARY,
    "DATE": DATE,
    "TIMESTAMP": TIMESTAMP,
    "INTERVAL": INTERVAL,
    "VOID": NULL,
}
"""Every type with no parameters, by its Spark SQL name."""

_NAMES = {type_: name for name, type_ in SQL_NAMES.items()}


def sql_name(type_: pa.DataType) -> str:
    """Return the SQL name of a type.

    >>> sql_name(pa.int64()), sql_name(pa.decimal128(10, 2)), sql_name(pa.list_(pa.string()))
    ('BIGINT', 'DECIMAL(10, 2)', 'ARRAY<STRING>')
    """
    if pa.types.is_decimal(type_):
        return f"DECIMAL({type_.precision}, {type_.scale})"
    if pa.types.is_list(type_):
        return f"ARRAY<{sql_name(type_.value_type)}>"
    if pa.types.is_struct(type_):
        inner = ", ".join(f"{field.name}: {sql_name(field.type)}" for field in type_)
        return f"STRUCT<{inner}>"
    return _NAMES[type_]


def decimal(precision: int, scale: int) -> pa.DataType:
    """Return DECIMAL(precision, scale), cut to the 38 digits that are kept exactly."""
    if precision > MAX_PRECISION:
        scale = max(min(scale, 6), scale - (precision - MAX_PRECISION))
        precision = MAX_PRECISION
    return pa.decimal128(precision, scale)


def is_integer(type_: pa.DataType) -> bool:
    """Return whether values are whole numbers of fixed width."""
    return bool(pa.types.is_integer(type_))


def is_float(type_: pa.DataType) -> bool:
    """Return whether values are binary floating point."""
    return bool(pa.types.is_floating(type_))


def is_decimal(type_: pa.DataType) -> bool:
    """Return whether values are exact decimals."""
    return bool(pa.types.is_decimal(type_))


def is_numeric(type_: pa.DataType) -> bool:
    """Return whether arithmetic applies."""
    return is_integer(type_) or is_float(type_) or is_decimal(type_)


def is_temporal(type_: pa.DataType) -> bool:
    """Return whether values are dates or timestamps."""
    return bool(type_ in (DATE, TIMESTAMP))


_INTEGER_DIGITS = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 19}


def as_decimal(type_: pa.DataType) -> pa.DataType:
    """Return the decimal type that holds every value of an integer or decimal type."""
    return type_ if is_decimal(type_) else pa.decimal128(_INTEGER_DIGITS[type_], 0)


def common_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """Return the type that both sides of a comparison, UNION or CASE are brought to.

    None if there is none: windrow never turns a string into a number unasked.

    >>> sql_name(common_type(pa.int32(), pa.int64())), common_type(pa.string(), pa.int64())
    ('BIGINT', None)
    """
    if right in (left, NULL):
        return left
    if left == NULL:
        return right
    if is_numeric(left) and is_numeric(right):
        return _common_number(left, right)
    if is_temporal(left) and is_temporal(right):
        return TIMESTAMP
    if pa.types.is_list(left) and pa.types.is_list(right):
        inner = common_type(left.value_type, right.value_type)
        return None if inner is None else pa.list_(inner)
    return None


def _common_number(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    if is_float(left) or is_float(right):
        both_narrow = {left, right} <= {pa.float32(), pa.int8(), pa.int16()}
        return pa.float32() if both_narrow else DOUBLE
    if is_integer(left) and is_integer(right):
        return left if left.bit_width >= right.bit_width else right
    left, right = as_decimal(left), as_decimal(right)
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return decimal(whole + scale, scale)
