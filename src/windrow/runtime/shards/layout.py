"""Levels and outputs: where rows enter the shards, where they change them, and what comes out."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from windrow.core.schema import Schema
from windrow.core.time import Clock
from windrow.operators.interner import Interner
from windrow.operators.levels import levels_of, lone_stages
from windrow.operators.open import OpenPlan
from windrow.plan.labels import clock_of
from windrow.plan.nodes import Query
from windrow.runtime.shards.joining import lowered
from windrow.runtime.shards.ports import Port, Ports
from windrow.runtime.shards.program import Program


@dataclass(frozen=True, slots=True)
class Output:
    """A query's changes: `_ts`, `_sign`, then `schema`. `alone`: only the first shard has any."""

    number: int
    query: str
    level: int
    schema: Schema
    clock: Clock
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Wiring:
    """How one query's physical plan hangs on the ports: port by source, port by exchange.

    `merged`: the port of merged rows beside that of a source, if there is one.
    """

    query: Query
    physical: OpenPlan
    interner: Interner
    sources: dict[int, int]
    exchanges: dict[int, int]
    merged: dict[int, int]


@dataclass(frozen=True, slots=True)
class ProgramLayout:
    """All ports and outputs of a program.

    `merging` says of each query that could have its rows merged whether they are, and why.
    """

    ports: tuple[Port, ...]
    outputs: tuple[Output, ...]
    levels: int
    merging: dict[str, str] = field(default_factory=dict)


@lru_cache(maxsize=16)
def layout_of(program: Program) -> ProgramLayout:
    """Return the layout; the same on the driver and on every shard."""
    return wired(program)[0]


def wired(
    program: Program, interners: list[Interner] | None = None
) -> tuple[ProgramLayout, list[Wiring]]:
    """Return the layout, and each query lowered and tied to it."""
    queries = program.bound()
    choice = program.merging()
    plans = []
    for n, query in enumerate(queries):
        interner = Interner() if interners is None else interners[n]
        physical = lowered(program, query, interner, partials=n in choice.queries)
        plans.append((query, physical, interner))
    ports = Ports()
    sources = [ports.enter(query, physical) for query, physical, _ in plans]
    merged = [ports.merge(plans[n][1], entered) for n, entered in enumerate(sources)]
    exchanges = [ports.cross(query, physical) for query, physical, _ in plans]
    outputs, wirings, height = [], [], 1
    for n, (query, physical, interner) in enumerate(plans):
        levels, last = levels_of(physical), len(physical.stages) - 1
        height = max(height, *(level + 1 for level in levels))
        alone = last in lone_stages(physical)
        schema, clock = query.root.schema, clock_of(query.root)
        outputs.append(Output(n, query.name, levels[-1], schema, clock, alone))
        wirings.append(Wiring(query, physical, interner, sources[n], exchanges[n], merged[n]))
    said = {queries[n].name: text for n, text in choice.reasons.items()}
    return ProgramLayout(tuple(ports.made), tuple(outputs), height, said), wirings
