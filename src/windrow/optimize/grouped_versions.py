"""A GROUP BY over tuples that meet a NON RETROACTIVE RELATION, as a join of all its versions.

    γ [n.w]                                    inputs    n∘(first, end)  a∘v  b∘v'
      ⋈NRR [a.k = n.k]              ⇒          match     a.k = b.k = n.k,
        a ⋈ b                                            first <= max(v, v') < end

A result meets the version at its own time, the latest of its tuples' times. Tuples that are summed
up have no time in common, but a version: v, v' number the versions that each tuple meets by itself,
and the latest tuple meets the latest version. Tuples of one version that agree in all else are one
entry; a relation that never changes has one version. Versions stand before what meets them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from windrow.core.time import FOREVER
from windrow.core.types import BOOLEAN
from windrow.optimize.flatten_joins import inputs_joined, joins
from windrow.plan.expressions import Call, Expr, conjunction, conjuncts
from windrow.plan.nodes import (
    Exchange,
    Filter,
    Join,
    JoinOn,
    NrrJoin,
    Plan,
    Project,
    Stamped,
    UnionAll,
    Versions,
    Window,
    as_column,
    inputs_of,
    nodes_of,
)
from windrow.plan.windows import Range, Since, Unbounded


def joined_versions(plan: NrrJoin, slide: int | None = None) -> Join | None:
    """Return a join of what meets relations and their versions; None where it cannot be.

    It can where every tuple carries `exp`: in time windows, unbounded ones, and
    what is joined, filtered or united of these. `slide`: the SLIDE by which inputs are refreshed.

    >>> from windrow.optimize.showing import bound
    >>> text = "SELECT COUNT(*) FROM bids [{}], taxes WHERE bids.sku = taxes.sku"
    >>> met = (bound(text.format(w)).root.source.source for w in ("NOW", "ROWS 5"))
    >>> [plan is not None for plan in map(joined_versions, met)]
    [True, False]
    """
    leaves = _leaves(plan)
    if not all(map(says_when_it_leaves, leaves)) or not all(leaf.schema.names for leaf in leaves):
        return None
    made = _joined(plan, _versions(plan, _life(leaves, slide)))
    assert isinstance(made, Join), "whatever meets a relation is joined with its versions"
    return made


def _leaves(plan: Plan) -> list[Plan]:
    """Return the inputs that meet the relations: below a join, relations are met by themselves."""
    while joins(plan, NrrJoin):
        plan = plan.left if isinstance(plan, NrrJoin) else inputs_of(plan)[0]
    return inputs_joined(plan)


def says_when_it_leaves(plan: Plan) -> bool:
    """Return whether every tuple carries `exp`."""
    match plan:
        case Window(spec=spec):
            return isinstance(spec, Range | Unbounded | Since)
        case NrrJoin(left=left):
            return says_when_it_leaves(left)
        case Filter() | Project() | Join() | UnionAll() | Exchange():
            return all(map(says_when_it_leaves, inputs_of(plan)))
        case _:
            return False


def _life(leaves: list[Plan], slide: int | None) -> int:
    """Return how long after its deletion departures may still meet a row of a relation.

    No longer than the shortest-lived tuple of a result lives: all of them came before. Results that
    never expire keep their groups, and so the rows whose columns these are of.
    """
    return min(FOREVER, min(map(_longest, leaves)) + (slide or 0))


def _longest(plan: Plan) -> int:
    """Return how long a tuple lives at most."""
    match plan:
        case Window(spec=Range(width)):
            return width
        case NrrJoin(left=left):
            return _longest(left)
        case Join(left=left, right=right):
            return min(_longest(left), _longest(right))
        case Filter() | Project() | UnionAll() | Exchange():
            return max(map(_longest, inputs_of(plan)))
        case _:
            return FOREVER


def _versions(plan: Plan, life: int) -> list[Versions]:
    """Return the versions of each relation that is met, the last to be met first."""
    if not joins(plan, NrrJoin):
        return []
    if isinstance(plan, NrrJoin):
        return [Versions(plan.table, life), *_versions(plan.left, life)]
    return _versions(inputs_of(plan)[0], life)


def _joined(plan: Plan, versions: list[Versions]) -> Plan:
    """Return what meets relations, joined with their versions."""
    match plan:
        case NrrJoin(left=left, table=table, on=on):
            own = next(v for v in versions if v.source == table)
            below = _joined(left, versions)
            there = conjunction((*conjuncts(on.residual), *_meet(below, own)))
            return Join(own, below, JoinOn(on.right_keys, on.left_keys, residual=there))
        case Filter(source=source, predicate=predicate) if joins(plan, NrrJoin):
            return Filter(_joined(source, versions), predicate)
        case Project(source=source) if joins(plan, NrrJoin):  # names are left, and all are kept
            return _joined(source, versions)
        case _:
            return _stamped(plan, versions)


def _stamped(plan: Plan, versions: list[Versions]) -> Plan:
    """Return a tree of joins whose inputs know the versions that their tuples meet."""
    match plan:
        case Join(left=left, right=right, on=on):
            return Join(_stamped(left, versions), _stamped(right, versions), on)
        case Filter(source=source, predicate=predicate) if joins(plan):
            return Filter(_stamped(source, versions), predicate)
        case Project(source=source) if joins(plan):
            return _stamped(source, versions)
        case _:
            return reduce(Stamped, versions, plan)


def _meet(plan: Plan, versions: Versions) -> Iterator[Expr]:
    """Yield when results of a plan meet a row: first <= max(v, v' ...) < end."""
    stamps = [n for n in nodes_of(plan) if isinstance(n, Stamped) and n.versions == versions]
    first, end = as_column(versions.first), as_column(versions.end)
    met = [as_column(stamp.met) for stamp in stamps]
    begun = [Call("le", (first, v), BOOLEAN, nullable=False) for v in met]
    yield reduce(lambda a, b: Call("or", (a, b), BOOLEAN, nullable=False), begun)
    yield from (Call("gt", (end, v), BOOLEAN, nullable=False) for v in met)
