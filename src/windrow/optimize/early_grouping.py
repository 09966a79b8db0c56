"""By what an input is grouped before the join, and which calls are folded there [AGGJOIN 5]."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.optimize.grouped_joins import GroupedJoin, columns_in, read_by
from windrow.physical.calls import folds_early
from windrow.plan.expressions import Column, Expr
from windrow.plan.nodes import AggregateCall, Versions, as_column


@dataclass(frozen=True, slots=True)
class EntryColumns:
    """What the entries of an input have: tuples that agree in all of it are one entry.

    `matched` decides with the other inputs' whether entries match; `grouped` and `folded` are what
    keys and late calls read; `tested` are the columns of conditions that need whole results.
    """

    matched: tuple[Expr, ...]
    grouped: tuple[Expr, ...]
    folded: tuple[Expr, ...]
    tested: tuple[Expr, ...]

    @property
    def shown(self) -> tuple[Expr, ...]:
        """What contributions have of it, each once."""
        return tuple(dict.fromkeys((*self.grouped, *self.folded)))

    @property
    def all(self) -> tuple[Expr, ...]:
        """All of it, each once."""
        return tuple(dict.fromkeys((*self.matched, *self.shown, *self.tested)))


def entry_columns(joined: GroupedJoin, early: tuple[int | None, ...], which: int) -> EntryColumns:
    """γ G (L ⋈J R)  ⇒  γ G (γ G∩L, J∩L (L) ⋈J R):  G are the keys, J what the match reads.

    Tuples of L that agree in J match the same tuples of R, and with G∩L their results fall into the
    same groups, so one entry may stand for all of them.

    Not so where a condition or a call needs more of a tuple than that: a residual over several
    inputs, a call that is not folded before the join (`early`, see `early_calls`). Columns that
    these read distinguish entries as well. An input none of whose calls is folded early is so
    stored tuple by tuple.

    >>> from windrow.optimize.grouped_joins import grouped_join
    >>> from windrow.optimize.showing import bound
    >>> text = "SELECT a.price, MAX(b.price) FROM bids AS a [NOW], asks AS b [NOW] "
    >>> joined = grouped_join(bound(text + "WHERE a.sku = b.sku GROUP BY a.price").root.source)
    >>> [c.name for c in entry_columns(joined, (1,), 0).all]
    ['a.sku', 'a.price']
    >>> [c.name for c in entry_columns(joined, (1,), 1).all]
    ['b.sku']
    >>> [c.name for c in entry_columns(joined, (None,), 1).all]
    ['b.sku', 'b.price']
    """
    flat = joined.flat
    late = [c for c, at in zip(joined.calls, early, strict=True) if at is None]
    keys = tuple(k.expr for k in joined.keys)
    residual = () if flat.residual is None else (flat.residual,)
    return EntryColumns(
        tuple(dict.fromkeys(flat.exprs_of(which))),
        _parts(joined, keys, which),
        _parts(joined, tuple(e for c in late for e in read_by(c)), which),
        _columns(joined, residual, which),
    )


def _parts(joined: GroupedJoin, exprs: tuple[Expr, ...], which: int) -> tuple[Expr, ...]:
    """Return what must be known of an input: expressions over it alone, else columns."""
    found: dict[Expr, None] = {}
    for expr in exprs:
        if joined.owners(expr) == (which,):
            found[expr] = None
        else:
            found |= dict.fromkeys(_columns(joined, (expr,), which))
    return tuple(found)


def _columns(joined: GroupedJoin, exprs: tuple[Expr, ...], which: int) -> tuple[Column, ...]:
    plan = joined.flat.inputs[which]
    return tuple(as_column(plan.schema[n]) for n in columns_in(plan, exprs))


def argument_exprs(
    calls: tuple[AggregateCall, ...], early: tuple[int | None, ...], which: int
) -> tuple[Expr, ...]:
    """Return what early calls read of an input besides the columns of its entries."""
    mine = (c for c, at in zip(calls, early, strict=True) if at == which)
    return tuple(dict.fromkeys(e for c in mine for e in read_by(c)))


Placement = tuple[bool, ...]
"""Of each input, whether it is aggregated before the join."""


ADDING = frozenset({"count", "sum", "avg"})
"""Calls that add up rows, however these are dealt to entries."""


def early_calls(joined: GroupedJoin, placement: Placement) -> tuple[int | None, ...]:
    """γ f(x) (L ⋈ R)  ⇒  γ f(p · c) (γ p=f(x) (L) ⋈ γ c=COUNT(*) (R)),  x being of L alone.

    A result repeats a tuple of L once for each of its partners: a partial sum of L counts as often
    as R's entry has copies, which every aggregation set counts. Return by call the input that has
    partial values of it.

    None, and the call stays above the join, where that cannot be: its input is not aggregated, or
    it has no argument (COUNT(*) is all copies multiplied), or it reads several inputs, or it needs
    each value by itself: DISTINCT, MEDIAN, TOPK. What it reads is then kept in entries
    (`early_grouping.py`). So do MIN and MAX of a relation's versions: a row that is taken out
    changes entries, and nothing is emitted, as what has met it keeps it.

    >>> from windrow.optimize.grouped_joins import grouped_join
    >>> from windrow.optimize.showing import bound
    >>> text = "SELECT SUM(b.price), SUM(a.price * b.price), COUNT(*), COUNT(DISTINCT b.price)"
    >>> text += " FROM bids AS a [NOW], asks AS b [NOW] WHERE a.sku = b.sku"
    >>> joined = grouped_join(bound(text).root.source)
    >>> early_calls(joined, (True, True))
    (1, None, None, None)
    """
    return tuple(_early(joined, call, placement) for call in joined.calls)


def _early(joined: GroupedJoin, call: AggregateCall, placement: Placement) -> int | None:
    owners = joined.owners(*read_by(call))
    if len(owners) != 1 or not placement[owners[0]] or not folds_early(call):
        return None
    (owner,) = owners
    versions = isinstance(joined.flat.inputs[owner], Versions)
    return None if versions and call.name not in ADDING else owner
