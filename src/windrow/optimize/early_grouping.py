"""Rule 1: by what an input is grouped before the join [AGGJOIN 5]."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.optimize.grouped_joins import GroupedJoin, columns_in, read_by
from windrow.plan.expressions import Column, Expr
from windrow.plan.nodes import AggregateCall, as_column


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
    inputs, a call that is not folded before the join (`early`, see `early_calls.py`). Columns that
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
