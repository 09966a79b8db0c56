"""Of a pause, only the refreshes that can be seen.

RSTREAM streams the whole answer at every refresh, changed or not. Where a window reads that stream
and only the values in the window matter, most refreshes of a long pause change nothing:

    Rstream_d [RANGE w]          ⇒  RecentAnswers_w(d)     if d divides w
    Rstream_d [ROWS n]           ⇒  Rstream_d, seen n      n refreshes on either side of the pause
    Rstream_d [PARTITION ROWS n] ⇒  the same
    Rstream_d [ROWS n SLIDE m]   ⇒  seen n + m, by m       of an answer of one row

After n refreshes of one answer, a window of n rows holds nothing but the latest rows of it, and n
more do not change that. Where the slide does not divide a RANGE, answers leave between two
refreshes: each of them is a change, and none can be left out. Nor can any where the tuples of the
window are distinguished: numbered, counted, meeting the version of an NRR of their own time, or
with their time of leaving as a column.
"""

from __future__ import annotations

from dataclasses import replace

from windrow.plan.nodes import (
    Filter,
    NrrJoin,
    Plan,
    Produced,
    Project,
    RecentAnswers,
    Refresh,
    Rstream,
    Window,
    inputs_of,
)
from windrow.plan.rebuilding import with_inputs
from windrow.plan.windows import PartitionRows, Range, Rows


def bound_refreshes(plan: Plan, *, by_value: bool = True) -> Plan:
    """Return the plan with streams of whole answers cut to what can be seen.

    `by_value`: whether nobody above distinguishes tuples of equal values. Applied once.
    """
    match plan:
        case Window(source=source, spec=Range(width), expiry_column=None) if by_value:
            refresh = _refreshed(source)
            if refresh is not None and width % refresh.slide == 0:
                inner = replace(refresh, source=bound_refreshes(refresh.source))
                return RecentAnswers(inner, width)
        case Window(source=source, spec=Rows(n, step)) if by_value:
            return replace(plan, source=_seen(source, n if step == 1 else n + step, step))
        case Window(source=source, spec=PartitionRows(count=n)) if by_value:
            return replace(plan, source=_seen(source, n, 1))
        case NrrJoin() | Produced():
            by_value = False
        case Window():
            by_value = True
        case _:
            pass
    inputs = inputs_of(plan)
    made = tuple(bound_refreshes(below, by_value=by_value) for below in inputs)
    return plan if made == inputs else with_inputs(plan, made)


def _refreshed(stream: Plan) -> Refresh | None:
    """Return the answer that a stream is the whole of at each refresh: σ and π pass RSTREAM."""
    match stream:
        case Rstream(source=refresh):
            return refresh
        case Filter(source=source) | Project(source=source):
            below = _refreshed(source)
            if below is None:
                return None
            return replace(below, source=replace(stream, source=below.source))
        case _:
            return None


def _seen(stream: Plan, refreshes: int, by: int) -> Plan:
    """Return the stream without refreshes of a pause that its window does not show."""
    match stream:
        case Rstream(source=refresh):
            inner = replace(refresh, source=bound_refreshes(refresh.source))
            return Rstream(inner, refreshes, by)
        case Filter(source=source) | Project(source=source):
            return replace(stream, source=_seen(source, refreshes, by))
        case _:
            return bound_refreshes(stream)
