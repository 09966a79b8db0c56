"""Rule 2: which calls an aggregation set has partial values of [AGGJOIN 5]."""

from __future__ import annotations

from windrow.optimize.grouped_joins import GroupedJoin, read_by
from windrow.physical.calls import folds_early
from windrow.plan.nodes import AggregateCall, Versions

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
