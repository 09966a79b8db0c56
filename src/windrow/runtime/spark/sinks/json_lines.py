"""Changes as JSON, one object a line: times as ISO text in UTC, binary as base64."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import fs

from windrow.core.errors import RunError
from windrow.runtime.spark.sinks.folder import Writer

NUMBERS = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}


@dataclass(frozen=True, slots=True)
class JsonWriter:
    """Writes batches row by row."""

    file: Any

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Append rows."""
        rows = plain_rows(batch)
        lines = (json.dumps(row, default=spelled, ensure_ascii=False) for row in rows)
        self.file.write("".join(f"{line}\n" for line in lines).encode())

    def close(self) -> None:
        """Nothing ends a file of lines."""


@dataclass(frozen=True, slots=True)
class JsonLines:
    """One file of JSON lines a part."""

    ending: str = "json"

    def open(self, file: Any, schema: pa.Schema) -> Writer:
        """Begin a file."""
        del schema
        return JsonWriter(file)

    def read(self, system: fs.FileSystem, paths: list[str], schema: pa.Schema) -> pa.Table:
        """Return the rows of some files, as the types they had."""
        rows: list[dict[str, Any]] = []
        for path in paths:
            with system.open_input_stream(path) as file:
                rows += [json.loads(line) for line in file.read().splitlines()]
        columns = [retyped([row[f.name] for row in rows], f.type) for f in schema]
        return pa.Table.from_arrays(columns, schema=schema)


def plain_rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return rows; "NaN" and "Infinity" as text, as Spark writes them: JSON has no such numbers."""
    rows: list[dict[str, Any]] = batch.to_pylist()
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_floating(column.type) and not pc.all(pc.is_finite(column)).as_py():
            for row in rows:
                row[name] = NUMBERS.get(str(row[name]), row[name])
    return rows


def spelled(value: object) -> object:
    """Return what stands in JSON for a value that JSON does not have."""
    match value:
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case date():
            return value.isoformat()
        case timedelta():
            return value // timedelta(microseconds=1)
        case Decimal():
            return str(value)
        case bytes():
            return b64encode(value).decode()
        case _:
            raise TypeError(f"{type(value).__name__} has no form in JSON")


def retyped(values: list[Any], type_: pa.DataType) -> pa.Array:
    """Return JSON values as the column they were written from."""
    if pa.types.is_timestamp(type_):
        texts = pa.array(values, pa.string())
        return pc.cast(texts, type_)
    if pa.types.is_date(type_) or pa.types.is_decimal(type_):
        return pc.cast(pa.array(values, pa.string()), type_)
    if pa.types.is_duration(type_):
        return pa.array(values, pa.int64()).cast(type_)
    if pa.types.is_binary(type_) or pa.types.is_nested(type_):
        raise RunError(
            "the answer cannot be read back from JSON",
            detail="BINARY, ARRAY and STRUCT columns are text or untyped there.",
            hint="Write to parquet: instead.",
        )
    if pa.types.is_floating(type_):
        return pa.array([None if v is None else float(v) for v in values], type_)
    return pa.array(values, type_)
