"""Which files a micro-batch reads: out of Spark's own log in the checkpoint.

    spark/offsets/7       a line a source: {"logOffset": 3}, how far batch 7 reads it
    spark/sources/0/3     the files of source 0 up to there; every tenth has all before it
                          (9.compact), and those before are removed after a while

Both are written before a batch is run, and never changed: a batch that is run again has the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from windrow.runtime.shards.files import Files
from windrow.runtime.spark.folder import RunFolder

COMPACT = ".compact"


def files_of_batch(folder: RunFolder, source: int, batch: int) -> list[str]:
    """Return the files, as URIs, that a batch reads of a source; none if that is not of files."""
    files = folder.files
    end = _offset(files, source, batch)
    start = _offset(files, source, batch - 1) if batch else None
    if end is None:
        return []
    listed = files.sizes(f"spark/sources/{source}")
    found: dict[str, None] = {}
    for number in range(0 if start is None else start + 1, end + 1):
        for entry in _entries(files, source, number, listed):
            if int(entry["batchId"]) == number:
                found[str(entry["path"])] = None
    return list(found)


def _offset(files: Files, source: int, batch: int) -> int | None:
    """Return how far a batch reads a source of files; None if it does not."""
    try:
        lines = bytes(files.read(f"spark/offsets/{batch}")).decode().splitlines()
    except FileNotFoundError:
        return None
    text = lines[2 + source] if 2 + source < len(lines) else "-"
    if not text.startswith("{"):
        return None
    known = json.loads(text).get("logOffset")
    return None if known is None else int(known)


def _entries(
    files: Files, source: int, number: int, listed: dict[str, int]
) -> Iterator[dict[str, Any]]:
    """Yield what the log of a source has in one place, or in the next that has all before it."""
    if str(number) in listed:
        name = str(number)
    else:
        compact = (int(n.removesuffix(COMPACT)) for n in listed if n.endswith(COMPACT))
        after = [n for n in compact if n >= number]
        if not after:
            return
        name = f"{min(after)}{COMPACT}"
    lines = bytes(files.read(f"spark/sources/{source}/{name}")).decode().splitlines()
    yield from (json.loads(line) for line in lines[1:] if line)
