"""What a demo leaves on disk: how much, what came last, how to open it, and whether it is right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from windrow.generate.traffic import LINKS

NEWEST = 4
"""Changes a query that are shown."""

STANDING = """
SELECT CASE SUM(_sign) WHEN 1 THEN src ELSE 'several times ' || src END
FROM {changes} GROUP BY src HAVING SUM(_sign) <> 0"""
"""The answer of query `quiet`, from its changes: a source is there once or not at all."""
EXPECTED = """
WITH l1 AS (SELECT src, ts FROM {link1}), l2 AS (SELECT src, ts FROM {link2}),
     now AS (SELECT MAX(ts) - INTERVAL '1' MINUTE AS gone FROM
             (SELECT MAX(ts) AS ts FROM l1 UNION ALL SELECT MAX(ts) FROM l2
              UNION ALL SELECT MAX(ts) FROM {link3}) AS newest)
SELECT DISTINCT src FROM l1, now WHERE l1.ts > gone
  AND src NOT IN (SELECT src FROM l2, now WHERE l2.ts > gone)"""
"""The same answer from the data: query `quiet` at the end, as one asks a database once."""


@dataclass(slots=True)
class DemoResults:
    """The Parquet files of one query, looked at again and again while they come."""

    name: str
    folder: Path
    changes: int = 0
    newest: tuple[str, ...] = ()
    _seen: set[Path] = field(default_factory=set)

    def look(self) -> None:
        """Count what has come since the last look, and keep the last of it."""
        fresh = set(self.folder.glob("*.parquet")) - self._seen
        for path in sorted(fresh):
            file = pq.ParquetFile(path)
            self.changes += file.metadata.num_rows
            if file.metadata.num_rows:
                last = file.read_row_group(file.num_row_groups - 1)
                self.newest = change_lines(last.slice(max(0, len(last) - NEWEST)))
        self._seen |= fresh


def change_lines(changes: pa.Table) -> tuple[str, ...]:
    """Return changes as short lines: time, sign, values."""
    lines = []
    for row in changes.to_pylist():
        at, sign, *values = row.values()
        sign = "+" if sign > 0 else "-"
        lines.append(f"{at:%H:%M:%S} {sign} {' '.join(map(str, values))}")
    return tuple(lines)


def openers(folder: Path) -> dict[str, str]:
    """Return, for each reader, the line that opens a query's results."""
    return {
        "DuckDB": f"duckdb -c \"FROM '{folder}/*.parquet'\"",
        "Polars": f"python -c \"import polars; print(polars.read_parquet('{folder}/'))\"",
        "Spark": f"spark.read.parquet('{folder}').show()",
    }


Ask = Callable[[str], set[str]]
"""Runs SQL and returns the values of its first column."""


def asker(spark: Any) -> tuple[str, Ask]:
    """Return who checks: DuckDB if it is installed, else Spark; with how to ask it."""
    if find_spec("duckdb") is not None:
        import duckdb  # noqa: PLC0415 - it need not be there

        connection = duckdb.connect()
        return "DuckDB", lambda sql: {row[0] for row in connection.execute(sql).fetchall()}
    return "Spark", lambda sql: {row[0] for row in spark.sql(sql).collect()}


def table_of(reader: str, folder: Path) -> str:
    """Return a folder of Parquet files as a table in a reader's SQL."""
    quoted = str(folder).replace("'", "''")
    return f"'{quoted}/*.parquet'" if reader == "DuckDB" else f"parquet.`{folder.absolute()}`"


@dataclass(frozen=True, slots=True)
class Checked:
    """Who was asked, the rows of the true answer, and the rows in which windrow's differs."""

    reader: str
    rows: int
    wrong: int

    def sentence(self) -> str:
        """Say what was found."""
        verdict = f"NOT THE SAME, {self.wrong:,} differ" if self.wrong else "the same"
        return f'"quiet" at the end: {self.rows:,} sources. Plain SQL in {self.reader}: {verdict}.'


def check_quiet(data: Path, results: Path, spark: Any) -> Checked:
    """Compare query `quiet` with plain SQL over the data."""
    reader, ask = asker(spark)
    links = {name: table_of(reader, data / name) for name in LINKS}
    found = ask(STANDING.format(changes=table_of(reader, results / "quiet")))
    true = ask(EXPECTED.format(**links))
    return Checked(reader, len(true), len(found ^ true))
