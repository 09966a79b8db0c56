"""The schema of Parquet files by the footer of one of them, as Spark would infer it.

Spark reads that footer in a job of its own: over two seconds at the start of a run, most of them
for the first job of a session. Only plain columns of a plain local folder are read here; whatever
else there is (partitions, nested columns, options that change what a file means) is Spark's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import types as st

HARMLESS = frozenset(
    {"path", "latestfirst", "maxfileage", "cleansource", "sourcearchivedir", "filenameonly"}
)
"""Options that do not change what is in a file, beside those that limit a trigger."""

SPARKS_OWN = b"org.apache.spark.sql.parquet.row.metadata"
"""Where Spark keeps the schema of a file that it has written."""

INTEGERS: dict[tuple[int, bool], st.DataType] = {
    (8, True): st.ByteType(),
    (16, True): st.ShortType(),
    (32, True): st.IntegerType(),
    (64, True): st.LongType(),
    (8, False): st.ShortType(),
    (16, False): st.IntegerType(),
    (32, False): st.LongType(),
    (64, False): st.DecimalType(20, 0),
}
LOGICAL: dict[str, st.DataType] = {
    "STRING": st.StringType(),
    "ENUM": st.StringType(),
    "JSON": st.StringType(),
    "DATE": st.DateType(),
}
PHYSICAL: dict[str, st.DataType] = {
    "BOOLEAN": st.BooleanType(),
    "INT32": st.IntegerType(),
    "INT64": st.LongType(),
    "INT96": st.TimestampType(),
    "FLOAT": st.FloatType(),
    "DOUBLE": st.DoubleType(),
    "BYTE_ARRAY": st.BinaryType(),
}
"""Types of columns that say no more than how their values are stored."""


def footer_schema(
    format_: str, options: Mapping[str, str], limits: frozenset[str]
) -> st.StructType | None:
    """Return the schema of the files that are there; None if Spark should look for itself.

    `options` are those of the source, `limits` names of options that say nothing about its files.
    """
    names = {name.lower() for name in options}
    if format_ != "parquet" or not names <= HARMLESS | limits:
        return None
    file = _first_file(next((v for n, v in options.items() if n.lower() == "path"), ""))
    if file is None:
        return None
    try:
        return _schema_of(pq.read_metadata(file))
    except (pa.ArrowException, OSError, ValueError, KeyError):
        return None


def _first_file(path: str) -> Path | None:
    """Return the first data file of a local folder without folders in it; None if there is none."""
    parsed = urlparse(path)
    if parsed.scheme not in ("", "file") or any(sign in path for sign in "*?[{"):
        return None
    folder = Path(unquote(parsed.path) if parsed.scheme else path)
    if not folder.is_dir():
        return None
    entries = sorted(e for e in folder.iterdir() if not e.name.startswith(("_", ".")))
    if not entries or any(entry.is_dir() for entry in entries):
        return None
    return entries[0]


def _schema_of(metadata: pq.FileMetaData) -> st.StructType | None:
    known = (metadata.metadata or {}).get(SPARKS_OWN)
    if known is not None:
        written = st.StructType.fromJson(json.loads(known)).fields
        found = {field.name: field.dataType for field in written}
        if any(isinstance(t, st.StructType | st.ArrayType | st.MapType) for t in found.values()):
            return None
    else:
        columns = [metadata.schema.column(n) for n in range(metadata.num_columns)]
        if any(c.path != c.name or c.max_repetition_level for c in columns):
            return None  # nested
        types = {c.name: _type_of(c) for c in columns}
        found = {name: type_ for name, type_ in types.items() if type_ is not None}
        if len(found) < len(columns):
            return None
    fields = [st.StructField(name, type_, nullable=True) for name, type_ in found.items()]
    return st.StructType(fields)


def _type_of(column: pq.ColumnSchema) -> st.DataType | None:
    """Return the type that Spark gives a column; None if that is not plain to see."""
    logical = column.logical_type
    match logical.type:
        case "NONE":
            return PHYSICAL.get(column.physical_type)
        case "INT":
            logical_type = json.loads(logical.to_json())
            return INTEGERS.get((logical_type["bitWidth"], logical_type["isSigned"]))
        case "TIMESTAMP":
            logical_type = json.loads(logical.to_json())
            if logical_type["timeUnit"] not in ("milliseconds", "microseconds"):
                return None
            return st.TimestampType() if logical_type["isAdjustedToUTC"] else st.TimestampNTZType()
        case "DECIMAL":
            return st.DecimalType(column.precision, column.scale)
        case known:
            return LOGICAL.get(known)
