"""Where rows must be brought together before a node can work on a part of them.

On several shards each node sees only some rows. A filter does not mind; a join needs the rows with
equal keys in one place, GROUP BY the rows of a group, a count window all rows. From the root down,
each node says what it *needs* of an input, and the input answers with how its rows are *spread*;
where the answer does not meet the need, an `Exchange` stands between.

    γ[src] ── needs rows with equal src together
      ✂ Exchange by src                            a second level: its own exchange on Spark
      ⋈ [a.k = b.k] ── needs both inputs by k, in the same way
        Exchange by k ── A          Exchange by k ── B        the first level, at the sources

A need is met by less: rows that lie together by src alone also lie together by (src, dst).
Relations that are joined are copied to every shard, so they never ask for an exchange.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from windrow.optimize.catalyst import translatable
from windrow.optimize.rewriting import names_of, reads_relation
from windrow.plan.expressions import Column, Expr, columns_of, plain, substitute
from windrow.plan.nodes import (
    Aggregate,
    AntiJoin,
    Delay,
    Distinct,
    Dstream,
    Except,
    Exchange,
    Filter,
    Hold,
    Intersect,
    Istream,
    Join,
    Named,
    NrrJoin,
    Numbered,
    OuterJoin,
    Plan,
    Produced,
    Project,
    RecentAnswers,
    Refresh,
    Route,
    Rstream,
    Scan,
    SemiJoin,
    SlideInstants,
    Table,
    TopN,
    UnionAll,
    Window,
    as_column,
)
from windrow.plan.rebuilding import with_inputs
from windrow.plan.windows import PartitionRows, Rows


class Together(Enum):
    """How rows must lie, or do lie."""

    ANYWHERE = "anywhere"
    WITHIN = "by some of these keys"  # a need only
    EXACTLY = "by these keys in this order"
    ONE = "all on one shard"


@dataclass(frozen=True, slots=True)
class Need:
    """What a node asks of an input's rows."""

    how: Together
    keys: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Distribution:
    """How a node's rows lie. Of each key: all expressions over its columns that have its value."""

    how: Together
    keys: tuple[frozenset[Expr], ...] = ()

    def meets(self, need: Need) -> bool:
        """Return whether rows that lie like this may be used by a node with that need."""
        match need.how:
            case Together.ANYWHERE:
                return True
            case Together.ONE:
                return self.how is Together.ONE
            case Together.WITHIN:
                wanted = {plain(k) for k in need.keys}
                return self.how is Together.ONE or (
                    self.how is Together.EXACTLY and all(wanted & k for k in self.keys)
                )
            case Together.EXACTLY:
                return (
                    self.how is Together.EXACTLY
                    and len(self.keys) == len(need.keys)
                    and all(plain(n) in k for n, k in zip(need.keys, self.keys, strict=True))
                )


ANYWHERE = Need(Together.ANYWHERE)
ONE = Need(Together.ONE)
SCATTERED = Distribution(Together.ANYWHERE)
GATHERED = Distribution(Together.ONE)

Placed = tuple[Plan, Distribution]


def place_exchanges(root: Plan) -> Plan:
    """Return the plan with an exchange above every source, and wherever rows must meet anew."""
    return supply(root, ANYWHERE)[0]


def supply(plan: Plan, need: Need) -> Placed:
    """Return the plan with its rows lying as needed, under an exchange if nothing else helps."""
    if is_leaf(plan):
        return _entered(plan, need)
    placed, spread = place(plan, need)
    return (placed, spread) if spread.meets(need) else exchanged(placed, need)


def exchanged(plan: Plan, need: Need) -> Placed:
    """Return the plan under an exchange that meets the need."""
    if need.how is Together.ONE or not need.keys:
        return Exchange(plan, Route.ONE), GATHERED
    keys = tuple(frozenset({plain(k)}) for k in need.keys)
    return Exchange(plan, Route.KEY, need.keys), Distribution(Together.EXACTLY, keys)


def _entered(leaf: Plan, need: Need) -> Placed:
    """Return a source under its first exchange, which Spark does before any row reaches us.

    A key that Spark might compute otherwise is left to the shards: a second exchange goes by it.
    """
    if need.how is Together.ANYWHERE:
        every = Need(Together.EXACTLY, tuple(as_column(f) for f in leaf.schema))
        return exchanged(leaf, every)
    if all(map(translatable, at_source(leaf, need.keys))):
        return exchanged(leaf, need)
    return exchanged(_entered(leaf, ANYWHERE)[0], need)


def at_source(leaf: Plan, keys: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Return expressions over a leaf's columns as such over those of its stream or relation."""
    match leaf:
        case Project(source=source, columns=columns):
            return at_source(source, tuple(_below(columns_by_name(columns), k) for k in keys))
        case Filter(source=source):
            return at_source(source, keys)
        case _:
            return keys


def is_leaf(plan: Plan) -> bool:
    """Return whether the node is a relation, or a declared stream, filtered and projected."""
    match plan:
        case Scan() | Table():
            return True
        case Filter(source=source) | Project(source=source):
            return not isinstance(source, Table) and is_leaf(source)
        case _:
            return False


def place(plan: Plan, need: Need) -> Placed:
    """Return the plan over inputs that lie as it needs them, and how its own rows lie.

    The need from above decides among ways that are equally good here; it may remain unmet.
    """
    match plan:
        case Filter(source=source) | Delay(source=source) | Produced(source=source):
            return _over(plan, supply(source, need))
        case Numbered(source=source):
            return _over(plan, supply(source, need if _reads_only(need, source) else ANYWHERE))
        case SlideInstants(source=source):
            return _over(plan, supply(source, ONE))
        case Project():
            return _project(plan, need)
        case Window():
            return _window(plan, need)
        case Refresh(source=source, restore=False):
            return _over(plan, supply(source, need))
        case Istream(source=source) | Dstream(source=source) | Refresh(source=source):
            return _over(plan, supply(source, _by_row(plan, need)))
        case Rstream(source=refresh) | RecentAnswers(source=refresh):
            return _over(plan, place(refresh, need))
        case Join() | SemiJoin() | AntiJoin() | OuterJoin():
            return _join(plan, need)
        case NrrJoin(left=left, table=table):
            below, spread = supply(left, need if _reads_only(need, left) else ANYWHERE)
            return with_inputs(plan, (below, table)), spread
        case UnionAll():
            return _union(plan, need)
        case Except() | Intersect():
            return _set_operation(plan, need)
        case Distinct(source=source) | Hold(source=source):
            return _over(plan, supply(source, _by_row(plan, need)))
        case Aggregate():
            return _aggregate(plan)
        case TopN(source=source):
            return _over(plan, supply(source, ONE))
        case _:
            msg = f"{type(plan).__name__} is entered, not placed"
            raise AssertionError(msg)


def _over(plan: Plan, placed: Placed) -> Placed:
    """Return the node over its one input; its rows lie as the input's."""
    return with_inputs(plan, (placed[0],)), placed[1]


def _by_row(plan: Plan, need: Need) -> Need:
    """Return the need of a node that must see all copies of a row: any key of the row will do."""
    if need.how is Together.ANYWHERE:
        return Need(Together.WITHIN, tuple(as_column(f) for f in plan.schema))
    return need


def _reads_only(need: Need, plan: Plan) -> bool:
    return all(columns_of(k) <= names_of(plan) for k in need.keys)


# -- nodes that rename, and windows ------------------------------------------------------------


def columns_by_name(columns: tuple[Named, ...]) -> dict[str, Expr]:
    """Return what each column of a projection stands for."""
    return {c.name: c.expr for c in columns}


def _below(columns: Mapping[str, Expr], expr: Expr) -> Expr:
    return substitute(expr, lambda c: columns[c.name])


def _project(plan: Project, need: Need) -> Placed:
    columns = columns_by_name(plan.columns)
    wish = replace(need, keys=tuple(_below(columns, k) for k in need.keys))
    below, spread = supply(plan.source, wish)
    made = {c.name: plain(c.expr) for c in plan.columns}
    named = {f.name: plain(as_column(f)) for f in plan.schema}
    return replace(plan, source=below), _renamed(spread, made, named, need)


def _renamed(
    spread: Distribution, made: dict[str, Expr], named: dict[str, Expr], need: Need | None = None
) -> Distribution:
    """Return a spread as seen through a projection; keys that cannot be seen are lost."""
    keys = [
        frozenset(named[name] for name, expr in made.items() if expr in key) for key in spread.keys
    ]
    asked = () if need is None or need.how is not Together.EXACTLY else need.keys
    if len(asked) == len(keys):  # what was asked for and met need not be a column
        below = [plain(substitute(k, lambda c: made[c.name])) for k in asked]
        keys = [
            seen | {plain(k)} if b in key else seen
            for seen, k, b, key in zip(keys, asked, below, spread.keys, strict=True)
        ]
    if not all(keys):
        return SCATTERED
    return replace(spread, keys=tuple(keys))


def _window(plan: Window, need: Need) -> Placed:
    match plan.spec:
        case Rows():
            return _over(plan, supply(plan.source, ONE))
        case PartitionRows(keys=names):
            keys = tuple(as_column(plan.source.schema[n]) for n in names)
            wish = Need(Together.WITHIN, keys)
            if need.how is Together.EXACTLY and {plain(k) for k in need.keys} <= set(
                map(plain, keys)
            ):
                wish = need
            return _over(plan, supply(plan.source, wish))
        case _:
            return _over(
                plan, supply(plan.source, need if _reads_only(need, plan.source) else ANYWHERE)
            )


# -- nodes that bring rows together ------------------------------------------------------------


def _aggregate(plan: Aggregate) -> Placed:
    if not plan.keys:
        return _over(plan, supply(plan.source, ONE))
    wish = Need(Together.WITHIN, tuple(k.expr for k in plan.keys))
    below, spread = supply(plan.source, wish)
    made = {k.name: plain(k.expr) for k in plan.keys}
    named = {k.name: plain(as_column(k.field)) for k in plan.keys}
    return replace(plan, source=below), _renamed(spread, made, named)


Joining = Join | SemiJoin | AntiJoin | OuterJoin


def _join(plan: Joining, need: Need) -> Placed:
    """A relation is copied to all shards, unless its own rows stay without a partner."""
    full = isinstance(plan, OuterJoin) and plan.full
    if reads_relation(plan.right) and not full:
        return _copied(plan, need, right=True)
    if isinstance(plan, Join) and reads_relation(plan.left):
        return _copied(plan, need, right=False)
    pairs = _pairs(plan)
    chosen = _chosen(need, pairs) if pairs else []
    left_need = Need(Together.EXACTLY, tuple(p[0] for p in chosen)) if chosen else ONE
    right_need = Need(Together.EXACTLY, tuple(p[1] for p in chosen)) if chosen else ONE
    left, spread = supply(plan.left, left_need)
    right, other = supply(plan.right, right_need)
    if chosen and isinstance(plan, Join):
        both = zip(spread.keys, other.keys, strict=True)
        spread = replace(spread, keys=tuple(a | b for a, b in both))
    if chosen and full:
        spread = SCATTERED  # the left keys of a row without a left tuple are NULL
    return with_inputs(plan, (left, right)), spread


def _copied(plan: Joining, need: Need, *, right: bool) -> Placed:
    """Join with a relation that every shard has whole: the other side may lie as is best above."""
    spread_side = plan.left if right else plan.right
    if reads_relation(spread_side):  # two relations: nobody moves a clock, and both are at hand
        left, spread = supply(plan.left, ONE)
        return with_inputs(plan, (left, supply(plan.right, ONE)[0])), spread
    below, spread = supply(spread_side, need if _reads_only(need, spread_side) else ANYWHERE)
    sides = (below, plan.right) if right else (plan.left, below)
    return with_inputs(plan, sides), spread


def _pairs(plan: Joining) -> list[tuple[Expr, Expr]]:
    """Return the key pairs that bring matching rows together.

    NOT IN must know of every NULL of the other side, so its rows stay together if there may be any.
    """
    pairs = list(zip(plan.on.left_keys, plan.on.right_keys, strict=True))
    if (
        isinstance(plan, AntiJoin)
        and plan.null_aware
        and any(a.nullable or b.nullable for a, b in pairs)
    ):
        return []
    return [(a, b) for a, b in pairs if a.type == b.type]


def _chosen(need: Need, pairs: list[tuple[Expr, Expr]]) -> list[tuple[Expr, Expr]]:
    """Return the pairs to go by: those that the node above asks for as well, else all."""
    wanted = [plain(k) for k in need.keys]
    found = [next((p for p in pairs if k in (plain(p[0]), plain(p[1]))), None) for k in wanted]
    some = [p for p in found if p is not None]
    if need.how is Together.EXACTLY and len(some) == len(wanted):
        return some
    if need.how is Together.WITHIN and some:
        return some
    return pairs


def _union(plan: UnionAll, need: Need) -> Placed:
    names = plan.schema.names
    wish = need if need.how is not Together.WITHIN else replace(need, how=Together.EXACTLY)
    placed = []
    for below in plan.inputs:
        columns = dict(zip(names, (as_column(f) for f in below.schema), strict=True))
        keys = tuple(_below(columns, k) for k in wish.keys)
        placed.append(supply(below, replace(wish, keys=keys))[0])
    if wish.how is Together.ANYWHERE:
        return UnionAll(tuple(placed)), SCATTERED
    keys_out = tuple(frozenset({plain(k)}) for k in wish.keys)
    return UnionAll(tuple(placed)), Distribution(wish.how, keys_out)


def _set_operation(plan: Except | Intersect, need: Need) -> Placed:
    """Rows are compared as a whole: any of their columns bring equal ones together."""
    names = plan.schema.names
    asked = [k.name for k in need.keys if isinstance(k, Column)]
    by = asked if asked and len(asked) == len(need.keys) else list(names)
    at = [names.index(n) for n in by]
    sides = []
    for side in (plan.left, plan.right):
        keys = tuple(as_column(side.schema.fields[i]) for i in at)
        sides.append(supply(side, Need(Together.EXACTLY, keys))[0])
    out = tuple(frozenset({plain(as_column(plan.schema.fields[i]))}) for i in at)
    return with_inputs(plan, tuple(sides)), Distribution(Together.EXACTLY, out)
