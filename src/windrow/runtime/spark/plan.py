"""How a program lies on Spark: the wide rows of its exchanges, and which input feeds which ports.

Pure: the driver and every worker compute the same from the program.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.core.time import Clock
from windrow.plan.catalog import Relation, Stream
from windrow.plan.nodes import Route
from windrow.runtime.shards.client import Shards
from windrow.runtime.shards.layout import ProgramLayout, layout_of
from windrow.runtime.shards.ports import EXPIRY, WEIGHT, Port
from windrow.runtime.shards.program import Program
from windrow.runtime.spark import slots
from windrow.runtime.spark.worker import AtTheRim, Gate, Work


@dataclass(frozen=True, slots=True)
class SparkPlan:
    """The rows of each exchange.

    `entries` are the inputs in order, `entered` the row in which they cross, `merged` the same with
    places for merged tuples; `forwarded` the rows of higher levels; `answered` that of all changes.
    """

    shards: int
    layout: ProgramLayout
    entries: tuple[Stream | Relation, ...]
    entered: slots.Wide
    merged: slots.Wide
    forwarded: dict[int, slots.Wide]
    answered: slots.Wide

    def row_after(self, level: int) -> slots.Wide:
        """The row in which a level's rows leave it: to the next, or after the last as changes."""
        return self.answered if level == self.layout.levels - 1 else self.forwarded[level + 1]

    @property
    def merges(self) -> bool:
        """Return whether tuples of any input may be merged before they cross."""
        return any(port.merges is not None for port in self.layout.ports)

    def work(self, shards: Shards, *, merging: bool = False, rim: AtTheRim | None = None) -> Work:
        """Return what workers have to know. `merging`: tuples are merged before they cross."""
        streams = {n: e for n, e in enumerate(self.entries) if isinstance(e, Stream)}
        return Work(
            shards,
            self.layout.levels,
            {p.number: self._gate(p) for p in self.layout.ports},
            {o.number: o.schema for o in self.layout.outputs},
            self.merged if merging else self.entered,
            self.forwarded,
            self.answered,
            {slots.silent_port(n): stream.name for n, stream in streams.items()},
            {e.name: _time_of(e) for e in self.entries},
            self.walled,
            rim,
        )

    @property
    def walled(self) -> bool:
        """Whether clocks depend on the batch's own time."""
        streams = [e for e in self.entries if isinstance(e, Stream)]
        return any(s.idle is not None or s.heartbeat is not None for s in streams)

    def _gate(self, port: Port) -> Gate:
        """Return a port as workers see it."""
        ordered = (slots.SEQUENCE,) if port.ordered and port.level == 0 else ()
        head = (slots.TIME, *port.carries, *ordered)
        return Gate(port.number, head, port.schema, port.route is Route.ALL)

    def ports_of(self, entry: Stream | Relation) -> tuple[Port, ...]:
        """Return the ports of level 0 that an input's tuples go to as they are."""
        level = (p for p in self.layout.ports if p.level == 0 and p.merges is None)
        return tuple(p for p in level if p.entry == entry)


def _time_of(entry: Stream | Relation) -> tuple[str, bool]:
    """Return the column of an input's times, and whether they are moments."""
    if isinstance(entry, Relation):
        return slots.TIME, False
    return entry.time_column, entry.clock is Clock.TIMESTAMP


def plan_of(program: Program) -> SparkPlan:
    """Return where everything lies."""
    layout = layout_of(program)
    entries = tuple(dict.fromkeys(p.entry for p in layout.ports if p.entry is not None))
    plain = [p for p in layout.ports if p.merges is None]
    levels = {n: [p for p in plain if p.level == n] for n in range(layout.levels)}
    entered = _row(levels[0], text=True)
    merged = {p.number: p.schema for p in layout.ports if p.merges is not None}
    carried = ((slots.FIRST, "BIGINT"), (slots.TUPLES, "BIGINT")) if merged else ()
    which = ((slots.OUTPUT, "INT"),) if len(layout.outputs) > 1 else ()
    changes = (*which, (slots.TIME, "BIGINT"), (slots.SIGN, "TINYINT"))
    answers = {o.number: o.schema for o in layout.outputs}
    return SparkPlan(
        program.shards,
        layout,
        entries,
        entered,
        slots.extended(entered, carried, merged),
        {n: _row(levels[n]) for n in range(1, layout.levels)},
        slots.without_nulls(slots.wide_row(changes, answers), answers),
    )


def _row(ports: list[Port], *, text: bool = False) -> slots.Wide:
    carried = {name for port in ports for name in port.carries}
    head = [(slots.SHARD, "INT"), (slots.PORT, "INT"), (slots.TIME, "BIGINT")]
    head += [(name, "BIGINT") for name in (EXPIRY, WEIGHT) if name in carried]
    if any(port.ordered and port.level == 0 for port in ports):
        head.append((slots.SEQUENCE, "BIGINT"))
    return slots.wide_row(head, {p.number: p.schema for p in ports}, text=text)
