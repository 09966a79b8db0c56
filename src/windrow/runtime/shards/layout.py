"""Levels and outputs: where rows enter the shards, where they change them, and what comes out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from windrow.core.schema import Schema
from windrow.core.time import Clock
from windrow.operators.interner import Interner
from windrow.operators.levels import levels_of, lone_stages
from windrow.operators.open import OpenPlan, open_plan
from windrow.plan.labels import clock_of
from windrow.plan.nodes import Query
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
    """All ports and outputs of a program."""

    ports: tuple[Port, ...]
    outputs: tuple[Output, ...]
    levels: int


@dataclass(frozen=True, slots=True)
class Tied:
    """All ports of a program, and by query those of its sources, exchanges and merged inputs."""

    layout: ProgramLayout
    sources: list[dict[int, int]]
    exchanges: list[dict[int, int]]
    merged: list[dict[int, int]]


def layout_of(program: Program) -> ProgramLayout:
    """Return the layout; the same on the driver and on every shard."""
    return _tied(program).layout


@lru_cache(maxsize=16)
def _tied(program: Program) -> Tied:
    """Tie the plans of a program to ports."""
    queries, plans = program.bound(), program.physical()
    both, ports = list(zip(queries, plans, strict=True)), Ports()
    sources = [ports.enter(query, plan) for query, plan in both]
    merged = [ports.merge(plan, at) for plan, at in zip(plans, sources, strict=True)]
    exchanges = [ports.cross(query, plan) for query, plan in both]
    outputs, height = [], 1
    for n, (query, plan) in enumerate(both):
        levels, last = levels_of(plan), len(plan.nodes) - 1
        height = max(height, *(level + 1 for level in levels))
        alone = last in lone_stages(plan)
        schema, clock = query.root.schema, clock_of(query.root)
        outputs.append(Output(n, query.name, levels[-1], schema, clock, alone))
    layout = ProgramLayout(tuple(ports.made), tuple(outputs), height)
    return Tied(layout, sources, exchanges, merged)


def wired(
    program: Program, interners: list[Interner] | None = None
) -> tuple[ProgramLayout, list[Wiring]]:
    """Return the layout, and each query opened and tied to it."""
    tied, wirings = _tied(program), []
    for n, (query, plan) in enumerate(zip(program.bound(), program.physical(), strict=True)):
        interner = Interner() if interners is None else interners[n]
        at = dict(tied.sources[n]), dict(tied.exchanges[n]), dict(tied.merged[n])
        wirings.append(Wiring(query, open_plan(plan, interner), interner, *at))
    return tied.layout, wirings
