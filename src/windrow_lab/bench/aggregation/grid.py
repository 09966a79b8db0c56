"""Random settings: what `auto` comes to, against the best plan and against joining first."""

from __future__ import annotations

import json
from collections.abc import Callable

from windrow.cli.calibrate.samples import settings, stretch_of
from windrow.cli.calibrate.streams import StreamSetting, asked
from windrow_lab.bench.aggregation.plans import Took, contest
from windrow_lab.contest.report import Bar, verdict_of

NEAR = 1.15
"""A plan is near the best if it takes at most so many times as long."""
SHARE_BAR = 0.9
LATE_BAR = 1 / 1.1
"""Joining first takes at least so many times as long as what `auto` comes to."""
DOUBTFUL_BEST, DOUBTFUL_LATE = 1.1, 1 / 1.05
"""A setting in which `auto` takes more times as long as the fastest than the first, or joining
first less than the second of its time, is run three times, each with queries of their own; the
median counts. The same plan twice was seen to differ by a tenth for as long as both ran: where
memory lies is luck."""
SEED = 7

Report = Callable[[str], None]


def measure(count: int, repeats: int, report: Report | None = None) -> list[Bar]:
    """Run all placements of random settings, and `auto`; compare."""
    found = []
    for seed, setting in enumerate(settings(count, SEED)):
        found.append(_decided(setting, repeats, seed))
        if report:
            report(line_of(found[-1]))
    return bars(found)


def _decided(setting: StreamSetting, repeats: int, seed: int) -> Took:
    """Return what a setting took: once if that is clear, else in the middle one of three."""
    first = contest(setting, stretch_of(setting), repeats, seed)
    if first.against_best <= DOUBTFUL_BEST and first.against_late >= DOUBTFUL_LATE:
        return first
    more = [contest(setting, stretch_of(setting), repeats, seed) for _ in range(2)]
    return middle([first, *more])


def middle(found: list[Took]) -> Took:
    """Return the median run by how far `auto` is from joining first; a wrong one before all."""
    wrong = next((t for t in found if t.difference), None)
    return wrong or sorted(found, key=lambda t: t.against_late)[len(found) // 2]


def line_of(took: Took) -> str:
    """Return a setting, what it took and what was chosen, as a line of JSON."""
    streams = took.setting.streams
    return json.dumps(
        {
            "rates": [round(s.rate) for s in streams],
            "windows": [round(s.window) for s in streams],
            "groups": [s.groups for s in streams],
            "selectivity": float(f"{streams[0].selectivity:.3g}"),
            "micros_a_tuple": took.by_placement(took.micros),
            "contributions_a_tuple": took.by_placement(took.met),
            "auto": asked(took.auto, took.setting.names),
            "auto_micros_a_tuple": float(f"{took.auto_micros:.4g}"),
            "watching_micros_a_tuple": float(f"{took.watching:.3g}"),
            "chosen": asked(took.chosen, took.setting.names),
            "best": asked(took.best, took.setting.names),
            "against_best": float(f"{took.against_best:.3g}"),
            "against_late": float(f"{took.against_late:.3g}"),
            "check": verdict_of(took.difference),
        }
    )


def bars(found: list[Took]) -> list[Bar]:
    """Return both bars: the share of settings near the best, and the worst against no early."""
    near = sum(t.against_best <= NEAR for t in found) / len(found)
    factors = sorted(t.against_best for t in found)
    worst = min(t.against_late for t in found)
    check = verdict_of("; ".join(sorted({t.difference for t in found if t.difference})))
    micros = sum(t.auto_micros for t in found) / len(found)
    picked = [asked(t.auto, t.setting.names) for t in found]
    fastest = [asked(t.best, t.setting.names) for t in found]
    names = sorted(set(picked) | set(fastest))
    facts = {
        "auto": {n: picked.count(n) for n in names},
        "best": {n: fastest.count(n) for n in names},
    }
    near_facts = {
        "against": f"the fastest of all placements, in {len(found)} settings",
        "median_factor": factors[len(found) // 2],
        "worst_factor": factors[-1],
        "as_chosen_for_full_windows": sum(t.auto == t.chosen for t in found) / len(found),
        **facts,
    }
    late_facts = {
        "against": f"join, then GROUP BY, the worst of {len(found)} settings",
        "settings_below": sum(t.against_late < LATE_BAR for t in found),
        "median_ratio": sorted(t.against_late for t in found)[len(found) // 2],
        "watching_at_most": max(t.watching / t.auto_micros for t in found),
    }
    times = (micros / 1e6, 1e6 / micros)
    return [
        Bar("auto_near_best", near, SHARE_BAR, *times, check, {}, near_facts),
        Bar("auto_against_late", worst, LATE_BAR, *times, check, {}, late_facts),
    ]
