"""What an aggregation join costs windrow a unit of time, for each placement of early aggregation.

The paper's formulas, which `aggregation_costs.py` has, say what its prototype does for one tuple.
windrow's operators do something else, so the choice goes by what these do:

    late    a join whose results live in a GROUP BY until they end
            tuples · enter  +  results · (pair + combine + calls)
    early   entries that changes meet, coming and going
            changes · (change + partial · early calls)  +  looks in vain · look
            +  contributions · (contribute + combine + late and early calls)
    both    groups whose row is another at an instant · show
    moved   results of a late plan, or else changes of groups, where they must change shards

An input that is aggregated early has `entries` where it else has its rows: a change of another
input meets that many fewer. Costs are nanoseconds a unit of time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from math import exp, log2, prod

from windrow.optimize.early_grouping import Placement
from windrow.optimize.join_algorithms import ALIKE, ARRIVE, PAIR, by_one_key, many_cost, tree_cost
from windrow.optimize.join_graph import GraphInput, JoinGraph, Order, results, walked
from windrow.optimize.join_orders import best_orders

Work = dict[str, float]
"""How often each step is done a unit of time, by the name of its constant."""

NEAR = 1_000
"""Groups whose values are in a cache."""


@dataclass(frozen=True, slots=True)
class EarlyConstants:
    """Nanoseconds of the engine's steps, as `windrow calibrate` measures them.

    The defaults were measured over batches of some thousand tuples, so that a tuple has its share
    of what a step costs; only their proportions matter.
    """

    enter: float = 530.0  # a tuple that enters a join, and its end
    pair: float = 26.0  # a result of a join, held by a GROUP BY until it ends
    pair_combine: float = 26.0  # the same, where the group has keys of several inputs
    pair_call: float = 13.0  # a call over such a result, as it comes and as it goes
    change: float = 545.0  # a tuple that comes to or goes from an aggregation join
    partial: float = 1.5  # an early call over such a tuple
    look: float = 13.5  # an entry that a loop looks at and that is not met, or a lookup
    contribute: float = 6.0  # what a change and entries that it meets do to a group
    combine: float = 29.0  # the same, where the group has keys of several inputs
    call_late: float = 17.0  # a late call over a contribution
    call_early: float = 4.0  # an early call over a contribution
    show: float = 45.0  # a group whose row is another at an instant: two rows are emitted
    show_far: float = 21.0  # the same, as often as a thousand groups double: caches are small

    def __post_init__(self) -> None:
        for f in fields(self):
            assert getattr(self, f.name) > 0, f"{f.name} takes some time"


DEFAULTS = EarlyConstants()


@dataclass(frozen=True, slots=True)
class EarlyInput:
    """An input of an aggregation join.

    `entries`: distinct rows in the columns of rule 1, which it has if it is aggregated early.
    `groups`: distinct values of its grouping columns; 1 if it has none. `calls`: how many calls an
    early aggregation of it folds. `not_early`: why it cannot be aggregated early; "" if it can.
    """

    name: str
    entries: float
    groups: float = 1.0
    calls: int = 0
    not_early: str = ""

    def __post_init__(self) -> None:
        assert self.entries >= 0, "entries are a count"
        assert self.groups >= 0, "groups are a count"


@dataclass(frozen=True, slots=True)
class Moved:
    """Rows change shards before they are grouped: nanoseconds a row, and among how many shards.

    Those of a late plan are the join's results. Where inputs are aggregated early, each shard emits
    what an instant adds to its groups.
    """

    row: float
    shards: int


@dataclass(frozen=True, slots=True)
class EarlyFacts:
    """What is known of an aggregation join.

    `graph` has of each input its rate, rows alive and distinct values in each class of equal
    columns, and which share of pairs other conditions let through. `calls`: all calls but COUNT(*),
    early or late. `instants`: how many a unit of time have changes; None: each change has its own.
    `moved`: what it takes to bring groups together on shards, where that differs by placement.
    """

    graph: JoinGraph
    inputs: tuple[EarlyInput, ...]
    calls: int = 1
    instants: float | None = None
    orders: tuple[Order, ...] = field(default=())
    moved: Moved | None = None

    def __post_init__(self) -> None:
        assert len(self.graph) == len(self.inputs), "the graph has the same inputs"
        assert sum(i.calls for i in self.inputs) <= self.calls, "early calls are calls"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the inputs."""
        return tuple(i.name for i in self.inputs)

    @property
    def groups(self) -> float:
        """Return how many groups there may be: combinations of the inputs' own, with results."""
        pairs = zip(self.inputs, self.graph.inputs, strict=True)
        own = prod(min(i.groups, max(1.0, g.size)) for i, g in pairs)
        return max(1.0, min(own, results(self.graph, range(len(self.graph)))))

    @property
    def several(self) -> bool:
        """Return whether groups have keys of several inputs, whose combinations must be found."""
        return sum(i.groups > 1 for i in self.inputs) > 1

    def loops(self) -> tuple[Order, ...]:
        """Return the order of loops for changes of each input."""
        return self.orders or best_orders(self.graph)


def two_inputs(
    first: tuple[EarlyInput, float, float],
    second: tuple[EarlyInput, float, float],
    share: float,
    calls: int = 1,
) -> EarlyFacts:
    """Return the facts of two inputs, each with its rate and its rows; `share` of pairs match."""
    values = 1 / share
    graph = JoinGraph(tuple(GraphInput(rate, rows, (values,)) for _, rate, rows in (first, second)))
    return EarlyFacts(graph, (first[0], second[0]), calls)


def cost(facts: EarlyFacts, placement: Placement, constants: EarlyConstants = DEFAULTS) -> float:
    """Return the cost of a placement; of no early aggregation, that of a join and a GROUP BY."""
    return nanoseconds(work(facts, placement), constants)


def nanoseconds(done: Work, constants: EarlyConstants) -> float:
    """Return the time of steps, given how often each is done."""
    return sum(float(getattr(constants, name)) * count for name, count in done.items())


def work(facts: EarlyFacts, placement: Placement) -> Work:
    """Return how often each step is done."""
    return {**joining(facts, placement), **emitting(facts)}


def joining(facts: EarlyFacts, placement: Placement) -> Work:
    """Return what a placement has to do to know its groups."""
    return early_work(facts, placement) if any(placement) else late_work(facts)


def emitting(facts: EarlyFacts) -> Work:
    """Return the work of emitting groups' rows, whatever the placement."""
    shown_rows = shown(facts)
    return {"show": shown_rows, "show_far": shown_rows * log2(1 + facts.groups / NEAR)}


def late_work(facts: EarlyFacts) -> Work:
    """Return the work of joining by the cheaper algorithm, then grouping the results."""
    graph = facts.graph
    born = sum(i.rate * met(graph, n) for n, i in enumerate(graph.inputs))
    tuples = sum(i.rate for i in graph.inputs)
    return {
        "enter": tuples + _between(facts, born) / ARRIVE,
        "pair": born,
        "pair_combine": born if facts.several else 0.0,
        "pair_call": born * facts.calls,
    }


def _between(facts: EarlyFacts, born: float) -> float:
    """Return what a join of more than two costs besides its tuples and its results."""
    graph = facts.graph
    if by_one_key(graph):
        return 0.0
    tree, many = tree_cost(graph), many_cost(graph, facts.loops())
    taken = tree if ALIKE * tree < many else many
    entered = ARRIVE * sum(i.rate for i in graph.inputs)
    return max(0.0, taken - PAIR * born - entered)


def early_work(facts: EarlyFacts, placement: Placement) -> Work:
    """Return the work of an aggregation join."""
    graph = stored_graph(facts, placement)
    early = sum(i.calls for i, taken in zip(facts.inputs, placement, strict=True) if taken)
    done = dict.fromkeys(("change", "partial", "look", "contribute"), 0.0)
    for n, given in enumerate(facts.inputs):
        changes = 2 * graph.inputs[n].rate
        done["change"] += changes
        done["partial"] += changes * given.calls if placement[n] else 0.0
        done["look"] += changes * _looks(facts, graph, n)
        done["contribute"] += changes * met(graph, n)
    done["combine"] = done["contribute"] if facts.several else 0.0
    done["call_early"] = done["contribute"] * early
    done["call_late"] = done["contribute"] * (facts.calls - early)
    return done


def stored_graph(facts: EarlyFacts, placement: Placement) -> JoinGraph:
    """Return the graph over what each input is stored as: entries, or rows."""
    inputs = [
        replace(g, size=min(g.size, i.entries)) if taken else g
        for i, g, taken in zip(facts.inputs, facts.graph.inputs, placement, strict=True)
    ]
    return replace(facts.graph, inputs=tuple(inputs))


def met(graph: JoinGraph, origin: int) -> float:
    """Return how many combinations of the other inputs a tuple of one input matches."""
    inputs = list(graph.inputs)
    inputs[origin] = replace(inputs[origin], size=1.0)
    return results(replace(graph, inputs=tuple(inputs)), range(len(graph)))


def _looks(facts: EarlyFacts, graph: JoinGraph, origin: int) -> float:
    """Return what a change looks at in vain or on the way; by one key, nothing."""
    if by_one_key(graph):
        return 0.0
    return max(0.0, walked(graph, facts.loops()[origin], origin) - met(graph, origin))


def shown(facts: EarlyFacts) -> float:
    """Return how many groups have another row after an instant, a unit of time.

    A change of an input knows its own part of the group; results fall on the rest evenly.
    """
    groups, changes, touched = facts.groups, 0.0, 0.0
    for n, (given, rows) in enumerate(zip(facts.inputs, facts.graph.inputs, strict=True)):
        others = max(1.0, groups / max(1.0, min(given.groups, max(1.0, rows.size))))
        one = others * (1 - exp(-met(facts.graph, n) / others))
        changes += 2 * rows.rate
        touched += 2 * rows.rate * one
    instants = changes if facts.instants is None else min(facts.instants, changes)
    if instants <= 0:
        return 0.0
    untouched = max(0.0, 1 - touched / changes / groups)
    return instants * groups * (1 - float(untouched ** (changes / instants)))


def moving(facts: EarlyFacts, placement: Placement) -> float:
    """Return what it takes to move rows to their groups, in nanoseconds a unit of time."""
    if facts.moved is None:
        return 0.0
    rows = late_work(facts)["pair"]
    if any(placement):
        rows = min(facts.moved.shards * shown(facts), shown(replace(facts, instants=None)))
    return facts.moved.row * rows


def contributions(done: Work) -> float:
    """Return the contributions a unit of time; of a late plan, twice its results."""
    return done["contribute"] if "contribute" in done else 2 * done["pair"]
