"""Declared inputs as DataFrames: ``USING format OPTIONS (...)``, or a DataFrame of the user's.

| source | columns come from |
| --- | --- |
| csv, json, xml | the declaration: Spark reads values as their declared types |
| parquet, orc and others with a schema | the files that are there, by name in any case |
| kafka, socket, text | the parts of their `value`: OPTIONS (value 'json') or (value 'csv') |
| any other name | the source itself: rate, Delta, Python Data Sources that were registered |

All options but ours (`heartbeat`, `idle`, `updates`, `value`, `on_unreadable`, `expect_rate`,
`expect_keys`) go to Spark, rate limits such as `maxFilesPerTrigger` among them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as st
from pyspark.sql.readwriter import DataFrameReader
from pyspark.sql.streaming.readwriter import DataStreamReader

from windrow.core.errors import InputError
from windrow.core.naming import near
from windrow.core.schema import Field, Schema
from windrow.core.types import STRING
from windrow.optimize.catalyst import literal_sql, quoted
from windrow.optimize.choose_partials import KEYS, RATE
from windrow.plan.catalog import Relation, Stream
from windrow.plan.expressions import Literal
from windrow.runtime.local.probing import FileExpectation
from windrow.runtime.spark.declared import Fitted, fit_column
from windrow.runtime.spark.guessing import LIMITS, arrow_type, columns_named, schema_found
from windrow.runtime.spark.slots import spark_type
from windrow.runtime.spark.unreadable import OPTION, fails_on_unreadable, forms_of, same_file

OURS = frozenset({"heartbeat", "idle", "updates", "value", OPTION, RATE, KEYS})
"""Options that Spark does not see."""

CORRUPT, RAW = "_corrupt_record", "_raw"
TIME, SIGN = "_ts", "_sign"

READ_AS_DECLARED = frozenset({"csv", "json", "xml"})
WITH_FILES = frozenset({"parquet", "orc", "avro"})
FILES = READ_AS_DECLARED | WITH_FILES | {"text"}
"""Sources of which each batch reads some files whole."""
WITH_VALUE = {"kafka": "json", "socket": None, "text": None}
"""Sources of whole messages, and how these are read unless said otherwise."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An input's rows as its source has them. `corrupt`: a column has what did not parse.

    `reader` reads one of the files, if its batches are of files; `header`: the columns of CSV;
    `of_lines`: each row is a line of JSON.
    """

    entry: Stream | Relation
    frame: DataFrame
    corrupt: bool = False
    reader: Callable[[str], DataFrame] | None = None
    header: tuple[str, ...] | None = None
    of_lines: bool = False

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

    def wanted(self, names: Iterable[str]) -> FileExpectation:
        """Return what the reader of some declared columns expects of a file."""
        found = {f.name.lower(): arrow_type(f.dataType) for f in self.frame.schema.fields}
        declared = [self.entry.schema[name] for name in names]
        columns = tuple(Field(f.name, found[f.name.lower()], f.nullable) for f in declared)
        options = {name.lower(): value for name, value in self.entry.options}
        return FileExpectation((self.entry.format or "").lower(), columns, options, self.header)

    def read(self, names: Collection[str], file: str) -> DataFrame:
        """Return some declared columns of one file, as a batch reads them."""
        assert self.reader is not None, "only files are read one by one"
        frame, wanted = self.reader(file), {name.lower() for name in names}
        kept = [quoted(c) for c in frame.columns if c.lower() in wanted or c in (CORRUPT, "value")]
        return frame.selectExpr(*kept)

    def _missing(self, name: str) -> InputError:
        there = [f.name for f in self.frame.schema.fields if f.name not in (CORRUPT, RAW)]
        return InputError(
            f'the source of "{self.entry.name}" has no column "{name}"',
            detail=f"Declared are {', '.join(self.entry.schema.names)}; "
            f"the source has {', '.join(there)}.",
            hint=near(name, there) or "Name it in the declaration as the source does.",
        )


def open_source(
    spark: SparkSession,
    entry: Stream | Relation,
    frame: DataFrame | None,
    *,
    streaming: bool,
    without: Collection[str] = (),
    begun: bool = False,
) -> Opened:
    """Open an input: a stream of rows, or all of them at once; `without` some of its files.

    `begun`: whether a run on this checkpoint has read it before.
    """
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
        loaded = _loaded(spark, entry, entry.format.lower(), streaming=streaming, begun=begun)
        return _taken_apart(replace(loaded, frame=_passing_over(loaded.frame, without)))
    return _taken_apart(Opened(entry, frame))


def _taken_apart(opened: Opened) -> Opened:
    """Return a source of messages by the parts of these; any other as it is."""
    entry = opened.entry
    options = {name.lower(): value for name, value in entry.options}
    style = options.get("value", WITH_VALUE.get((entry.format or "").lower()))
    frame = opened.frame if style is None else parsed_value(opened.frame, entry, style)
    return replace(opened, frame=frame, corrupt=CORRUPT in frame.columns)


def _passing_over(frame: DataFrame, files: Collection[str]) -> DataFrame:
    """Return the rows of all files but some; Spark does not open those.

    It compares names as its file systems write them, which is not as its log does.
    """
    if not files:
        return frame
    forms = sorted({form for file in files for form in forms_of(file)})
    texts = ", ".join(literal_sql(Literal(form, STRING)) or "" for form in forms)
    return frame.where(f"_metadata.file_path NOT IN ({texts})")


def _loaded(
    spark: SparkSession, entry: Stream | Relation, format_: str, *, streaming: bool, begun: bool
) -> Opened:
    options = {name: value for name, value in entry.options if name.lower() not in OURS}
    fails_on_unreadable(entry)
    schema: str | st.StructType | None = None
    header = None
    if format_ in READ_AS_DECLARED:
        options = {"timeZone": "UTC", **options, "mode": "PERMISSIVE"}
        options["columnNameOfCorruptRecord"] = CORRUPT
        header = columns_named(spark, format_, options, entry)
        if format_ == "csv":
            options.setdefault("enforceSchema", "false")
            _require_plain_columns(entry, header)
        schema = _ddl(entry.schema, header or list(entry.schema.names))
    elif format_ in WITH_FILES and streaming:
        schema = schema_found(spark, format_, options, entry, begun=begun)
        schema = _ddl(entry.schema, None) if schema is None else schema

    def described(reader: DataFrameReader | DataStreamReader) -> Any:
        typed = reader if schema is None else reader.schema(schema)
        return typed.format(entry.format or format_)

    def read_file(file: str) -> DataFrame:
        left = {"path", *LIMITS} - {"columnnameofcorruptrecord"}
        others = {n: v for n, v in options.items() if n.lower() not in left}
        read: DataFrame = described(spark.read).options(**others).load(same_file(file))
        return read

    reader = spark.readStream if streaming else spark.read
    frame = _load(described(reader).options(**options), entry)
    again = read_file if streaming and format_ in FILES else None
    lower = {name.lower(): value.lower() for name, value in options.items()}
    own = {name.lower() for name in entry.schema.names}  # one may hide Spark's own column
    lines = format_ == "json" and again is not None and "_metadata" not in own
    lines = lines and lower.get("multiline") != "true"
    named = tuple(header) if header else None
    return Opened(entry, frame, reader=again, header=named, of_lines=lines)


def _require_plain_columns(entry: Stream | Relation, header: list[str] | None) -> None:
    """Refuse CSV without a header whose columns, read by place, have some that CSV cannot hold."""
    if entry.unread and header is None:
        name, type_ = entry.unread[0]
        raise InputError(
            f'column "{name}" of "{entry.name}" is {type_}, which CSV does not have',
            detail="Without a header columns are read by their place.",
            hint=f"Declare {name} as STRING, or give the files a header and header 'true'.",
        )


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

    Other columns of the source stay, for declared columns of their names, and the message itself
    as `_raw`, for dead letters.
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
    text = f"CAST(value AS STRING) AS {RAW}"
    return frame.selectExpr(*map(quoted, others), text, f"{parsed} AS value").selectExpr(
        *map(quoted, others), RAW, "value.*"
    )
