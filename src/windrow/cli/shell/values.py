"""What is typed or lies in a file, as values of a declared stream or relation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from windrow.core.errors import InputError
from windrow.core.schema import Schema
from windrow.core.types import BIGINT, STRING
from windrow.runtime.local.reading import Pushed

TRUTH = {"true": True, "false": False}
NEXT_TUPLE = "|"


def to_instant(text: str) -> int | str:
    """Return an instant: a bare number is one, anything else is a time in words."""
    return int(text) if re.fullmatch(r"[+-]?\d+", text) else text


def typed_tuples(words: list[str], schema: Schema) -> list[dict[str, object]]:
    """Return the tuples of ``ts=1 k=2 | ts=3 k=4``."""
    tuples: list[dict[str, object]] = [{}]
    for word in words:
        if word == NEXT_TUPLE:
            tuples.append({})
            continue
        name, equals, text = word.partition("=")
        if not equals:
            raise InputError(
                f"{word!r} gives no column a value",
                hint='Write column=value, for example ts=1 src="10.0.0.7".',
            )
        tuples[-1][name] = to_value(text, _type_of(name, schema))
    return tuples


def _type_of(name: str, schema: Schema) -> pa.DataType:
    found = {f.name.lower(): f.type for f in schema}.get(name.lower())
    if found is None:
        return BIGINT if name.startswith("_") else STRING
    return found


def to_value(text: str, type_: pa.DataType) -> object:
    """Return the value that a text stands for; the text itself if it is none of the type.

    >>> to_value("5", pa.int64()), to_value("x", pa.int64()), to_value("null", pa.string())
    (5, 'x', None)
    """
    if text.lower() == "null":
        return None
    try:
        return _reader(type_)(text)
    except (ValueError, KeyError, InvalidOperation):
        return text


def _reader(type_: pa.DataType) -> Callable[[str], object]:
    if pa.types.is_boolean(type_):
        return lambda text: TRUTH[text.lower()]
    if pa.types.is_integer(type_):
        return int
    if pa.types.is_floating(type_):
        return float
    if pa.types.is_decimal(type_):
        return Decimal
    if pa.types.is_list(type_) or pa.types.is_struct(type_):
        return json.loads
    if pa.types.is_timestamp(type_):
        return to_instant
    return str


def read_file(path: Path, schema: Schema) -> Pushed:
    """Return the tuples of a CSV, Parquet or JSON file."""
    readers: dict[str, Callable[[Path, Schema], Pushed]] = {
        ".csv": _read_csv,
        ".parquet": lambda path, _: pyarrow.parquet.read_table(path),
        ".json": _read_json,
    }
    read = readers.get(path.suffix.lower())
    if read is None:
        raise InputError(
            f'"{path}" is no file that can be pushed', hint="Use .csv, .parquet or .json."
        )
    try:
        return read(path, schema)
    except (OSError, pa.ArrowInvalid, ValueError) as error:
        raise InputError(f'"{path}" cannot be read', detail=f"{error}.") from error


def _read_csv(path: Path, schema: Schema) -> Pushed:
    """Return the columns of a CSV file, each value read as its column's type."""
    with path.open(encoding="utf-8") as file:
        names = next(iter(file), "").strip().replace('"', "").split(",")
    options = pyarrow.csv.ConvertOptions(
        column_types=dict.fromkeys(names, STRING), strings_can_be_null=True, null_values=[""]
    )
    table = pyarrow.csv.read_csv(path, convert_options=options)
    return {n: _column(table[n].combine_chunks(), _type_of(n, schema)) for n in table.column_names}


def _column(texts: pa.Array, type_: pa.DataType) -> pa.Array | list[object]:
    if pa.types.is_integer(type_) or pa.types.is_floating(type_):
        try:
            return pc.cast(texts, type_)
        except pa.ArrowInvalid:
            pass  # one of them is none: the others are read one by one
    return [None if t is None else to_value(t, type_) for t in texts.to_pylist()]


def _read_json(path: Path, _: Schema) -> Pushed:
    """Return a list of objects, or one object a line."""
    text = path.read_text(encoding="utf-8")
    if text.lstrip().startswith("["):
        return json.loads(text)
    return [json.loads(line) for line in text.splitlines() if line.strip()]
