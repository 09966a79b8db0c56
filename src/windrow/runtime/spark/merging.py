"""Batches whose tuples are merged by pane and group before they cross to the shards.

A streaming plan of Spark has no GROUP BY without state, so the streaming part ends before the
exchange: each batch then is a plan of its own (`foreachBatch`), which groups, exchanges and steps.

Only tuples that are not late may be merged, and that is known from where the version before has
left the clocks. A bound that is too high does no harm: single tuples are right in any case, and so
is a batch that is run again with another bound than the first time.

Tuples of one pane and group become one row, in Catalyst's words:

    wide rows ─► whom each goes to ─► columns of the group, values that merge ─► GROUP BY
              ─► wide rows again, at the ports of merged tuples

It is one pass over all rows of a batch. Rows that must stay single (late ones, large values, dead
letters, what is needed as it is) pass through the same GROUP BY, each a group of its own. Texts
only ever identify groups, so that Spark folds by hashing and need not sort.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from windrow.core.time import BEGINNING, FOREVER, Clock
from windrow.core.types import TIMESTAMP, is_decimal, is_float
from windrow.optimize.catalyst import spark_sql
from windrow.optimize.preaggregate_panes import FARTHEST
from windrow.physical.sources import Merge, PartialColumn
from windrow.plan.catalog import Stream
from windrow.plan.expressions import Expr
from windrow.runtime.shards.client import Shards
from windrow.runtime.shards.ports import Merged, Port
from windrow.runtime.shards.program import Program
from windrow.runtime.shards.store import version_of
from windrow.runtime.spark.folder import RunFolder
from windrow.runtime.spark.frame import InputFrames, entered_frame, through_shards
from windrow.runtime.spark.inspection import WatchedInput
from windrow.runtime.spark.plan import SparkPlan, plan_of
from windrow.runtime.spark.reports import read_reports
from windrow.runtime.spark.slots import (
    FIRST,
    PORT,
    SHARD,
    TIME,
    TUPLES,
    Slot,
    crossing_type,
    silent_port,
    spark_type,
)
from windrow.runtime.spark.ticks import ticks_of
from windrow.runtime.spark.worker import AtTheRim, Work

TARGET, LONE, ENTER, LEAVE = "_target", "_lone", "_enter", "_leave"


@dataclass(frozen=True, slots=True)
class Value:
    """A column of the GROUP BY that merges: ports share it if they merge the same way and type."""

    name: str
    merge: Merge
    type: pa.DataType

    @property
    def folded(self) -> str:
        """The column as an aggregate of Spark. Doubles are whole here, so their sum is exact."""
        if self.merge is Merge.SUM and is_float(self.type):
            return f"CAST(sum(CAST({self.name} AS BIGINT)) AS DOUBLE)"
        if self.merge is Merge.SUM and is_decimal(self.type):
            return f"CAST(sum({self.name}) AS {spark_type(self.type)})"
        return f"{self.merge.value}({self.name})"


@dataclass(frozen=True, slots=True)
class MergeSql:
    """The texts for one program. `values`: the value by port and column name."""

    plan: SparkPlan
    merging: tuple[Port, ...]
    values: Mapping[tuple[int, str], Value]

    @classmethod
    def of(cls, plan: SparkPlan) -> MergeSql:
        """Return the texts of a plan in which some ports merge."""
        merging = tuple(p for p in plan.layout.ports if p.merges is not None)
        return cls(plan, merging, _values(merging))

    # Whom a row goes to

    def target(self, bounds: Mapping[str, int]) -> str:
        """Return the port of each row: of merged tuples if it may be merged, else its own.

        `bounds`: times of each stream before which a tuple may be late.
        """
        by_port: dict[int, list[Port]] = {}
        for port in self.merging:
            by_port.setdefault(_merged(port).of, []).append(port)
        several = any(len(ports) > 1 for ports in by_port.values())
        least = [-FARTHEST] * (max(by_port) + 1)
        for of, ports in by_port.items():
            least[of] = max(-FARTHEST, bounds[_stream(ports[0]).name])
        cases = [
            f"WHEN {self._fits(of, ports)} THEN {self._goals(ports, several=several)}"
            for of, ports in by_port.items()
        ]
        rest = f"array({PORT})" if several else PORT
        old = f"{TIME} < {looked_up(least, PORT)}"
        chosen = f"CASE WHEN {old} THEN {rest} {' '.join(cases)} ELSE {rest} END"
        return f"explode({chosen}) AS {TARGET}" if several else f"{chosen} AS {TARGET}"

    def _fits(self, of: int, ports: list[Port]) -> str:
        tests = [f"{PORT} = {of}", f"{TIME} <= {FARTHEST}L"]
        tests += dict.fromkeys(
            _below(self._column(port, part.name), part)
            for port in ports
            for part in _merged(port).partials.parts
            if part.limit is not None and part.name in port.schema
        )
        return " AND ".join(tests)

    def _goals(self, ports: list[Port], *, several: bool) -> str:
        if not several:
            return str(ports[0].number)
        return f"array_compact(array({', '.join(self._goal(port) for port in ports)}))"

    def _goal(self, port: Port) -> str:
        predicate = _merged(port).source.predicate
        if predicate is None:
            return str(port.number)
        return f"CASE WHEN {self._sql(port, predicate)} THEN {port.number} END"

    # What is grouped, and what is folded

    def grouped(self) -> dict[str, str]:
        """Return the columns of the group, by name."""
        plan = self.plan
        numbers = [str(p.number) for p in self.merging]
        silent = [str(silent_port(n)) for n in range(len(plan.entries))]
        merged, free = ", ".join(numbers), ", ".join(numbers + silent)
        made = {SHARD: SHARD, PORT: TARGET}
        made[LONE] = f"CASE WHEN {TARGET} NOT IN ({free}) THEN monotonically_increasing_id() END"
        for name, _ in plan.entered.head:
            if name not in (SHARD, PORT, TIME):
                made[name] = f"CASE WHEN {TARGET} NOT IN ({merged}) THEN {name} END"
        made[ENTER] = self._each({p.number: _enter(p) for p in self.merging})
        if leaves := {p.number: at for p in self.merging if (at := _leave(p)) is not None}:
            made[LEAVE] = self._each(leaves)
        old = {slot.name for slot in plan.entered.slots}
        for slot in plan.merged.slots:
            keys = {p.number: key for p in self.merging if (key := self._key(p, slot)) is not None}
            if slot.name in old or keys:
                made[slot.name] = self._slot(slot, keys, old=slot.name in old)
        return made

    def _slot(self, slot: Slot, keys: Mapping[int, str], *, old: bool) -> str:
        whens = [
            f"WHEN {TARGET} = {p.number} THEN {keys.get(p.number, 'NULL')}" for p in self.merging
        ]
        rest = slot.name if old else "NULL"
        return f"CAST(CASE {' '.join(whens)} ELSE {rest} END AS {spark_type(slot.type)})"

    def _key(self, port: Port, slot: Slot) -> str | None:
        """Return what a port's key is that lies in a slot; None if there is none."""
        name = self._name_at(port, slot)
        return self._column(port, name) if name in _merged(port).partials.keys else None

    def _name_at(self, port: Port, slot: Slot) -> str | None:
        places = zip(port.schema.names, self.plan.merged.places[port.number], strict=True)
        return next((name for name, place in places if place == slot.name), None)

    def _each(self, times: Mapping[int, str]) -> str:
        whens = [f"WHEN {TARGET} = {number} THEN {at}" for number, at in times.items()]
        return f"CASE {' '.join(whens)} END"

    def valued(self) -> dict[str, str]:
        """Return the columns that merge, by name, as each tuple has them."""
        made: dict[str, list[str]] = {}
        for (number, name), value in self.values.items():
            port = self.plan.layout.ports[number]
            when = f"WHEN {TARGET} = {number} THEN {self._column(port, name)}"
            made.setdefault(value.name, []).append(when)
        types = {value.name: spark_type(value.type) for value in self.values.values()}
        return {n: f"CAST(CASE {' '.join(ws)} END AS {types[n]})" for n, ws in made.items()}

    def folded(self) -> dict[str, str]:
        """Return the aggregates of Spark, by name."""
        made = {TIME: f"max({TIME})", FIRST: f"min({TIME})", TUPLES: "count(1)"}
        return made | {value.name: value.folded for value in self.values.values()}

    def entered(self) -> dict[str, str]:
        """Return the wide row of the exchange over the groups, by name."""
        made = {name: name for name, _ in self.plan.merged.head}
        groups = self.grouped()
        for slot in self.plan.merged.slots:
            whens = []
            for port in self.merging:
                name = self._name_at(port, slot)
                value = None if name is None else self.values.get((port.number, name))
                if value is not None:
                    whens.append(f"WHEN {PORT} = {port.number} THEN {value.name}")
            rest = slot.name if slot.name in groups else "NULL"
            case = f"CASE {' '.join(whens)} ELSE {rest} END" if whens else rest
            made[slot.name] = f"CAST({case} AS {spark_type(slot.type)})"
        return made

    # Columns of merged tuples over the wide row of single ones

    def _column(self, port: Port, name: str) -> str:
        """Return a column of a port's rows in the type in which it crosses."""
        column = next(c for c in _merged(port).source.columns if c.name == name)
        sql = self._sql(port, column.expr)
        return f"unix_micros({sql})" if column.expr.type == TIMESTAMP else sql

    def _sql(self, port: Port, expr: Expr) -> str:
        sql = spark_sql(expr, lambda name: self._place(port, name))
        assert sql is not None, f"Catalyst cannot compute {expr}"
        return sql

    def _place(self, port: Port, name: str) -> str:
        """Return where a declared column lies in the wide row of the port's tuples."""
        of, stream = self.plan.layout.ports[_merged(port).of], _stream(port)
        type_ = stream.schema[name].type
        if name == stream.time_column:
            moment = stream.clock is Clock.TIMESTAMP
            return f"timestamp_micros({TIME})" if moment else f"CAST({TIME} AS {spark_type(type_)})"
        places = dict(zip(of.schema.names, self.plan.entered.places[of.number], strict=True))
        return f"timestamp_micros({places[name]})" if type_ == TIMESTAMP else str(places[name])


def looked_up(values: list[int], index: str) -> str:
    """Return numbers that change from batch to batch as SQL, chosen by a column.

    Spark writes plain numbers into the code that it makes of a plan, and would compile it anew for
    each batch; an array it does not. Out of range is NULL.
    """
    return f"get(array({', '.join(f'{value}L' for value in values)}), {index})"


def _stream(port: Port) -> Stream:
    assert isinstance(port.entry, Stream), "only tuples of streams are merged"
    return port.entry


def _merged(port: Port) -> Merged:
    assert port.merges is not None, "a port of merged tuples"
    return port.merges


def _below(value: str, part: PartialColumn) -> str:
    """Return the test that a value is small enough to be merged; NULL is."""
    assert part.limit is not None, "only parts with a limit are tested"
    return f"coalesce({value} > {-part.limit}L AND {value} < {part.limit}L, true)"


def _enter(port: Port) -> str:
    return _up(TIME, _merged(port).partials.pane.slide)


def _leave(port: Port) -> str | None:
    """Return when a pane's tuples expire; None where that follows from when they enter."""
    pane = _merged(port).partials.pane
    if pane.width % pane.slide == 0:
        return None
    return _up(f"({TIME} + {pane.width}L)", pane.slide)


def _up(time: str, slide: int) -> str:
    return f"{time} + pmod(-{time}, {slide}L)"


def _values(merging: tuple[Port, ...]) -> dict[tuple[int, str], Value]:
    """Give each part of each port a value column; ports share columns that merge alike."""
    made: list[Value] = []
    found: dict[tuple[int, str], Value] = {}
    for port in merging:
        free = list(made)
        for part in _merged(port).partials.parts:
            if part.name not in port.schema:
                continue
            type_ = port.schema[part.name].type
            crossing = crossing_type(type_)
            value = next((v for v in free if (v.merge, v.type) == (part.merge, crossing)), None)
            if value is None:
                value = Value(f"v{len(made)}", part.merge, crossing)
                made.append(value)
            else:
                free.remove(value)
            found[port.number, part.name] = value
    return found


PARTITIONS = "spark.sql.shuffle.partitions"


@dataclass(slots=True)
class Merging:
    """A run that merges. `rows` are its tuples as they come; `reached`: the last version done."""

    plan: SparkPlan
    work: Work
    folder: RunFolder
    rows: DataFrame
    reached: int
    sql: MergeSql

    @classmethod
    def of(
        cls,
        spark: SparkSession,
        program: Program,
        folder: RunFolder,
        frames: Mapping[str, DataFrame],
        rim: AtTheRim | None,
        watched: list[WatchedInput] | None = None,
    ) -> Merging:
        """Return the run of a program in which something merges."""
        plan = plan_of(program)
        work = plan.work(Shards(folder.where, program), merging=True, rim=rim)
        entry = InputFrames(folder.where, frames, ticks_of(program), watched)
        rows = entered_frame(spark, plan, entry)
        return cls(plan, work, folder, rows, folder.reached(), MergeSql.of(plan))

    def changes(self, rows: DataFrame, batch: int) -> DataFrame:
        """Return all changes of a batch, as wide rows."""
        rows.sparkSession.conf.set(PARTITIONS, str(self.plan.shards))
        merged = merged_rows(rows, self.sql, self._bounds())
        wall = looked_up([self.folder.batch_time(batch)], f"{SHARD} % 1")
        return through_shards(merged, self.plan, self.work, wall)

    def done(self, batch: int) -> None:
        """Note that a batch has reached all sinks."""
        self.reached = max(self.reached, version_of(batch))

    def _bounds(self) -> dict[str, int]:
        """Return of each stream a time from which on no tuple of the next version is late."""
        names = [e.name for e in self.plan.entries if isinstance(e, Stream)]
        if not self.reached:
            return dict.fromkeys(names, BEGINNING)
        for report in read_reports(self.folder.where).values():
            if int(report["version"]) >= self.reached:
                return {name: int(report["frontiers"][name]) for name in names}
        return dict.fromkeys(names, FOREVER)


def merged_rows(rows: DataFrame, sql: MergeSql, bounds: Mapping[str, int]) -> DataFrame:
    """Return the wide rows of a batch, which does not stream, with tuples merged."""
    groups, values = sql.grouped(), sql.valued()
    aimed = rows.selectExpr("*", sql.target(bounds))
    selected = aimed.selectExpr(*_named(groups), TIME, *_named(values))
    folded = selected.groupBy(*groups).agg(*(expr(e).alias(n) for n, e in sql.folded().items()))
    return folded.selectExpr(*_named(sql.entered()))


def _named(columns: Mapping[str, str]) -> list[str]:
    return [f"{sql} AS {name}" for name, sql in columns.items()]
