"""From a logical plan to tasks: which implementation and which state structure each node gets.

    strategy    windows emit            edges                             state
    negative    births and deaths       all signed                        hash by row
    direct      births                  predicted below strict operators  plain lists, scanned
    upa, auto   births                  predicted below strict operators  by the edge's pattern

Above a negation by keys, `upa` and `auto` may use a mixed edge (`delta.py`): `upa` where early
departures are expected to be rare, `auto` where that costs less (`optimize/choose_form.py`).

Two things happen on the way down: columns that nobody reads are dropped, and SLIDE moves to the
windows (relational operators are pointwise in time, so a refreshed answer is the answer over
refreshed windows). How each kind of node is lowered: `lowering/`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from windrow.operators.dataflow import Dataflow, Stage
from windrow.operators.delta import Delta
from windrow.operators.expire import ExpireTask
from windrow.operators.interner import Interner
from windrow.operators.join import FifoJoin, HashJoin, MixedAntiJoinTask
from windrow.operators.join.multi.task import MultiJoin
from windrow.operators.join.wjoin import WJoin
from windrow.operators.lowering.builder import Builder, Crossing, Wanted
from windrow.operators.lowering.relational import lower_relation
from windrow.operators.lowering.streams import lower_stream
from windrow.operators.rowwise import FilterTask, ProjectTask
from windrow.operators.source import Source
from windrow.operators.vector import I64
from windrow.operators.window import SinceWindow, UnboundedWindow
from windrow.optimize.place_exchanges import place_exchanges
from windrow.optimize.place_negation import Placement, place_negations
from windrow.optimize.preaggregate_panes import Partials, preaggregate_panes
from windrow.optimize.rules import MOVES, RULES, apply_rules
from windrow.optimize.statistics import UNKNOWN, Statistics
from windrow.plan.nodes import Query, is_stream


@dataclass(frozen=True, slots=True)
class Physical:
    """A lowered query: its stages, and which of them are inputs.

    `netted`: the root's changes of an instant are net already. `shown`: a stage that knows the
    rows it has shown, and those without memory above it up to the root; none if there is none.
    On shards, `entries` says whom an input's rows go to, and `exchanges` are stages whose changes
    come from the same stage's input on all shards; `partials` are inputs whose rows may be merged.
    """

    stages: list[Stage]
    sources: dict[int, Source]
    netted: bool
    shown: tuple[int, ...]
    entries: dict[int, Crossing] = field(default_factory=dict)
    exchanges: dict[int, Crossing] = field(default_factory=dict)
    partials: dict[int, Partials] = field(default_factory=dict)

    @property
    def signature(self) -> str:
        """What a saved state must agree with to be taken over."""
        return "\n".join(f"{s.label}|{s.form}|{s.schema.names}|{s.inputs}" for s in self.stages)

    def live_codes(self, flow: Dataflow) -> list[I64]:
        """Return the interned codes that any state refers to."""
        return [c for s in flow.stages if s.task is not None for c in s.task.live_codes()]


def lower(
    query: Query,
    strategy: str,
    interner: Interner,
    *,
    statistics: Statistics = UNKNOWN,
    sharded: bool = False,
    partials: bool = False,
) -> Physical:
    """Return the physical plan of a query; its root is a signed edge, or a stream.

    Where `auto` chooses by cost, it does so by the statistics, and by defaults where these are
    silent. A saved state fits only the plan that it was made by, so a query that is resumed is
    lowered with the statistics of its first start. With `partials`, inputs of aggregates under
    SLIDE are partial aggregates where they can be (`optimize/preaggregate_panes.py`).
    """
    root = query.root
    placed: tuple[Placement, ...] = ()
    if strategy == "auto":  # before columns are pruned: a projection would part ▷ from ⋈
        root, placed = place_negations(apply_rules(root, MOVES), statistics)
    root = apply_rules(root, RULES)
    root, found = preaggregate_panes(root) if partials else (root, ())
    if sharded:
        root = place_exchanges(root)
    builder = Builder(
        strategy,
        interner,
        root,
        statistics=statistics,
        placed=placed,
        merging=found,
        algorithm=query.join_algorithm,
    )
    wanted = Wanted(frozenset(root.schema.names))
    if is_stream(root):
        edge = lower_stream(builder, root, wanted)
    else:
        edge = builder.signed(lower_relation(builder, root, wanted))
    edge = builder.finish(edge, root.schema)
    stages = builder.stages
    return Physical(
        stages,
        builder.sources,
        netted=edge.netted is not None and not found,  # equal means of other parts are no change
        shown=_shown(stages),
        entries=builder.entries,
        exchanges=builder.exchanges,
        partials=builder.partials,
    )


def _shown(stages: list[Stage]) -> tuple[int, ...]:
    """Return the stages, lowest first, from which the current answer can be had."""
    chain: list[int] = []
    at = len(stages) - 1
    while isinstance(stages[at].task, FilterTask | ProjectTask):
        chain.append(at)
        (at,) = stages[at].inputs
    task = stages[at].task
    if not isinstance(task, Showing) or (isinstance(task, ExpireTask) and _endless(stages, at)):
        return ()
    return (at, *reversed(chain))


def _endless(stages: list[Stage], at: int) -> bool:
    """Tell whether some rows of an edge may never end: an expirer hands those on, and forgets."""
    stage = stages[at]
    match stage.task:
        case UnboundedWindow() | SinceWindow():
            return True
        case HashJoin() | FifoJoin() | MultiJoin() | WJoin():
            # a result ends with the first of its rows
            return all(_endless(stages, i) for i in stage.inputs)
        case MixedAntiJoinTask():
            return _endless(stages, stage.inputs[0])
        case _:
            return any(_endless(stages, i) for i in stage.inputs)


@runtime_checkable
class Showing(Protocol):
    """A task that knows which rows it has shown and not taken back."""

    def current(self) -> Delta:
        """Return those rows."""
