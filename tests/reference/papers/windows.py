"""Windows: what each holds at an instant.

THESIS 2.1.1: "Logical, or time-based windows are defined in terms of a time interval, whereas
physical, (also known as count-based or tuple-based) windows are defined in terms of the number of
tuples. Moreover, partitioned windows may be defined by splitting a sliding window into groups and
defining a separate count-based window on each group".
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.reference.papers.description import Window
from tests.reference.papers.results import Result
from tests.reference.papers.values import Value
from tests.reference.papers.worlds import Arrival, Run

Stream = Sequence[Arrival]


def arrived(stream: Stream, at: int) -> list[int]:
    """S(0, τ), as numbers of tuples, oldest first.

    THESIS 3.2.1: "let S(0, τ) be the multi-set of tuples generated on the input(s) at times up to
    and including τ".
    """
    return [i for i, t in enumerate(stream) if t.ts <= at]


def range_window(stream: Stream, at: int, width: int) -> list[int]:
    """[RANGE t]: ts <= τ < ts + t.

    NEG 3: "if a tuple ti from stream Si carries a timestamp ts, then tuple ti should expire at time
    ts + wi".
    """
    return [i for i in arrived(stream, at) if at < stream[i].ts + width]


def rows_window(stream: Stream, at: int, count: int) -> list[int]:
    """[ROWS n]: the n newest. THESIS 3.2.2: "the oldest tuple expires when the first new tuple
    arrives on the stream"."""
    return arrived(stream, at)[-count:]


def jumping_rows_window(stream: Stream, at: int, count: int, step: int) -> list[int]:
    """[ROWS n SLIDE m]: the n newest as of the last multiple of m tuples.

    THESIS 2.1.1: "batch processing (lazy updating) induces a jumping window".
    """
    there = arrived(stream, at)
    return there[: len(there) // step * step][-count:]


def partitioned_window(stream: Stream, at: int, count: int, column: int) -> list[int]:
    """[PARTITION BY k ROWS n]: "a separate count-based window on each group"."""
    groups: dict[Value, list[int]] = {}
    for i in arrived(stream, at):
        groups.setdefault(stream[i].row[column], []).append(i)
    return [i for group in groups.values() for i in group[-count:]]


def landmark_window(stream: Stream, at: int, since: int) -> list[int]:
    """[SINCE t]: "one fixed endpoint and one moving endpoint ... define a landmark window"."""
    return [i for i in arrived(stream, at) if stream[i].ts >= since]


def contents(
    window: Window | None, stream: Stream, columns: Sequence[str], at: int
) -> Sequence[int]:
    """The numbers of the tuples that a window holds at an instant, after all arrivals of it."""
    match window:
        case None | Window("unbounded"):
            return arrived(stream, at)
        case Window("range", width) | Window("tumble", width):
            return range_window(stream, at, width)
        case Window("now"):
            return range_window(stream, at, 1)
        case Window("rows", count, None):
            return rows_window(stream, at, count)
        case Window("rows", count, step):
            assert step is not None
            return jumping_rows_window(stream, at, count, step)
        case Window("partition", count, key=key):
            return partitioned_window(stream, at, count, list(columns).index(key))
        case Window("since", since):
            return landmark_window(stream, at, since)
        case _:
            raise AssertionError(window)


def windowed(
    stream: Stream, window: Window | None, columns: Sequence[str], run: Run
) -> list[Result]:
    """S [window] as results: one a tuple, alive at the instants at which the window holds it.

    THESIS 2.1.3: "unbounded streams are converted to relations by way of sliding windows".
    """
    alive: list[list[int]] = [[] for _ in stream]
    for at in run.instants:
        for i in contents(window, stream, columns, at):
            alive[i].append(at)
    return [
        Result(t.row, t.ts, frozenset(instants), expiry(window, t))
        for t, instants in zip(stream, alive, strict=True)
    ]


def expiry(window: Window | None, tuple_: Arrival) -> int | None:
    """When a tuple of an external time-based window expires, as known at its arrival.

    THESIS 3.2.2: "the lifetime of each result is known at generation time".
    """
    if window is None or window.internal:
        return None
    match window.kind:
        case "range" | "tumble":
            return tuple_.ts + window.size
        case "now":
            return tuple_.ts + 1
        case _:
            return None


def passings(window: Window, stream: Stream, run: Run) -> set[int]:
    """The instants at which a [ROWS n SLIDE m] window is updated: its count passes a multiple of m.

    THESIS 2.1.1: "a count-based window may be updated periodically".
    """
    assert window.slide is not None
    jumps = {
        at: len(arrived(stream, at)) // window.slide for at in range(run.begin - 1, run.end + 1)
    }
    return {at for at in run.instants if jumps[at] > jumps[at - 1]}
