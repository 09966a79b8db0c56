"""What tests of the pipeline share: a program run to the end of its input, and what it changed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import windrow as wr
from windrow.runtime.shards.client import Shards
from windrow.runtime.shards.program import Program
from windrow.runtime.shards.store import version_of
from windrow.runtime.spark.frame import build_frame, changes_of, drain_frame
from windrow.runtime.spark.worker import VERSION

Net = dict[str, Counter[tuple[str, ...]]]
"""Of each query: how often each change came, counted by its sign."""


@dataclass(slots=True)
class Runner:
    """Runs programs on one checkpoint."""

    spark: SparkSession
    checkpoint: str
    started: list[Program] = field(default_factory=list)

    def run(self, program: Program, **given: Any) -> Net:
        """Run a program to the end of its input; return each query's net changes."""
        frame = build_frame(self.spark, program, self.checkpoint, **given)
        self.started.append(program)
        found: Net = {name: Counter() for name in program.queries}

        def sink(batch: DataFrame, _: int) -> None:
            rows = batch.persist()
            for name in program.queries:
                add(found[name], changes_of(rows, program, name).toArrow())
            rows.unpersist()

        writer = frame.writeStream.foreachBatch(sink).trigger(availableNow=True)
        writer.option("checkpointLocation", f"{self.checkpoint}/spark").start().awaitTermination()
        return nonzero(found)

    def drain(self, program: Program, batch: int) -> Net:
        """Return what comes out when nothing follows a batch."""
        context = self.spark.sparkContext
        context.setLocalProperty(VERSION, str(version_of(batch, drain=True)))
        rows = drain_frame(self.spark, program, self.checkpoint, 0)
        found: Net = {name: Counter() for name in program.queries}
        for name in program.queries:
            add(found[name], changes_of(rows, program, name).toArrow())
        context.setLocalProperty(VERSION, "")
        return nonzero(found)

    def end(self) -> None:
        """End the shards' processes."""
        for program in self.started:
            Shards(self.checkpoint, program).shutdown()


def add(counts: Counter[tuple[str, ...]], table: pa.Table) -> None:
    for row in table.to_pylist():
        sign = row.pop("_sign")
        counts[tuple(map(str, row.values()))] += sign


def nonzero(net: Net) -> Net:
    """Return what does not cancel out."""
    return {q: Counter({row: n for row, n in rows.items() if n}) for q, rows in net.items()}


def locally(declarations: str, queries: dict[str, str], pushes: list[tuple[str, Any]]) -> Net:
    """Return what the in-process engine says."""
    db = wr.connect(engine="local")
    db.execute(declarations)
    standing = {name: db.query(text) for name, text in queries.items()}
    for name, rows in pushes:
        db.push(name, rows)
    found: Net = {name: Counter() for name in queries}
    for name, query in standing.items():
        add(found[name], query.changes())
    return nonzero(found)


def program_of(declarations: str, queries: dict[str, str], shards: int = 2) -> Program:
    """Return the program of some queries."""
    created = "".join(f"CREATE QUERY {name} AS {text};\n" for name, text in queries.items())
    return Program(declarations + created, tuple(queries), shards=shards)
