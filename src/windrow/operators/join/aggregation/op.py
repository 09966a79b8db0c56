"""γ(S₁ ⋈ ... ⋈ Sₘ): the parameters of an aggregation join [AGGJOIN 4, 5].

    SELECT a.g, SUM(b.x) FROM A [...] AS a, B [...] AS b WHERE a.k = b.k GROUP BY a.g

            entries                    contributions          groups
    A ──► (k, g): copies ────────┐
                                 ├──►  g, Σx, weight  ──►     g: SUM(x)
    B ──► (k): copies, Σx ───────┘

An input is stored as *entries*. With early aggregation these are its aggregation set: one
entry for all tuples that agree in the columns that conditions, keys and late calls read, with their
number and the partial values of early calls. Without, its window: an entry for each distinct tuple.
A tuple that comes or goes meets the entries of the other inputs; each combination that matches
*contributes* to one group: as many results as the entries have copies, at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from windrow.core.schema import Field, Schema
from windrow.operators.join.match import MultiMatch
from windrow.operators.vector import Vector
from windrow.physical.calls import GroupBy, PlacedCall

Compute = Callable[[dict[str, Vector], int], dict[str, Vector]]
"""Takes columns of contributions and their number; returns those that keys and late calls read."""


@dataclass(frozen=True)
class AggregationJoin:
    """One row a group of the join's results: its keys, then its calls.

    `match` says when entries match; `match.inputs[i].output` are the columns of an entry that keys
    and late calls read. `early[i]` says whether input i is stored as its aggregation set.
    `keys` are columns of contributions: those of `match.output`, or what `compute` makes of them,
    for keys and arguments over several inputs, under names of their own. `copies[i]` names the
    column, if there is one, that says how many tuples a row of input i stands for; early calls
    then get sums of those tuples, which leave together as they came.
    """

    match: MultiMatch
    early: tuple[bool, ...]
    keys: tuple[Field, ...]
    folds: tuple[PlacedCall, ...]
    compute: Compute | None = None
    copies: tuple[str | None, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.match.inputs)
        assert len(self.early) == n, "each input is aggregated early, or not"
        assert not self.copies or len(self.copies) == n, "an entry for each input"
        assert not self.match.bands, "an aggregation set does not know the times of its tuples"
        for fold in self.folds:
            assert fold.early is None or self.early[fold.early], "no aggregation set to fold in"

    @cached_property
    def group_by(self) -> GroupBy:
        """The GROUP BY over all results that this equals."""
        return GroupBy(self.keys, tuple(f.call for f in self.folds))

    @property
    def schema(self) -> Schema:
        """Keys, then calls."""
        return self.group_by.schema

    def columns_of(self, which: int) -> tuple[str, ...]:
        """Return the columns that an input must have: those of its entries and of early calls."""
        source = self.match.inputs[which]
        found = dict.fromkeys(source.kept)
        for equality in self.match.equalities:
            found |= dict.fromkeys(equality.columns[which])
        for compare in self.match.compares:
            if compare.first == which:
                found[compare.column] = None
            if compare.second == which:
                found[compare.other] = None
        for fold in self.folds:
            if fold.early == which:
                found |= dict.fromkeys(a.name for a in fold.call.args)
                found |= {} if fold.call.filter is None else {fold.call.filter: None}
        if self.copies and (copies := self.copies[which]) is not None:
            found[copies] = None
        return tuple(found)
