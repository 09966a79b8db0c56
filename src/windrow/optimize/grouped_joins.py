"""A GROUP BY over a tree of joins, as one thing: γ(S₁ ⋈ ... ⋈ Sₘ) [AGGJOIN 4].

    γ [z.g; SUM(z.p)]                             inputs   a  b
      σ [z.p > 2]                      ⇒          match    a.k = b.k, b.x + 1 > 2
        π [a.g AS z.g, b.x + 1 AS z.p]            keys     a.g
          a ⋈ b                                   calls    SUM(b.x + 1)

Projections between them are written out in the keys, calls and conditions above them, so all of it
is said in columns of the inputs. An input is any plan: a window, a relation, a sub-query.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property

from windrow.optimize.flatten_joins import FlatJoin, flatten
from windrow.optimize.grouped_versions import joined_versions
from windrow.optimize.rewriting import names_of, renamed
from windrow.plan.expressions import Expr, columns_of, conjuncts
from windrow.plan.nodes import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    Named,
    NrrJoin,
    Plan,
    Project,
    Versions,
)

NUMBERED = re.compile(r"_\d+$")
"""What the binder adds to a name that another source of the query has already."""

COPIES = "#copies of "
"""How a column begins that says how many tuples a row is; the input's name follows."""

MOST = 8
"""Inputs up to which placements are looked at: there are 2^m of them."""


@dataclass(frozen=True)
class GroupedJoin:
    """Results of `flat` are folded by `calls` in groups of equal `keys`.

    `join` is the topmost join of the tree.
    """

    join: Join
    flat: FlatJoin
    keys: tuple[Named, ...]
    calls: tuple[AggregateCall, ...]

    @property
    def aliases(self) -> tuple[tuple[str, ...], ...]:
        """The names of each input's sources: of one with an NRR there are two."""
        found = (tuple(dict.fromkeys(map(_alias, p.schema.names))) for p in self.flat.inputs)
        return tuple(found)

    @cached_property
    def answers(self) -> tuple[frozenset[str], ...]:
        """What each input answers to, in lower case.

        A plan has ``a_2`` where the text has a second ``a``: it answers to both, unless both are
        joined.
        """
        own = [frozenset(n.lower() for n in names) for names in self.aliases]
        bare = [frozenset(NUMBERED.sub("", n) for n in names) for names in own]
        often = Counter(n for names in (*own, *bare) for n in names)
        both = zip(own, bare, strict=True)
        return tuple(names | {n for n in more - names if often[n] == 1} for names, more in both)

    @property
    def names(self) -> tuple[str, ...]:
        """What each input is called."""
        return tuple(names[0] for names in self.aliases)

    @property
    def versioned(self) -> bool:
        """Return whether results meet versions of a relation, which they keep."""
        return any(isinstance(plan, Versions) for plan in self.flat.inputs)

    @property
    def key(self) -> str:
        """What the join is called among those of its query."""
        return ",".join(self.names)

    def owners(self, *exprs: Expr) -> tuple[int, ...]:
        """Return the inputs whose columns are read."""
        reads = frozenset[str]().union(*map(columns_of, exprs))
        return tuple(i for i, p in enumerate(self.flat.inputs) if reads & names_of(p))

    def why_not_applicable(self) -> str:
        """Return why no input can be aggregated before the join; "" if all can be."""
        if self.flat.bands:
            first = self.flat.bands[0]
            pair = f"{self.names[first.first]}, {self.names[first.second]}"
            return f"WINDOW({pair}) asks for the time of each tuple, which a fold of many has not"
        if len(self.flat.inputs) > MOST:
            return f"more than {MOST} inputs are joined"
        return ""


def _alias(column: str) -> str:
    return column.removeprefix(COPIES).partition(".")[0]


def grouped_join(
    plan: Aggregate, *, versions: bool = False, slide: int | None = None
) -> GroupedJoin | None:
    """Return an aggregate over joins as one; None if it is over anything else.

    With `versions`, tuples that meet an NRR are joined with its versions where they can be; `slide`
    is the SLIDE by which they are refreshed.

    >>> from windrow.optimize.showing import bound
    >>> text = "SELECT a.sku, SUM(b.price) FROM bids AS a [NOW], asks AS b [NOW] "
    >>> grouped_join(bound(text + "WHERE a.sku = b.sku GROUP BY a.sku").root.source).names
    ('a', 'b')
    """
    keys, calls, source = plan.keys, plan.calls, plan.source
    terms: tuple[Expr, ...] = ()
    while not isinstance(source, Join):
        match source:
            case Filter(source=below, predicate=predicate):
                terms += conjuncts(predicate)
            case Project(source=below, columns=columns):
                made = {c.name: c.expr for c in columns}
                keys = tuple(replace(k, expr=renamed(k.expr, made)) for k in keys)
                calls = tuple(_renamed(c, made) for c in calls)
                terms = tuple(renamed(t, made) for t in terms)
            case NrrJoin() if versions and (joined := joined_versions(source, slide)) is not None:
                below = joined
            case _:
                return None
        source = below
    flat = flatten(source, terms)
    return None if flat is None else GroupedJoin(source, flat, keys, calls)


@dataclass(frozen=True, slots=True)
class Versioned:
    """Results that meet a NON RETROACTIVE RELATION and are grouped; nothing is folded before.

    Tuples are distinguished by the version that they meet for that (`grouped_versions.py`), which
    only those that carry `exp` can be. `several`: whether it is a join by
    itself.
    """

    table: str
    names: tuple[str, ...]
    several: bool

    @property
    def reason(self) -> str:
        """Why no input is aggregated before the join."""
        return f"not all that meets a version of {self.table} says when it expires"


def versioned(plan: Aggregate) -> Versioned | None:
    """Return what an aggregate groups, if that has just met an NRR."""
    source, names = plan.source, list[str]()
    while isinstance(source, Filter | Project):
        names += map(_alias, source.schema.names)
        source = source.source
    if not isinstance(source, NrrJoin):
        return None
    names += map(_alias, source.schema.names)
    known = tuple(dict.fromkeys(name for name in names if name))
    below = source.left
    while isinstance(below, Filter | Project | NrrJoin):
        below = below.left if isinstance(below, NrrJoin) else below.source
    return Versioned(source.table.relation.name, known, isinstance(below, Join))


def _renamed(call: AggregateCall, columns: dict[str, Expr]) -> AggregateCall:
    return replace(
        call,
        args=tuple(renamed(a, columns) for a in call.args),
        filter=None if call.filter is None else renamed(call.filter, columns),
    )


def read_by(call: AggregateCall) -> tuple[Expr, ...]:
    """Return what a call reads of a result: its arguments, and its filter."""
    return call.args if call.filter is None else (*call.args, call.filter)


def columns_in(plan: Plan, exprs: tuple[Expr, ...]) -> tuple[str, ...]:
    """Return the columns of an input that expressions read, in the input's order."""
    reads = frozenset[str]().union(*map(columns_of, exprs))
    return tuple(n for n in plan.schema.names if n in reads)
