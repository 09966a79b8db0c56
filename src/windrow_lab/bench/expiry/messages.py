"""Join messages against negative tuples, as a tuple joins more others [NEG 13]."""

from __future__ import annotations

from dataclasses import dataclass

from windrow_lab.contest.measurement import EQUAL
from windrow_lab.contest.report import Bar, verdict_of
from windrow_lab.contest.turns import by_turns, fastest_clocks, first_wrong
from windrow_lab.experiments.library.experiment import Options
from windrow_lab.experiments.negatives.base import OVERHEAD
from windrow_lab.experiments.negatives.contestants import ExpiryContestant
from windrow_lab.experiments.negatives.messages import BATCH, CLOCK, NegFigure13
from windrow_lab.experiments.negatives.model import MESSAGES, NTA

MULTIPLICITIES = (1, 3, 5)
SMALL = BATCH / 5
"""Seconds of a small batch: 6,000 tuples. Calls weigh more there; shown without a bar."""
TIME_BAR, COUNT_BAR = 1 / 0.6, 0.9


@dataclass(frozen=True, slots=True)
class Found:
    """The best times of both, in µs a tuple, messages for a result, and whether all was right."""

    multiplicity: int
    plain: float
    messages: float
    overhead: float
    check: str

    @property
    def saved(self) -> float:
        """How many times as long it takes without messages."""
        return self.plain / self.messages

    @property
    def nearness(self) -> float:
        """How near messages times multiplicity are to one a result: 1 if they are."""
        product = self.overhead * self.multiplicity
        return min(product, 1 / product)


def measure(repeats: int) -> list[Bar]:
    """Return both bars; of all multiplicities the worst counts."""
    found = [contest(multiplicity, repeats, BATCH) for multiplicity in MULTIPLICITIES]
    small = [contest(multiplicity, repeats, SMALL) for multiplicity in MULTIPLICITIES]
    wrong = [f.check for f in (*found, *small) if f.check != EQUAL]
    check = wrong[0] if wrong else EQUAL
    slow = min(found, key=lambda f: f.saved)
    far = min(found, key=lambda f: f.nearness)
    times = {f"ratio_at_{f.multiplicity}": f.saved for f in found}
    times["ratio_in_small_batches"] = min(f.saved for f in small)
    ratios = {f"messages_at_{f.multiplicity}": f.overhead for f in found}
    against = f"NTA, {slow.plain:.3g} µs a tuple, at multiplicity {slow.multiplicity}"
    rate = 1e6 / slow.messages
    return [
        Bar("join_messages_time", slow.saved, TIME_BAR, slow.messages, rate, check, {},
            {"against": against, **times}),
        Bar("join_messages_negatives", far.nearness, COUNT_BAR, slow.messages, rate, check, {},
            {"against": "a message for each tuple that joins", **ratios}),
    ]  # fmt: skip


def contest(multiplicity: int, repeats: int, batch: float) -> Found:
    """Run both by turns over the same tuples, once to warm up."""
    arena = NegFigure13(Options(repeats=repeats)).arena(multiplicity, batch)
    sides = [ExpiryContestant.filled(arena, approach) for approach in (NTA, MESSAGES)]
    turns = by_turns([side.run for side in sides], arena.runs)
    plain, messages = fastest_clocks(turns[1:], CLOCK)
    overhead = turns[-1][1].counts[OVERHEAD]
    return Found(multiplicity, plain, messages, overhead, verdict_of(first_wrong(turns)))
