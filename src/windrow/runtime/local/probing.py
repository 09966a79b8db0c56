"""A look at a file before it is read: whether it can be, and has the columns that are needed.

| format | what is looked at |
| --- | --- |
| parquet, orc | the footer: columns and their types |
| csv, json, text | the first 64 kB: compression, UTF-8, and the header of CSV |

What a look does not show (a torn page in the middle) shows when the file is read. An error of the
file system is no finding: it says nothing about the file.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs, orc

from windrow.core.schema import Field
from windrow.core.types import sql_name

LOOKED_AT = 1 << 16
"""Bytes of a text file that are looked at."""

AT_ONCE = 16
"""Files of a remote file system that are looked at at the same time."""

REMOVED = "it was removed before it was read"


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What a look has found.

    `reason`: why the file cannot be read, empty if it can, and because of which `column`.
    `missing`: columns that it does not have and that may be NULL.
    """

    reason: str = ""
    column: str | None = None
    missing: tuple[str, ...] = ()


FINE = ProbeResult()


@dataclass(frozen=True, slots=True)
class FileExpectation:
    """What the reader of some files expects: `columns` in the types in which they are read.

    `header`: all columns of CSV files that name them in their first line. `options` of the source,
    by their names in lower case.
    """

    format: str
    columns: tuple[Field, ...]
    options: dict[str, str]
    header: tuple[str, ...] | None = None


def look_at(files: Iterable[str], wanted: FileExpectation) -> dict[str, ProbeResult]:
    """Return what was found in each file, of those in which anything was."""
    names = list(files)
    local = all(_is_local(name) for name in names)
    if local or len(names) < 2:
        found = [look(name, wanted) for name in names]
    else:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            found = list(pool.map(lambda name: look(name, wanted), names))
    return {name: finding for name, finding in zip(names, found, strict=True) if finding != FINE}


def look(file: str, wanted: FileExpectation) -> ProbeResult:
    """Return what is wrong with one file, a path or URI."""
    try:
        with _opened(file) as handle:
            if wanted.format in ("parquet", "orc"):
                return _columns(file, handle, wanted)
            if wanted.format in ("csv", "json", "text"):
                return _text(file, handle, wanted)
    except FileNotFoundError:
        return ProbeResult(REMOVED)
    except (OSError, pa.ArrowException):
        return FINE  # the file system's affair
    return FINE


def _is_local(file: str) -> bool:
    return "://" not in file or file.startswith("file:")


def _path(file: str) -> str:
    return unquote(urlsplit(file).path) if file.startswith("file:") else file


@contextmanager
def _opened(file: str) -> Iterator[Any]:
    if _is_local(file):
        path = _path(file)
        with open(path, "rb") as handle:  # noqa: PTH123 - paths of any kind
            yield handle
        return
    parts = urlsplit(file)
    system, root = _file_system(f"{parts.scheme.replace('s3a', 's3')}://{parts.netloc}")
    with system.open_input_file(f"{root}{unquote(parts.path)}") as handle:
        yield handle


@lru_cache(maxsize=16)
def _file_system(root: str) -> tuple[fs.FileSystem, str]:
    system, path = fs.FileSystem.from_uri(f"{root}/")
    return system, path.rstrip("/")


# Files with a footer


def _columns(file: str, handle: Any, wanted: FileExpectation) -> ProbeResult:
    try:
        schema = _footer(handle, wanted.format)
    except pa.ArrowNotImplementedError:
        return FINE  # another reader may know it
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        return ProbeResult(_sentence(error))
    if schema is None:
        return FINE
    return _compared(file, {f.name.lower(): f.type for f in schema}, wanted)


def _footer(handle: Any, format_: str) -> pa.Schema | None:
    """Return the schema of a file; None if it is encrypted."""
    size = handle.seek(0, io.SEEK_END)
    if not size:
        raise pa.ArrowInvalid("it is empty")
    handle.seek(max(0, size - 4))
    if handle.read(4) == b"PARE":
        return None
    handle.seek(0)
    return pq.read_schema(handle) if format_ == "parquet" else orc.ORCFile(handle).schema


def _compared(file: str, given: dict[str, pa.DataType], wanted: FileExpectation) -> ProbeResult:
    missing = []
    for field in wanted.columns:
        name = field.name.lower()
        if name not in given:
            if f"/{name}=" in file.lower():
                continue  # a partition of the folder
            if not field.nullable:
                return ProbeResult(f'it has no column "{field.name}"', field.name)
            missing.append(field.name)
        elif not readable_as(given[name], field.type):
            shown = f"{_shown(given[name])}, and is read as {_shown(field.type)}"
            return ProbeResult(f'its column "{field.name}" is {shown}', field.name)
    return ProbeResult(missing=tuple(missing))


KINDS = (
    ("whole", pa.types.is_integer),
    ("real", pa.types.is_floating),
    ("decimal", pa.types.is_decimal),
    ("text", pa.types.is_string),
    ("text", pa.types.is_large_string),
    ("text", pa.types.is_string_view),
    ("text", pa.types.is_binary),
    ("text", pa.types.is_large_binary),
    ("text", pa.types.is_fixed_size_binary),
    ("bool", pa.types.is_boolean),
    ("date", pa.types.is_date),
    ("moment", pa.types.is_timestamp),
    ("struct", pa.types.is_struct),
    ("map", pa.types.is_map),
    ("list", pa.types.is_list),
    ("list", pa.types.is_large_list),
)
WIDENED = frozenset({("whole", "real"), ("whole", "decimal"), ("whole", "moment"),
                     ("date", "moment")})  # fmt: skip
"""Kinds that a reader may take for another: it decides by itself."""


def readable_as(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Return whether a file's column can be read as another type, as far as a look shows.

    >>> readable_as(pa.int32(), pa.int64()), readable_as(pa.string(), pa.int64())
    (True, False)
    """
    if pa.types.is_dictionary(given):
        given = given.value_type
    kinds = _kind(given), _kind(wanted)
    if None in kinds or given == wanted:
        return True
    if kinds[0] != kinds[1]:
        return kinds in WIDENED
    if kinds[0] in ("whole", "real"):
        return bool(given.bit_width <= wanted.bit_width)
    return True


def _kind(type_: pa.DataType) -> str | None:
    return next((kind for kind, is_kind in KINDS if is_kind(type_)), None)


def _shown(type_: pa.DataType) -> str:
    try:
        return sql_name(type_)
    except KeyError:
        return str(type_).upper()


# Text


def _text(file: str, handle: Any, wanted: FileExpectation) -> ProbeResult:
    try:
        head = _unpacked(file, handle)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        return ProbeResult(f"it does not unpack: {_sentence(error)}")
    except OSError as error:
        if error.errno:
            raise
        return ProbeResult(f"it does not unpack: {_sentence(error)}")  # of bz2
    encoding = wanted.options.get("encoding", wanted.options.get("charset", "utf-8"))
    if head is None or encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
        return FINE
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        text = decoder.decode(head, final=len(head) < LOOKED_AT)
    except UnicodeDecodeError as error:
        return ProbeResult(f"it is not UTF-8: byte {error.start} is {head[error.start]:#04x}")
    if head.count(0) * 4 > len(head):
        return ProbeResult("it is not UTF-8: much of it is NUL bytes")
    return _headed(text, wanted)


def _unpacked(file: str, handle: Any) -> bytes | None:
    """Return the beginning of a file, unpacked; None if the packing is not known here."""
    packing = file.rpartition(".")[2].lower()
    if packing == "gz":
        with gzip.GzipFile(fileobj=handle) as unpacked:
            return unpacked.read(LOOKED_AT)
    if packing == "bz2":
        with bz2.BZ2File(handle) as unpacked:
            return unpacked.read(LOOKED_AT)
    if packing in ("zst", "lz4", "snappy", "deflate", "xz"):
        return None
    read: bytes = handle.read(LOOKED_AT)
    return read


def _headed(text: str, wanted: FileExpectation) -> ProbeResult:
    """Compare the first line of CSV with the columns that are read by place."""
    options = wanted.options
    separator = options.get("sep", options.get("delimiter", ","))
    if wanted.header is None or len(separator) != 1:
        return FINE
    comment = options.get("comment") or None
    lines = (line for line in text.lstrip("\ufeff").splitlines() if line.strip())
    first = next((line for line in lines if not comment or not line.startswith(comment)), None)
    if first is None:
        return FINE  # no rows
    names = [n.strip() for n in next(csv.reader([first], delimiter=separator, strict=False))]
    if [n.lower() for n in names] == [n.strip().lower() for n in wanted.header]:
        return FINE
    known = {n.lower() for n in names}
    lacking = next((f.name for f in wanted.columns if f.name.lower() not in known), None)
    expected = f"Its header is {','.join(names)[:200]}; {','.join(wanted.header)} is read"
    if lacking is None:
        return ProbeResult(f"its columns are others, or elsewhere. {expected}")
    return ProbeResult(f'it has no column "{lacking}". {expected}', lacking)


def header_of(file: str, wanted: FileExpectation) -> list[str] | None:
    """Return the columns that the first line of a CSV file names; None if it has none to read."""
    try:
        with _opened(file) as handle:
            head = _unpacked(file, handle)
            text = (head or b"").decode("utf-8")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        return None
    lines = [line for line in text.lstrip("\ufeff").splitlines() if line.strip()]
    separator = wanted.options.get("sep", wanted.options.get("delimiter", ","))
    if not lines or len(separator) != 1:
        return None
    return next(csv.reader([lines[0]], delimiter=separator))


@contextmanager
def opened_text(file: str) -> Iterator[io.TextIOWrapper]:
    """Open a text file, unpacked."""
    packing = file.rpartition(".")[2].lower()
    with _opened(file) as handle:
        unpacked: Any = handle
        if packing == "gz":
            unpacked = gzip.GzipFile(fileobj=handle)
        elif packing == "bz2":
            unpacked = bz2.BZ2File(handle)
        with io.TextIOWrapper(unpacked, "utf-8") as text:
            yield text


def schema_of(file: str, format_: str) -> pa.Schema | None:
    """Return the columns of a file with a footer; None if it cannot be read."""
    try:
        with _opened(file) as handle:
            return _footer(handle, format_)
    except (OSError, pa.ArrowException):
        return None


def _sentence(error: BaseException) -> str:
    said = str(error).strip().splitlines()
    return said[0][:300] if said else type(error).__name__
