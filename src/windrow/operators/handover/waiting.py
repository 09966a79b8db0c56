"""Tuples that wait for the clock when a query goes on under another plan."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.core.errors import StateError
from windrow.operators.delta import Delta
from windrow.physical.sources import SourceScan

Sources = Mapping[int, SourceScan]
"""The inputs of a plan, by stage."""


def counterparts(old: Sources, new: Sources) -> dict[int, int]:
    """Return for each input of a new plan the one of the old plan that has let in the same tuples.

    Raises `StateError` where none has.
    """
    theirs, found = dict(old), dict[int, int]()
    for i, source in new.items():
        j = next((j for j, other in theirs.items() if _covers(other, source)), None)
        if j is None:
            raise StateError(
                f'"{source.entry.name}" is read otherwise by the other plan',
                detail="Tuples that wait for the clock would lack columns.",
                hint="Keep the strategy, or start the query anew.",
            )
        del theirs[j]
        found[i] = j
    return found


def carried(
    old: Sources, new: Sources, waiting: Mapping[int, list[Delta]]
) -> dict[int, list[Delta]]:
    """Return what waits for the clock, by input of the new plan."""
    return {
        i: [d.replace_columns({n: d.columns[n] for n in new[i].schema.names}) for d in waiting[j]]
        for i, j in counterparts(old, new).items()
    }


def _covers(old: SourceScan, new: SourceScan) -> bool:
    """Return whether what one input has let in is what the other would have."""
    same = old.entry == new.entry and old.predicate == new.predicate
    return same and all(c in old.columns for c in new.columns)
