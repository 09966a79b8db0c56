"""The paper's default setting, and one in which half of all pairs match [AGGJOIN figure 6]."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.cli.calibrate.streams import SECOND, StreamSetting, asked, two
from windrow_lab.bench.aggregation.plans import contest
from windrow_lab.contest.report import Bar, verdict_of

SEED = 7
BATCH = 10.0
"""Seconds of the streams that are pushed at a time: 6,000 tuples."""


@dataclass(frozen=True, slots=True)
class Case:
    """A setting, how many seconds of it come at a time, and its bar."""

    setting: StreamSetting
    bar: float | None = None
    batch: float = BATCH


CASES = {
    "early_default": Case(StreamSetting(two()), 5.0),
    "early_default_second_by_second": Case(StreamSetting(two()), batch=1.0),
    "early_default_refreshed_by_the_second": Case(StreamSetting(two(), slide=SECOND), batch=1.0),
    "early_selectivity_half": Case(StreamSetting(two(share=0.5)), 20.0),
}
"""λ 300, w 5000, g1 150, g2 1, σ 0.1 or 0.5. The answer is emitted at every change, in batches of
ten seconds or of one; and at every second."""


def measure(repeats: int) -> list[Bar]:
    """Compare the fastest early aggregation with none."""
    return [against(name, case, repeats) for name, case in CASES.items()]


def against(name: str, case: Case, repeats: int) -> Bar:
    """Return how many times as long a join with a GROUP BY takes as the best early plan.

    Seconds are those of one second of the streams.
    """
    setting = case.setting
    took = contest(setting, case.batch, repeats, SEED)
    early = took.best_early
    rate = sum(s.rate for s in setting.streams)
    seconds = took.micros[early] * rate / 1e6
    return Bar(
        name,
        took.micros[took.late] / took.micros[early],
        case.bar,
        seconds,
        rate / seconds,
        verdict_of(took.difference),
        {"contributions_a_tuple": took.by_placement(took.met)},
        {
            "against": f"join, then GROUP BY, {took.micros[took.late]:.3g} µs a tuple",
            "micros_a_tuple": took.by_placement(took.micros),
            "chosen": asked(took.chosen, setting.names),
        },
    )
