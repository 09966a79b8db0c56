"""What `choose_wjoin` is told of a join."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.operators.join.multi.match import MultiMatch
from windrow.operators.join.wjoin.windows import reach_of
from windrow.optimize.choose_wjoin import WJoinFacts

COMPARED = 1 / 3
"""Share of pairs that meet a comparison, if unknown; without one, all that is in a window does."""


def facts_of(
    match: MultiMatch, rates: Sequence[float], keys: float, swings: Sequence[float] | None = None
) -> WJoinFacts:
    """Return the facts of a join: `rates` a tick of its streams, distinct `keys`, and swings."""
    most = reach_of(match).most.tolist()
    count = len(match.inputs)
    windows = tuple(
        tuple(float(max(0, most[j][i] + 1)) for j in range(count)) for i in range(count)
    )
    equi = _all_tied(match)
    share = 1 / keys if equi else COMPARED if match.compares else 1.0
    return WJoinFacts(tuple(rates), windows, equi, share, tuple(swings or (1.0,) * count))


def _all_tied(match: MultiMatch) -> bool:
    """Tell whether equalities tie all streams together."""
    tied = {0}
    for _ in match.inputs:
        for equality in match.equalities:
            if tied.intersection(equality.inputs):
                tied.update(equality.inputs)
    return len(tied) == len(match.inputs)
