"""Whether it pays to merge the tuples of a pane in Spark before they are moved.

A tuple that is moved is shuffled, crosses to Python and is folded by a shard. Merging looks at
every tuple once, in the JVM, and moves one row for each group that has any in the pane; but Spark
then plans each batch anew, and has one more shuffle. The constants are rough: what runs on two busy
cores with batches of a million tuples suggest (`windrow bench spark --only partials`).
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.core.errors import BindError
from windrow.core.time import UNITS, Clock
from windrow.optimize.statistics import Statistics
from windrow.physical.sources import Partials
from windrow.plan.catalog import Stream

MOVED, MERGED = 1000.0, 350.0  # ns: a tuple that is moved; one that is merged
PLANNED = 100e6  # ns: a batch that is planned anew, and its second shuffle

RATE, KEYS = "expect_rate", "expect_keys"
"""Options of a stream: tuples a second (or a tick), and how many groups they fall into."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether merging pays, and the reason; if known, the ms of a pane, moved and merged."""

    pays: bool
    reason: str
    moved: float | None = None
    merged: float | None = None


def declared_statistics(stream: Stream) -> Statistics | None:
    """Return what a stream's declaration expects of it; None without a rate."""
    options = {name.lower(): value for name, value in stream.options}
    if RATE not in options:
        return None
    unit = UNITS["SECOND"] if stream.clock is Clock.TIMESTAMP else 1
    rate = _positive(stream, RATE, options[RATE]) / unit
    known = options.get(KEYS)
    keys = Statistics().keys if known is None else max(1.0, _positive(stream, KEYS, known))
    return Statistics({stream.name: rate}, keys)


def _positive(stream: Stream, name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise BindError(
            f'{name} of "{stream.name}" is "{text}", which is no positive number',
            hint=f"Write for example {name} '50000'.",
        )
    return value


def verdict(partials: Partials, stream: Stream) -> Verdict:
    """Return whether to merge the tuples of a stream, by what its declaration expects.

    It is reckoned for a batch as long as a pane: of longer ones the overhead is a smaller part.
    """
    known = declared_statistics(stream)
    if known is None:
        return Verdict(pays=False, reason=f'"{stream.name}" declares no {RATE}')
    tuples = known.rates[stream.name] * partials.pane.length
    groups = min(tuples, known.keys if partials.keys else 1.0)
    moved, merged = MOVED * tuples, MERGED * tuples + MOVED * groups + PLANNED
    said = f"{_number(tuples)} tuples a pane are expected in {_number(groups)} groups"
    if merged >= moved:
        said += ": too few to make up for planning each batch"
    return Verdict(merged < moved, said, moved / 1e6, merged / 1e6)


def _number(value: float) -> str:
    return f"{max(1, round(value)):,}"
