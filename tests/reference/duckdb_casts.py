"""CAST as windrow means it, in DuckDB's SQL: one total expression a pair of types."""

from __future__ import annotations

import pyarrow as pa

from tests.reference.duckdb_types import duckdb_type
from windrow.core.types import BOOLEAN, DATE, STRING, TIMESTAMP, is_decimal, is_float, is_integer

FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""0001-01-01 and the last µs of 9999, in µs from 1970."""

NUMERAL = {
    "whole": r"^ *[+-]?[0-9]+ *$",
    "decimal": r"^ *[+-]?([0-9]+\.?[0-9]*|\.[0-9]+) *$",
    "double": r"(?i)^ *[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,4})?|nan|inf(inity)?) *$",
}

MOMENT = (
    r"^ *([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})(?:[ T]([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})"
    r"(?:\.([0-9]{1,6})[0-9]*)?)? ?(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)? *$"
)


def duckdb_cast(sql: str, source: pa.DataType, target: pa.DataType) -> str:
    """Return ``CAST(sql AS target)``, NULL for what has no counterpart."""
    name = duckdb_type(target)
    if source == STRING:
        return _from_text(sql, target)
    if target == STRING:
        return _to_text(sql, source)
    if source == TIMESTAMP and is_integer(target):
        return f"TRY_CAST({floor_div(f'epoch_us({sql})', 1_000_000)} AS {name})"
    if source == TIMESTAMP and is_float(target):
        return f"CAST(epoch_us({sql}) / 1e6 AS {name})"
    if target == TIMESTAMP and source != DATE:
        return _seconds_to_moment(sql, source)
    if is_integer(target) and (is_float(source) or is_decimal(source)):
        return f"TRY_CAST(trunc({sql}) AS {name})"
    if is_decimal(source) and target == pa.float32():
        return f"CAST(CAST({sql} AS DOUBLE) AS FLOAT)"
    if is_decimal(target) and is_float(source):
        return _float_to_decimal(sql, target)
    return f"TRY_CAST({sql} AS {name})"


def floor_div(sql: str, unit: int) -> str:
    """Return ``⌊sql / unit⌋`` of whole numbers, exactly."""
    number = f"CAST({sql} AS HUGEINT)"
    return f"(({number} - (({number} % {unit}) + {unit}) % {unit}) // {unit})"


def _float_to_decimal(sql: str, target: pa.DataType) -> str:
    """Round ``x * 10^scale``; the digits are then moved behind the point as text."""
    scaled = f"round(CAST({sql} AS DOUBLE) * 1e{target.scale})"
    digits = f"TRY_CAST({scaled} AS HUGEINT)"
    magnitude = f"lpad(CAST(abs({digits}) AS VARCHAR), 39, '0')"
    whole = 39 - target.scale
    numeral = f"substr({magnitude}, 1, {whole}) || '.' || substr({magnitude}, {whole + 1})"
    signed = f"CASE WHEN {digits} < 0 THEN '-' ELSE '' END || {numeral}"
    fits = f"abs({scaled}) < 1e{target.precision}"
    return f"CASE WHEN {fits} THEN TRY_CAST({signed} AS {duckdb_type(target)}) END"


def _seconds_to_moment(sql: str, source: pa.DataType) -> str:
    if is_integer(source):
        return moment(f"CAST({sql} AS HUGEINT) * 1000000")
    return moment(f"trunc(CAST({sql} AS DOUBLE) * 1e6)")


def moment(micros: str) -> str:
    """Return the timestamp of a number of µs; NULL outside the years 0001 to 9999."""
    number = f"TRY_CAST({micros} AS BIGINT)"
    return f"CASE WHEN {number} BETWEEN {FIRST} AND {LAST} THEN make_timestamp({number}) END"


def _to_text(sql: str, source: pa.DataType) -> str:
    text = f"CAST({sql} AS VARCHAR)"
    if is_float(source):
        return f"replace(replace({text}, 'nan', 'NaN'), 'inf', 'Infinity')"
    return text


def _from_text(sql: str, target: pa.DataType) -> str:
    name = duckdb_type(target)
    trimmed = f"trim({sql}, ' ')"
    if target == BOOLEAN:
        word = f"lower({trimmed})"
        return (
            f"CASE WHEN {word} IN ('t', 'true', 'y', 'yes', '1') THEN TRUE "
            f"WHEN {word} IN ('f', 'false', 'n', 'no', '0') THEN FALSE END"
        )
    if target == TIMESTAMP:
        return _text_to_moment(sql)
    if target == DATE:
        return f"CAST({_text_to_moment(sql)} AS DATE)"
    if target == pa.binary():
        return f"encode({sql})"
    kind = "whole" if is_integer(target) else "decimal" if is_decimal(target) else "double"
    read = f"TRY_CAST({trimmed} AS {name})"
    if target == pa.float32():
        read = f"TRY_CAST(TRY_CAST({trimmed} AS DOUBLE) AS FLOAT)"
    return f"CASE WHEN regexp_matches({sql}, '{NUMERAL[kind]}') THEN {read} END"


def _text_to_moment(sql: str) -> str:
    def piece(group: int, missing: str = "0") -> str:
        found = f"regexp_extract({sql}, '{MOMENT}', {group})"
        return f"CASE WHEN {found} = '' THEN '{missing}' ELSE {found} END"

    year, month, day, hour, minute, second = (f"CAST({piece(g)} AS BIGINT)" for g in range(1, 7))
    clock = f"make_timestamp({year}, {month}, {day}, {hour}, {minute}, CAST({second} AS DOUBLE))"
    fraction = f"CAST(rpad({piece(7)}, 6, '0') AS BIGINT)"
    zone = f"rpad(regexp_replace({piece(8, '0')}, '[Z:+-]', '', 'g'), 4, '0')"
    minutes = f"(CAST({zone}[1:2] AS BIGINT) * 60 + CAST({zone}[3:4] AS BIGINT))"
    sign = f"CASE WHEN {piece(8)} LIKE '-%' THEN -1 ELSE 1 END"
    fits = (
        f"regexp_matches({sql}, '{MOMENT}') AND {year} >= 1 AND {hour} < 24 AND {minute} < 60 "
        f"AND {second} < 60 AND {minutes} <= 840 AND CAST({zone}[3:4] AS BIGINT) < 60"
    )
    micros = f"epoch_us({clock}) + {fraction} - ({sign}) * {minutes} * 60000000"
    return f"CASE WHEN {fits} THEN {moment(f'TRY({micros})')} END"
