"""The streams of Nexmark as CQL declares them: pushed, or read from the files of a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from windrow_lab.generate.nexmark.events import SIDE_INPUT, STREAMS
from windrow_lab.generate.nexmark.scale import Nexmark

TIME = "dateTime"
COLUMNS: Mapping[str, str] = {
    "person": "id BIGINT, name STRING, emailAddress STRING, creditCard STRING, city STRING, "
    "state STRING, dateTime TIMESTAMP, extra STRING",
    "auction": "id BIGINT, itemName STRING, description STRING, initialBid BIGINT, "
    "reserve BIGINT, dateTime TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT, "
    "extra STRING",
    "bid": "auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, "
    "dateTime TIMESTAMP, extra STRING",
    SIDE_INPUT: "key BIGINT, value BIGINT",
}


def declarations(scale: Nexmark, folder: Path | None = None, *, files: int | None = None) -> str:
    """Return the statements that declare the three streams and the relation.

    With `folder` they read its files, at most so many `files` of a stream a micro-batch. Events
    that come out of order get the slack that they need.
    """
    slack = f" SLACK {scale.slack} MICROSECONDS" if scale.slack else ""
    limit = "" if files is None else f", maxFilesPerTrigger '{files}'"
    lines = [
        f"CREATE STREAM {name} ({COLUMNS[name]}){reading(folder, name, limit)}\n"
        f"  TIMESTAMP BY {TIME}{slack};\n"
        for name in STREAMS
    ]
    relation = f"{SIDE_INPUT} ({COLUMNS[SIDE_INPUT]}){reading(folder, SIDE_INPUT, '')}"
    return "".join([*lines, f"CREATE NON RETROACTIVE RELATION {relation};\n"])


def reading(folder: Path | None, name: str, limit: str) -> str:
    """Return how a stream or relation is read; nothing where it is pushed."""
    if folder is None:
        return ""
    path = str(folder / name).replace("'", "''")
    return f"\n  USING parquet OPTIONS (path '{path}'{limit})"
