"""How far the times that bands read may lie behind those of the tuples that carry them."""

from __future__ import annotations

from windrow.plan.nodes import Band, Join, Plan, Scan, inputs_of


def time_lag(plan: Plan, column: str, slide: int | None) -> int | None:
    """Return how far a tuple's time column may lie behind the tuple's ts; None if unknown.

    In a join the ts is the latest of its tuples' times; bands say how far apart those are, by the
    shortest path between the streams [WJOIN 5.2]. SLIDE moves the ts up to its next multiple.
    """
    times = {s.time_column for s in scans_under(plan)}
    if column not in times:
        return None
    distance: dict[str, int | None] = {**dict.fromkeys(times), column: 0}
    bands = list(_bands(plan))
    for _ in times:
        for band in bands:
            _relax(distance, band.left, band.right, band.high)
            _relax(distance, band.right, band.left, -band.low)
    known = [d for d in distance.values() if d is not None]
    if len(known) < len(distance):
        return None
    return max(*known, 0) + (0 if slide is None else slide - 1)


def _relax(distance: dict[str, int | None], start: str, end: str, most: int) -> None:
    """Note that `end` is at most `most` later than `start`."""
    base = distance.get(start)
    if base is None or end not in distance:
        return
    known = distance[end]
    if known is None or base + most < known:
        distance[end] = base + most


def scans_under(plan: Plan) -> list[Scan]:
    """Return the streams that a plan reads."""
    if isinstance(plan, Scan):
        return [plan]
    return [s for below in inputs_of(plan) for s in scans_under(below)]


def _bands(plan: Plan) -> list[Band]:
    own = list(plan.on.bands) if isinstance(plan, Join) else []
    return own + [b for below in inputs_of(plan) for b in _bands(below)]
