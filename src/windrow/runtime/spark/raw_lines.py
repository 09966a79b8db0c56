"""Dead letters of JSON files as they stand in their files.

Spark gives the text of a line that does not parse. Of one that does, and yet lacks a column that
must have a value (its keys are written in another case, say), only the columns are left: NULLs. The
line is found again by which of the columns that are read it has.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from windrow.runtime.local.probing import opened_text
from windrow.runtime.spark.dead import Letter

Lacking = frozenset[str]
"""The columns of a row that are NULL."""


def with_lines(file: str, letters: list[Letter]) -> list[Letter]:
    """Return letters of one file with their lines; as they are if the lines are not found."""
    rows = [json.loads(row) for _, row in letters]
    names = sorted({name for row in rows for name in row})
    wanted = [frozenset(n for n in names if row.get(n) is None) for row in rows]
    try:
        with opened_text(file) as lines:
            found = _lines(lines, names, frozenset(wanted))
    except (OSError, EOFError, ValueError):
        return letters
    counts = Counter(wanted)
    known = {lack: iter(lines) for lack, lines in found.items() if len(lines) == counts[lack]}
    return [
        (letter[0], next(known[lack])) if lack in known else letter
        for lack, letter in zip(wanted, letters, strict=True)
    ]


def _lines(
    lines: Iterable[str], names: list[str], wanted: frozenset[Lacking]
) -> dict[Lacking, list[str]]:
    """Return the lines that lack what some letter lacks."""
    keys = [json.dumps(name, ensure_ascii=False) for name in names]
    found: dict[Lacking, list[str]] = defaultdict(list)
    for line in lines:
        if "null" not in line and all(key in line for key in keys):
            continue  # it has them all: most lines do
        for row in _rows(line):
            lack = frozenset(name for name in names if row.get(name) is None)
            if lack in wanted:
                found[lack].append(line.strip())
    return found


def _rows(line: str) -> Iterator[dict[str, object]]:
    """Yield the objects of a line: one, or those of an array."""
    try:
        read = json.loads(line)
    except ValueError:
        return  # Spark has its text
    yield from (
        row for row in (read if isinstance(read, list) else [read]) if isinstance(row, dict)
    )
