"""What columns files have that nobody has opened yet: out of those that are there at the start.

One file speaks for all. If it is damaged, or does not have what is declared, another one that does
is looked for: a bad file must not decide how the good ones are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import types as st

from windrow.core.errors import InputError
from windrow.core.types import is_float, is_integer
from windrow.plan.catalog import Relation, Stream
from windrow.runtime.local.probing import FileExpectation, header_of, readable_as, schema_of
from windrow.runtime.spark.declared import fit_column
from windrow.runtime.spark.footers import footer_schema
from windrow.runtime.spark.slots import spark_type
from windrow.runtime.spark.types import arrow_type
from windrow.runtime.spark.unreadable import same_file

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
    spark: SparkSession, format_: str, options: dict[str, str], entry: Stream | Relation
) -> st.StructType | None:
    """Return the schema of the files that are there; None if there are none yet."""
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
    return _widened(found, entry) if len(found) else None


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
    alike = (is_integer(wanted) and is_integer(given)) or (is_float(wanted) and is_float(given))
    return bool(alike and wanted.bit_width > given.bit_width)
