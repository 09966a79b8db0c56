"""Which columns an input has: those of a DataFrame, or of the files that are there at the start.

The schema of one file is used for all. If it is damaged, or does not have what is declared, another
one that does is looked for: a bad file must not decide how the good ones are read. Where none fits,
a first start is refused by the one found; a later one reads what is declared, so that files that
have drifted become dead letters.

The schema of Parquet files is read from the footer of one of them, as Spark would infer it. Spark
reads that footer in a job of its own: over two seconds at the start of a run, most of them for the
first job of a session. Only plain columns of a plain local folder are read here; whatever
else there is (partitions, nested columns, options that change what a file means) is Spark's.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import types as st
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from windrow.core import types
from windrow.core.errors import InputError
from windrow.language.printing import name_sql
from windrow.plan.catalog import Relation, Stream
from windrow.runtime.local.probing import FileExpectation, header_of, readable_as, schema_of
from windrow.runtime.spark.declared import NAIVE, fit_column
from windrow.runtime.spark.slots import spark_type
from windrow.runtime.spark.unreadable import same_file

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
        known = {c.name: _type_of(c) for c in columns}
        found = {name: type_ for name, type_ in known.items() if type_ is not None}
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


_PLAIN: dict[type[st.DataType], pa.DataType] = {
    st.BooleanType: types.BOOLEAN,
    st.ByteType: pa.int8(),
    st.ShortType: pa.int16(),
    st.IntegerType: pa.int32(),
    st.LongType: pa.int64(),
    st.FloatType: pa.float32(),
    st.DoubleType: pa.float64(),
    st.StringType: types.STRING,
    st.VarcharType: types.STRING,
    st.CharType: types.STRING,
    st.BinaryType: types.BINARY,
    st.DateType: types.DATE,
    st.TimestampType: types.TIMESTAMP,
    st.TimestampNTZType: NAIVE,
    st.DayTimeIntervalType: types.INTERVAL,
    st.NullType: types.NULL,
}


def arrow_type(type_: st.DataType) -> pa.DataType:
    """Return a type of Spark's as ours; one that we do not have as something that never fits."""
    match type_:
        case st.DecimalType():
            return pa.decimal128(type_.precision, type_.scale)
        case st.ArrayType():
            return pa.list_(arrow_type(type_.elementType))
        case st.StructType():
            return pa.struct([(f.name, arrow_type(f.dataType)) for f in type_.fields])
        case _:
            return _PLAIN.get(type(type_), pa.month_day_nano_interval())


LIMITS = frozenset({"maxfilespertrigger", "maxbytespertrigger", "columnnameofcorruptrecord"})
"""Options of a stream that say nothing about its files."""

TRIED, FEW_TRIED = 100, 10
"""Files that are looked at if the first is of no use; if it is, yet not as declared."""

REFUSED = (PySparkException, Py4JJavaError)


def columns_named(
    spark: SparkSession, format_: str, options: dict[str, str], entry: Stream | Relation
) -> list[str] | None:
    """Return the columns that CSV files have by their first line, if they say so."""
    lower = {name.lower(): value for name, value in options.items()}
    if format_ != "csv" or lower.get("header", "").lower() != "true":
        return None
    passed = {n: v for n, v in options.items() if n.lower() not in LIMITS}
    try:
        found = list(spark.read.format("csv").options(**passed).load().columns)
    except REFUSED:  # no file yet: as declared
        found = []
    if [name.lower() for name in found] == _declared(entry):
        return found
    files = islice(_files(spark, format_, passed, entry), TRIED)
    headers = [header_of(file, FileExpectation("csv", (), lower)) for file in files]
    return _most_usual([found, *headers], entry) or found or None


def _most_usual(headers: list[list[str] | None], entry: Stream | Relation) -> list[str] | None:
    """Return the header that is as declared, else what most of those with all columns have."""
    whole = [tuple(names) for names in headers if names and _has_names(names, entry)]
    for names in whole:
        if [name.lower() for name in names] == _declared(entry):
            return list(names)
    return list(Counter(sorted(whole)).most_common(1)[0][0]) if whole else None


def _declared(entry: Stream | Relation) -> list[str]:
    return [name.lower() for name in entry.schema.names]


def schema_found(
    spark: SparkSession,
    format_: str,
    options: dict[str, str],
    entry: Stream | Relation,
    *,
    begun: bool,
) -> st.StructType | None:
    """Return the schema of the files that are there; None if what is declared should be read.

    There are no files yet then, or none fits and the run has `begun` before.
    """
    known = footer_schema(format_, options, LIMITS)
    if known is not None and _is_declared(known, entry):
        return _widened(known, entry)
    passed = {n: v for n, v in options.items() if n.lower() not in LIMITS}
    try:
        found = spark.read.format(format_).options(**passed).load().schema
    except REFUSED:
        found = st.StructType()
    if not _is_declared(found, entry) and format_ in ("parquet", "orc"):
        most = FEW_TRIED if _fits(found, entry) else TRIED
        files = islice(_files(spark, format_, passed, entry), most)
        found = _schema_of_best(spark, format_, passed, entry, files) or found
    if not len(found) or (begun and not _fits(found, entry)):
        return None
    return _widened(found, entry)


def _schema_of_best(
    spark: SparkSession,
    format_: str,
    options: dict[str, str],
    entry: Stream | Relation,
    files: Iterable[str],
) -> st.StructType | None:
    """Return the schema of the first file that is as declared; else of one that can be fitted."""
    lower = {name.lower(): value for name, value in options.items()}
    others = {n: v for n, v in options.items() if n.lower() != "path"}
    if "path" in lower and "*" not in lower["path"]:
        others["basePath"] = lower["path"]
    best = None
    for file in files:
        known = schema_of(file, format_)
        if known is None or not _has_names(known.names, entry):
            continue
        try:
            found = spark.read.format(format_).options(**others).load(same_file(file)).schema
        except REFUSED:
            continue
        if _is_declared(found, entry):
            return found
        best = found if best is None and _fits(found, entry) else best
    return best


def _files(
    spark: SparkSession, format_: str, options: dict[str, str], entry: Stream | Relation
) -> Iterator[str]:
    """Yield the files that are there, without opening them."""
    columns = ", ".join(f"`{f.name}` {spark_type(f.type)}" for f in entry.schema)
    try:
        reader = spark.read.format(format_).schema(columns).options(**options)
        yield from reader.load().inputFiles()
    except REFUSED:
        return


def _has_names(names: list[str], entry: Stream | Relation) -> bool:
    known = {name.lower() for name in names}
    return all(name.lower() in known for name in entry.schema.names)


def _is_declared(schema: st.StructType, entry: Stream | Relation) -> bool:
    """Return whether all declared columns are there, in their types or in narrower ones."""
    given = {f.name.lower(): arrow_type(f.dataType) for f in schema.fields}
    return _has_names(schema.names, entry) and all(
        readable_as(given[f.name.lower()], f.type) for f in entry.schema
    )


def _fits(schema: st.StructType, entry: Stream | Relation) -> bool:
    """Return whether all declared columns are there, in types that can become theirs."""
    given = {f.name.lower(): f for f in schema.fields}
    if not _has_names(schema.names, entry):
        return False
    try:
        for declared in entry.schema:
            found = given[declared.name.lower()]
            fit_column(declared, arrow_type(found.dataType), found.name, entry)
    except InputError:
        return False
    return True


def _widened(schema: st.StructType, entry: Stream | Relation) -> st.StructType:
    """Return the schema with numbers in their declared types where all of those fit.

    Of two files that have INT and BIGINT either may be the first, and both are read as BIGINT.
    """
    declared = {f.name.lower(): f.type for f in entry.schema}
    fields = []
    for found in schema.fields:
        wanted = declared.get(found.name.lower())
        wide = wanted is not None and _is_wider(wanted, arrow_type(found.dataType))
        type_ = _SPARK[wanted] if wide else found.dataType
        fields.append(st.StructField(found.name, type_, found.nullable, found.metadata))
    return st.StructType(fields)


_SPARK: dict[pa.DataType | None, st.DataType] = {
    pa.int16(): st.ShortType(),
    pa.int32(): st.IntegerType(),
    pa.int64(): st.LongType(),
    pa.float64(): st.DoubleType(),
}


def _is_wider(wanted: pa.DataType, given: pa.DataType) -> bool:
    alike = (types.is_integer(wanted) and types.is_integer(given)) or (
        types.is_float(wanted) and types.is_float(given)
    )
    return bool(alike and wanted.bit_width > given.bit_width)


def declaration(
    name: str, schema: StructType, ts: str | None, slack: str | None, max_ahead: str | None
) -> str:
    """Return the CREATE STREAM that a DataFrame stands for.

    Columns of a type that has no name in the language are left out: no query reads them.
    """
    known = {f.name: _type(f.dataType) for f in schema.fields}
    columns = [f"{name_sql(column)} {type_}" for column, type_ in known.items() if type_]
    time = f" TIMESTAMP BY {name_sql(ts)}" if ts is not None else ""
    held = f" SLACK {slack}" if slack is not None else ""
    held += f" MAX AHEAD {max_ahead}" if max_ahead is not None else ""
    return f"CREATE STREAM {name_sql(name)} ({', '.join(columns)}){time}{held}"


def _type(given: DataType) -> str | None:
    """Return the declared type of a column; a time without a zone is UTC. None: it has no name."""
    match given:
        case ArrayType():
            inner = _type(given.elementType)
            return inner and f"ARRAY<{inner}>"
        case MapType():
            key, value = _type(given.keyType), _type(given.valueType)
            return key and value and f"MAP<{key}, {value}>"
        case StructType():
            fields = [(name_sql(f.name), _type(f.dataType)) for f in given.fields]
            named = ", ".join(f"{name}: {type_}" for name, type_ in fields)
            return f"STRUCT<{named}>" if fields and all(t for _, t in fields) else None
        case _:
            return _plain(arrow_type(given))


def _plain(type_: pa.DataType) -> str | None:
    if pa.types.is_timestamp(type_):
        return types.sql_name(types.TIMESTAMP)
    try:
        return types.sql_name(type_)
    except KeyError:
        return None
