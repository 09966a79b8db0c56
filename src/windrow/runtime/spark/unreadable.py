"""Files that cannot be read: whole ones among the dead letters, and none of their rows in answers.

That a batch leaves a file out is written down before any of its rows is used, and holds for every
time that the batch is run: a file that is mended in place meanwhile stays out, as a whole. A copy
of it under a new name is a file like any other.

    DIR/dead/<stream>/000000000012-0.unreadable.parquet    `_reason`, `_row`: {"file": "..."}
    DIR/missing.json     by stream: how many files lacked a column that may be NULL, by column
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from windrow.core.errors import InputError
from windrow.plan.catalog import Relation, Stream
from windrow.runtime.local.probing import ProbeResult
from windrow.runtime.shards.files import open_files
from windrow.runtime.spark.dead import FOLDER, SUFFIX, UNREADABLE, DeadLetters, count_unreadable
from windrow.runtime.spark.folder import RunFolder

OPTION = "on_unreadable"
DEAD_LETTER, FAIL = "dead_letter", "fail"
MISSING = "missing.json"

Reasons = dict[str, str]
"""Why files are left out, by file."""


def fails_on_unreadable(entry: Stream | Relation) -> bool:
    """Return whether a file of an input that cannot be read ends the run."""
    said = {name.lower(): value for name, value in entry.options}.get(OPTION, DEAD_LETTER)
    if said.lower() not in (DEAD_LETTER, FAIL):
        raise InputError(
            f"{OPTION} '{said}' of \"{entry.name}\" is unknown",
            detail="It says what becomes of a file that cannot be read.",
            hint=f"Write {OPTION} '{DEAD_LETTER}', which is the default, or '{FAIL}'.",
        )
    return said.lower() == FAIL


def same_file(file: str) -> str:
    """Return a file's name in one form: Spark writes it with one slash or three, encoded or not.

    >>> same_file("file:///in/a%20b"), same_file("file:/in/a b"), same_file("s3a://x/y")
    ('file:/in/a b', 'file:/in/a b', 's3a://x/y')
    """
    parts = urlsplit(file)
    host = f"//{parts.netloc}" if parts.netloc else ""
    return f"{parts.scheme}:{host}{unquote(parts.path)}"


def forms_of(file: str) -> set[str]:
    """Return all forms in which Spark may write a file's name.

    >>> sorted(forms_of("file:///in/a%20b"))
    ['file:///in/a%20b', 'file:/in/a b', 'file:/in/a%20b']
    """
    return {file, file.replace(":///", ":/", 1), same_file(file)}


def reasons_of(checkpoint: str, stream: str, version: int) -> Reasons:
    """Return the files that a version leaves out, with their reasons."""
    path = f"{FOLDER}/{quote(stream, safe='')}/{version:012}-0.{UNREADABLE}{SUFFIX}"
    files = open_files(checkpoint)
    if not files.exists(path):
        return {}
    table = pq.read_table(pa.BufferReader(files.read(path)))
    named = (json.loads(row)["file"] for row in table["_row"].to_pylist())
    return dict(zip(named, table["_reason"].to_pylist(), strict=True))


def leave_out(checkpoint: str, stream: str, version: int, reasons: Mapping[str, str]) -> None:
    """Write down that a version reads none of these files, beside those that it left out before."""
    known = reasons_of(checkpoint, stream, version) | dict(reasons)
    letters = [
        (reason, json.dumps({"file": file}, ensure_ascii=False))
        for file, reason in sorted(known.items())
    ]
    DeadLetters(checkpoint, version, 0).write(stream, UNREADABLE, letters)


def left_out(checkpoint: str, stream: str) -> frozenset[str]:
    """Return the files that batches which are not done yet leave out."""
    files, done = open_files(checkpoint), RunFolder(checkpoint).reached()
    names = files.sizes(f"{FOLDER}/{quote(stream, safe='')}")
    versions = {
        int(name.partition("-")[0]) for name in names if name.endswith(f".{UNREADABLE}{SUFFIX}")
    }
    later = (reasons_of(checkpoint, stream, v) for v in versions if v > done)
    return frozenset(file for reasons in later for file in reasons)


def cannot_be_read(
    entry: Stream | Relation, file: str, finding: ProbeResult, queries: Collection[str]
) -> InputError:
    """Return the error of a file that ends the run."""
    return InputError(
        f'{file}, a file of "{entry.name}", cannot be read',
        detail=f"{_upper(finding.reason)}. {', '.join(queries)} would read it.",
        hint="Mend the file in place, and start again with the same checkpoint: none of its rows "
        f"was used. Or leave {OPTION} '{FAIL}' out: then such files become dead letters.",
    )


def has_changed(
    entry: Stream | Relation, file: str, finding: ProbeResult, queries: Collection[str]
) -> InputError:
    """Return the error of a file that could be read once, in a batch that has to be run again."""
    return InputError(
        f'{file}, a file of "{entry.name}", has changed since it was first read',
        detail=f"{_upper(finding.reason)}. The batch was cut off after its rows had reached "
        f"{', '.join(queries)}; without the same rows it cannot be finished.",
        hint="Bring the file back as it was, and start again with the same checkpoint.",
    )


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".")


@dataclass(frozen=True, slots=True)
class MissingColumns:
    """How often files lacked a column that may be NULL: of each stream, by column.

    A batch that is run again counts once: what it has counted is kept apart from what was before.
    """

    checkpoint: str

    def count(self, stream: str, version: int, found: Mapping[str, int]) -> None:
        """Keep the counts of a version, in place of those that it gave before."""
        known = self._read()
        own = known.get(stream, {"version": 0, "before": {}, "now": {}})
        before = own["before"] if own["version"] == version else _sum(own["before"], own["now"])
        if not found and before == own["before"] and not own["now"]:
            return
        known[stream] = {"version": version, "before": before, "now": dict(found)}
        draft = open_files(self.checkpoint).draft(MISSING)
        draft.write(json.dumps(known).encode())
        draft.publish()
        draft.sync()

    def counts(self) -> dict[str, dict[str, int]]:
        """Return all counts so far."""
        known = self._read().items()
        return {stream: _sum(own["before"], own["now"]) for stream, own in known}

    def _read(self) -> dict[str, dict[str, object]]:
        files = open_files(self.checkpoint)
        if not files.exists(MISSING):
            return {}
        read: dict[str, dict[str, object]] = json.loads(bytes(files.read(MISSING)))
        return read


def damage_of(checkpoint: str) -> dict[str, Any]:
    """Return what was wrong with files so far: those left out, and columns that some lacked."""
    return {
        "unreadable": count_unreadable(checkpoint),
        "missing_columns": MissingColumns(checkpoint).counts(),
    }


def _sum(one: object, other: object) -> dict[str, int]:
    assert isinstance(one, dict), "counts are by column"
    assert isinstance(other, dict), "counts are by column"
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}
