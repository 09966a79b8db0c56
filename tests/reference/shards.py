"""Drives a query on several shards in one process: what Spark does, without Spark.

The events of a world are cut into batches; each batch's rows are dealt to the shards by the ports'
keys, levels are run one after the other, and between them rows change shards.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tests.generate.catalog import DECLARATIONS, STREAMS
from tests.reference.drive import bounds_of, events, read, relation_rows, stream_table
from tests.reference.histories import Change, Row, World
from tests.reference.merging import split
from windrow.core.time import BEGINNING, FOREVER
from windrow.operators.evaluate import evaluate
from windrow.operators.state.saved import from_bytes, to_bytes
from windrow.plan.nodes import Route
from windrow.runtime.shards.clocks import BatchClock, InputTimes
from windrow.runtime.shards.layout import layout_of
from windrow.runtime.shards.ports import TIME, WEIGHT, Port
from windrow.runtime.shards.program import Program
from windrow.runtime.shards.shard import SEQUENCE, Shard
from windrow.runtime.shards.wire import Stepped

Event = tuple[int, str, int, Row]


@dataclass(frozen=True, slots=True)
class ShardedDrive:
    """How a world is fed to shards. `seed` shuffles the rows of each batch.

    `merge`: tuples are merged by pane and group before they are dealt, where they can be.
    `hold`, `pace` and `expiry`: what SET hold, expiry_pace and expiry say. `expect`: tuples a tick
    and keys that all streams declare to expect, if any.
    """

    shards: int = 2
    strategy: str = "auto"
    cuts: tuple[int, ...] = ()
    heartbeat: bool = True
    restarts: frozenset[int] = frozenset()
    seed: int = 0
    merge: bool = False
    join_algorithm: str = "auto"
    early_aggregation: str = "auto"
    hold: int = 0
    pace: int | str = "off"
    expiry: str = "auto"
    expect: tuple[int, int] | None = None


class ShardSet:
    """All shards of one program, and the exchanges between them."""

    def __init__(self, program: Program, seed: int = 0) -> None:
        self.program = program
        self.layout = layout_of(program)
        self.shards = [Shard(program, n) for n in range(program.shards)]
        self.random = random.Random(seed)

    @property
    def behind(self) -> int:
        """How far a pace holds the query back: on all shards as far."""
        (behind,) = {query.behind for shard in self.shards for query in shard.queries}
        return behind

    def batch(
        self,
        inputs: dict[int, pa.Table],
        beats: dict[str, int],
        *,
        drain: bool = False,
        wall: int = 0,
    ) -> list[pa.Table]:
        """Run one batch: rows by port in, all changes out."""
        for port, table in inputs.items():
            self._enter(self.layout.ports[port], table)
        times = {name: InputTimes(FOREVER, at, 0) for name, at in beats.items()}
        for shard in self.shards:
            for name, h in shard.times().items():
                times[name] = times[name].merged(h) if name in times else h
        batch_clock = BatchClock(times, wall, drain)
        made: list[pa.Table] = []
        for level in range(self.layout.levels):
            stepped = [shard.step(level, batch_clock) for shard in self.shards]
            for number, table in [item for s in stepped for item in s.changes.items()]:
                self._assert_filled(number, table)
                made.append(table)
            self._exchange(stepped)
        return made

    def _assert_filled(self, output: int, table: pa.Table) -> None:
        """Assert that columns without NULL by their plan have none: Spark goes by it."""
        for field in self.layout.outputs[output].schema:
            assert field.nullable or not table[field.name].null_count, f"{field.name} is NULL"

    def _enter(self, port: Port, table: pa.Table) -> None:
        """Deal the tuples of an input, merged where they can be."""
        merging = [p for p in self.layout.ports if p.merges and p.merges.of == port.number]
        if not merging:
            self._deal(port, table)
            return
        assert port.entry is not None
        frontier = self.shards[0].clocks.streams[port.entry.name].frontier
        targets = np.array(self._targets(port, table))
        for n in range(len(self.shards)):
            rows = table.filter(pa.array(targets == n))
            parts = split(merging, rows, frontier, self.random)
            self._give(n, port, parts.single)
            for number, merged in parts.merged.items():
                self._give(n, self.layout.ports[number], merged)

    def _exchange(self, stepped: list[Stepped]) -> None:
        self.random.shuffle(stepped)
        for one in stepped:
            for port, table in one.forwarded.items():
                self._deal(self.layout.ports[port], table)

    def _deal(self, port: Port, table: pa.Table) -> None:
        for n in range(len(self.shards)):
            rows = [i for i, to in enumerate(self._targets(port, table)) if to in (n, -1)]
            if port.level == 0 and not port.carries:
                self.random.shuffle(rows)
            self._give(n, port, table.take(pa.array(rows, pa.int64())))

    def _give(self, shard: int, port: Port, rows: pa.Table) -> None:
        crossing = [TIME, *port.carries, *port.schema.names]
        crossing += [SEQUENCE] if SEQUENCE in rows.column_names else []
        self.shards[shard].ingest(port.number, rows.select(crossing))

    def _targets(self, port: Port, table: pa.Table) -> list[int]:
        if port.route is not Route.KEY:
            return [-1 if port.route is Route.ALL else 0] * len(table)
        columns = {n: table[n].combine_chunks() for n in table.column_names}
        keys = [evaluate(k, columns, len(table)).to_pylist() for k in port.keys]
        return [hash(tuple(map(_key, row))) % len(self.shards) for row in zip(*keys, strict=True)]

    def restart(self) -> None:
        """Replace all shards by fresh ones that start from their states, through bytes."""
        for n, old in enumerate(self.shards):
            saved = from_bytes(to_bytes(old.save()))
            self.shards[n] = Shard(self.program, n)
            self.shards[n].load(saved)


def _key(value: object) -> object:
    if value is None:
        return 7
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return repr(value) if isinstance(value, list | dict) else value


def drive_shards(text: str, world: World, plan: ShardedDrive, until: int) -> list[Change]:
    """Return the whole changelog of a query on shards, up to and at `until`."""
    return drive_on(ShardSet(program_of(text, plan), plan.seed), world, plan, until)


def program_of(text: str, plan: ShardedDrive) -> Program:
    """Return the program of one query over the declared streams and relations."""
    said = "on" if plan.merge else "off"
    sets = f"SET partials = '{said}'; SET join_algorithm = '{plan.join_algorithm}'"
    sets += f"; SET early_aggregation = '{plan.early_aggregation}'; SET hold = {plan.hold}"
    sets += f"; SET expiry_pace = {plan.pace}; SET expiry = '{plan.expiry}'"
    script = f"{sets}; {_declarations(plan)}; CREATE QUERY q AS {text}"
    return Program(script, ("q",), plan.strategy, plan.shards)


def _declarations(plan: ShardedDrive) -> str:
    if plan.expect is None:
        return DECLARATIONS
    rate, keys = plan.expect
    options = f"USING parquet OPTIONS (path 'x', expect_rate '{rate}', expect_keys '{keys}')"
    return DECLARATIONS.replace("TIMESTAMP BY", f"{options} TIMESTAMP BY")


def drive_on(shards: ShardSet, world: World, plan: ShardedDrive, until: int) -> list[Change]:
    """Return the whole changelog of shards that have seen nothing yet, up to and at `until`."""
    happened = events(world)
    bounds = bounds_of(happened, plan.cuts)
    changes: list[Change] = []
    for number, (start, stop) in enumerate(pairwise(bounds)):
        batch = happened[start:stop]
        last = batch[-1][0] if batch else BEGINNING
        beats = dict.fromkeys(STREAMS, last) if plan.heartbeat and last > BEGINNING else {}
        for table in shards.batch(_inputs(shards, batch), beats):
            changes += read(table)
        if number in plan.restarts:
            shards.restart()
    for table in shards.batch({}, dict.fromkeys(STREAMS, until)):
        changes += read(table)
    while plan.pace != "off" and shards.behind:  # shards in processes do not tell
        for table in shards.batch({}, {}):
            changes += read(table)
    for table in shards.batch({}, dict.fromkeys(STREAMS, until), drain=True):
        changes += read(table)
    return changes


def _inputs(shards: ShardSet, batch: list[Event]) -> dict[int, pa.Table]:
    """Return the rows of a batch by port of level 0."""
    by_name: dict[str, list[Event]] = defaultdict(list)
    for event in batch:
        by_name[event[1]].append(event)
    made = {}
    for port in shards.layout.ports:
        if port.merges or port.entry is None or port.entry.name not in by_name:
            continue
        rows = by_name[port.entry.name]
        if WEIGHT in port.carries:
            table = relation_rows([(ts, sign, row) for ts, _, sign, row in rows])
            table = table.rename_columns([{"_sign": WEIGHT}.get(n, n) for n in table.column_names])
            table = table.set_column(0, TIME, pc.fill_null(table[TIME], BEGINNING))
        else:
            table = stream_table([row for *_, row in rows])
            table = table.append_column(TIME, table["ts"])
            table = table.append_column(SEQUENCE, pa.array(range(len(table)), pa.int64()))
        made[port.number] = table
    return made
