"""Declared inputs as DataFrames: ``USING format OPTIONS (...)``, or a DataFrame of the user's.

| source | columns come from |
| --- | --- |
| csv, json, xml | the declaration: Spark reads values as their declared types |
| parquet, orc and others with a schema | the files that are there, by name in any case |
| kafka, socket, text | the parts of their `value`: OPTIONS (value 'json') or (value 'csv') |
| any other name | the source itself: rate, Delta, Python Data Sources that were registered |

All options but ours (`heartbeat`, `idle`, `updates`, `value`, `expect_rate`, `expect_keys`) go to
Spark, rate limits such as `maxFilesPerTrigger` among them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as st
from pyspark.sql.readwriter import DataFrameReader
from pyspark.sql.streaming.readwriter import DataStreamReader

from windrow.core.errors import InputError
from windrow.core.naming import near
from windrow.core.schema import Schema
from windrow.core.types import BINARY, BOOLEAN, DATE, INTERVAL, NULL, STRING, TIMESTAMP
from windrow.optimize.catalyst import quoted
from windrow.optimize.choose_partials import KEYS, RATE
from windrow.plan.catalog import Relation, Stream
from windrow.runtime.spark.declared import NAIVE, Fitted, fit_column
from windrow.runtime.spark.footers import footer_schema
from windrow.runtime.spark.slots import spark_type

OURS = frozenset({"heartbeat", "idle", "updates", "value", RATE, KEYS})
"""Options that Spark does not see."""

CORRUPT = "_corrupt_record"
TIME, SIGN = "_ts", "_sign"

READ_AS_DECLARED = frozenset({"csv", "json", "xml"})
WITH_FILES = frozenset({"parquet", "orc", "avro"})
WITH_VALUE = {"kafka": "json", "socket": None, "text": None}
"""Sources of whole messages, and how these are read unless said otherwise."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An input's rows as its source has them. `corrupt`: a column has what did not parse."""

    entry: Stream | Relation
    frame: DataFrame
    corrupt: bool = False

    def fitted(self, names: Iterable[str]) -> dict[str, Fitted]:
        """Return some declared columns, found by name in any case, in their declared types."""
        given = {f.name.lower(): f for f in self.frame.schema.fields}
        found = {}
        for name in names:
            if name.lower() not in given:
                raise self._missing(name)
            field = given[name.lower()]
            type_ = arrow_type(field.dataType)
            found[name] = fit_column(self.entry.schema[name], type_, field.name, self.entry)
        return found

    def _missing(self, name: str) -> InputError:
        there = [f.name for f in self.frame.schema.fields if f.name != CORRUPT]
        return InputError(
            f'the source of "{self.entry.name}" has no column "{name}"',
            detail=f"Declared are {', '.join(self.entry.schema.names)}; "
            f"the source has {', '.join(there)}.",
            hint=near(name, there) or "Name it in the declaration as the source does.",
        )


def open_source(
    spark: SparkSession, entry: Stream | Relation, frame: DataFrame | None, *, streaming: bool
) -> Opened:
    """Open an input: a stream of rows, or all of them at once."""
    options = {name.lower(): value for name, value in entry.options}
    if frame is not None:
        if frame.isStreaming != streaming:
            raise InputError(
                f'the DataFrame of "{entry.name}" is {"not " if streaming else ""}streaming',
                hint="Make it with spark.readStream." if streaming else "Make it with spark.read.",
            )
    elif entry.format is None:
        raise InputError(
            f'"{entry.name}" has no source',
            detail="Its declaration has no USING, and no DataFrame was given for it.",
            hint="Write USING parquet OPTIONS (path '...'), or give a DataFrame.",
        )
    else:
        frame = _loaded(spark, entry, entry.format.lower(), streaming=streaming)
    style = options.get("value", WITH_VALUE.get((entry.format or "").lower()))
    if style is not None:
        frame = parsed_value(frame, entry, style)
    return Opened(entry, frame, CORRUPT in frame.columns)


def _loaded(
    spark: SparkSession, entry: Stream | Relation, format_: str, *, streaming: bool
) -> DataFrame:
    options = {name: value for name, value in entry.options if name.lower() not in OURS}
    reader = spark.readStream if streaming else spark.read
    if format_ in READ_AS_DECLARED:
        options = {"timeZone": "UTC", **options, "mode": "PERMISSIVE"}
        options["columnNameOfCorruptRecord"] = CORRUPT
        names = _header(spark, format_, options) or list(entry.schema.names)
        if format_ == "csv":
            options.setdefault("enforceSchema", "false")
        reader = reader.schema(_ddl(entry.schema, names))
    elif format_ in WITH_FILES and streaming:
        known = _schema_of_files(spark, format_, options)
        reader = reader.schema(known if known is not None else _ddl(entry.schema, None))
    return _load(reader.format(entry.format or format_).options(**options), entry)


def _load(reader: DataFrameReader | DataStreamReader, entry: Stream | Relation) -> DataFrame:
    try:
        return reader.load()
    except (PySparkException, Py4JJavaError) as error:  # the second: no such source
        raise InputError(
            f'the source of "{entry.name}" cannot be opened',
            detail=_first_line(error),
            hint=f"Look at USING {entry.format} OPTIONS (...) in its declaration; packages of "
            "sources are given to Spark as spark.jars.packages.",
        ) from error


def _first_line(error: Exception) -> str:
    if isinstance(error, Py4JJavaError):
        return str(error.java_exception.getMessage()).splitlines()[0]
    return str(error).splitlines()[0]


def _header(spark: SparkSession, format_: str, options: dict[str, str]) -> list[str] | None:
    """Return the columns that CSV files have by their first line, if they say so."""
    lower = {name.lower(): value for name, value in options.items()}
    if format_ != "csv" or lower.get("header", "").lower() != "true":
        return None
    passed = {n: v for n, v in options.items() if n.lower() not in _LIMITS}
    try:
        return list(spark.read.format("csv").options(**passed).load().columns) or None
    except PySparkException:  # no file yet: as declared
        return None


_LIMITS = frozenset({"maxfilespertrigger", "maxbytespertrigger", "columnnameofcorruptrecord"})


def _schema_of_files(
    spark: SparkSession, format_: str, options: dict[str, str]
) -> st.StructType | None:
    """Return the schema of the files that are there; None if there are none yet."""
    known = footer_schema(format_, options, _LIMITS)
    if known is not None:
        return known
    passed = {n: v for n, v in options.items() if n.lower() not in _LIMITS}
    try:
        found = spark.read.format(format_).options(**passed).load().schema
    except PySparkException:
        return None
    return found if len(found) else None


def _ddl(schema: Schema, names: list[str] | None) -> str:
    """Return a reader's schema: declared columns in the order of `names`, others as text."""
    declared = {f.name.lower(): f for f in schema}
    columns = [
        f"{quoted(name)} {spark_type(declared[name.lower()].type)}"
        if name.lower() in declared
        else f"{quoted(name)} STRING"
        for name in (schema.names if names is None else names)
    ]
    return ", ".join(columns if names is None else [*columns, f"{CORRUPT} STRING"])


def parsed_value(frame: DataFrame, entry: Stream | Relation, style: str) -> DataFrame:
    """Return messages taken apart: each `value` is a JSON object or a line of CSV.

    Other columns of the source stay, for declared columns of their names.
    """
    if style.lower() not in ("json", "csv") or "value" not in frame.columns:
        raise InputError(
            f"\"{entry.name}\" cannot be read with value '{style}'",
            hint="Write OPTIONS (value 'json') or (value 'csv') for a source of messages.",
        )
    others = [c for c in frame.columns if c != "value"]
    lower = {c.lower() for c in others}
    inside = Schema(tuple(f for f in entry.schema if f.name.lower() not in lower))
    ddl = _ddl(inside, list(inside.names)).replace("'", "\\'")
    options = f"map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '{CORRUPT}'"
    parsed = f"from_{style.lower()}(CAST(value AS STRING), '{ddl}', {options}, 'timeZone', 'UTC'))"
    return frame.selectExpr(*map(quoted, others), f"{parsed} AS value").selectExpr(
        *map(quoted, others), "value.*"
    )


_PLAIN: dict[type[st.DataType], pa.DataType] = {
    st.BooleanType: BOOLEAN,
    st.ByteType: pa.int8(),
    st.ShortType: pa.int16(),
    st.IntegerType: pa.int32(),
    st.LongType: pa.int64(),
    st.FloatType: pa.float32(),
    st.DoubleType: pa.float64(),
    st.StringType: STRING,
    st.VarcharType: STRING,
    st.CharType: STRING,
    st.BinaryType: BINARY,
    st.DateType: DATE,
    st.TimestampType: TIMESTAMP,
    st.TimestampNTZType: NAIVE,
    st.DayTimeIntervalType: INTERVAL,
    st.NullType: NULL,
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
