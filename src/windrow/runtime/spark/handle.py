"""What a user holds of a query on Spark.

Also the text of all statements of a database, which a run is started from: declarations, settings
and queries, in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame

from windrow.core.errors import RunError, SemanticError
from windrow.runtime.handles import Tabular
from windrow.runtime.spark.sinks.choose import Sink, SinkSpecs
from windrow.runtime.spark.sinks.folder import FolderSink
from windrow.runtime.spark.sinks.memory import MemorySink

if TYPE_CHECKING:
    from windrow.runtime.spark.database import SparkDatabase
    from windrow.runtime.spark.run import Run
from dataclasses import dataclass, field

from windrow.language import statements
from windrow.language.printing import name_sql, print_statement


class SparkQuery(Tabular):
    """Starts and reads one query of a database on Spark."""

    def __init__(self, db: SparkDatabase, name: str) -> None:
        self._db = db
        self.name = name

    @property
    def schema(self) -> pa.Schema:
        """The columns of the answer; changes have `_ts` and `_sign` before them."""
        return self._db.session.query(self.name).root.schema.arrow()

    def start(
        self,
        sink: SinkSpecs = "noop",
        trigger: str = "available-now",
        options: Mapping[str, str] | None = None,
        *,
        drain: bool | None = None,
    ) -> Run:
        """Run this query by itself; its checkpoint is the folder of its name in the database's.

        `sink` is "noop", "memory", "console", "parquet:DIR", "json:DIR", "duckdb:FILE", a
        PostgreSQL URL, "spark:FORMAT" with `options`, or a function of (pyarrow.Table, batch);
        several are a list. `drain` closes all streams when the input has been read; by default
        only without a checkpoint, as nothing can follow.
        """
        return self._db.start_query(self.name, sink, trigger, options, drain=drain)

    def progress(self) -> dict[str, object]:
        """Return how far the query has come, and what its last batch has cost."""
        return self._db.watched(self.name).progress().of(self.name)

    def stats(self) -> dict[str, object]:
        """Return what the query has cost on all shards, and how late its changes were emitted."""
        return self._db.watched(self.name).stats(self.name)

    def changes(self) -> pa.Table:
        """Return changes: of a memory sink those since the last call, of a folder all.

        Of several sinks the first that keeps them is asked.
        """
        for sink in self._sinks():
            if isinstance(sink, MemorySink | FolderSink):
                return sink.changes()
        raise _unreadable(self.name, "changes", "memory, parquet: or json:")

    def answer(self) -> pa.Table:
        """Return the answer after the newest batch, of the first sink that keeps it."""
        sinks = self._sinks()
        if sinks[0].target.appends:
            raise SemanticError(
                f'"{self.name}" is a stream: it has changes and no answer',
                detail="ISTREAM, DSTREAM and RSTREAM are changes, not an answer.",
                hint="Read changes(), or take the stream operator out of the query.",
            )
        answer = next((s.answer for s in sinks if hasattr(s, "answer")), None)
        if answer is None:
            raise _unreadable(
                self.name, "the answer", "memory, parquet:, json:, duckdb: or PostgreSQL"
            )
        table: pa.Table = answer()
        return table

    def _sinks(self) -> tuple[Sink, ...]:
        return self._db.run_of(self.name).sinks(self.name)

    def to_spark(self) -> DataFrame:
        """Return the changes as a streaming DataFrame: `_ts`, `_sign`, then the columns."""
        return self._db.frame_of(self.name)

    def explain(self) -> str:
        """Return the plan: update patterns, then what runs in Spark and what on the shards."""
        return self._db.explain(self.name)

    def __repr__(self) -> str:
        return f"<windrow query {self.name} on Spark>"


def _unreadable(name: str, what: str, sinks: str) -> RunError:
    return RunError(
        f'the sink of "{name}" does not keep {what}',
        hint=f"Start the query with {sinks} to ask for it here.",
    )


@dataclass(slots=True)
class Script:
    """Statements that still count, by what they make; a program is written from them."""

    lines: dict[tuple[str, str], str] = field(default_factory=dict)

    def note(self, statement: statements.Statement) -> None:
        """Keep a statement that the session has accepted."""
        match statement:
            case statements.CreateStream(name=name) | statements.CreateRelation(name=name):
                self.lines.setdefault(("input", name.lower()), print_statement(statement))
            case statements.CreateView(name=name):
                if statement.or_replace:
                    self.lines.pop(("input", name.lower()), None)
                self.lines.setdefault(("input", name.lower()), print_statement(statement))
            case statements.CreateQuery(name=name):
                if statement.or_replace:
                    self.lines.pop(("query", name.lower()), None)
                self.lines.setdefault(("query", name.lower()), print_statement(statement))
            case statements.SetOption(name=name):
                self.lines["set", f"{len(self.lines)} {name}"] = print_statement(statement)
            case statements.Drop(kind=kind, name=name):
                self.lines.pop(("query" if kind == "QUERY" else "input", name.lower()), None)

    def add_query(self, name: str, text: str) -> None:
        """Keep a query that was given by itself."""
        self.lines["query", name.lower()] = f"CREATE QUERY {name_sql(name)} AS {text}"

    def text(self, queries: tuple[str, ...]) -> str:
        """Return the script of some queries."""
        wanted = {("query", name.lower()) for name in queries}
        kept = [t for key, t in self.lines.items() if key[0] != "query" or key in wanted]
        return "".join(f"{line};\n" for line in kept)
