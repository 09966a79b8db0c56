"""Verdicts: what a number says of a bar, given its noise, and what all findings say together.

    not held  ◄── bar / BAND ── too close ── bar · BAND ──►  held
                  └────────── the bounds of the ratio hold the bar: too close ──────────┘

Quartiles of one run enter as the bounds of a `Ratio`. The band stands for what quartiles of one run
cannot show: another run, on another day, differs by some per cent as a whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from windrow_lab.experiments.library.spread import Ratio

BAND = 1.05
"""A clock's ratio within this factor of its bar is too close to it."""
FEWEST = 3
"""Repeats without which a clock has no spread to speak of."""


class Outcome(StrEnum):
    """What became of a claim."""

    HELD = "held"
    REFUTED = "not held"
    CLOSE = "too close to call"
    WAITING = "cannot be judged yet"


class Kind(StrEnum):
    """Whose claim it is, and by what it is judged."""

    PAPER = "paper"  # the paper's, by what was measured: the verdict
    MODEL = "model"  # the paper's, by its formulas alone
    OURS = "ours"  # windrow's own, which the paper does not make


TITLES = {
    Kind.PAPER: "The paper's claims",
    Kind.MODEL: "By the model alone, nothing is measured",
    Kind.OURS: "windrow's own claims, which the paper does not make",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One part of the claim, what the numbers say of it, and the numbers."""

    claim: str
    outcome: Outcome
    by: str
    kind: Kind = Kind.PAPER


def waiting(claim: str, reason: str) -> Finding:
    """Return the paper's claim about something that windrow does not have."""
    return Finding(claim, Outcome.WAITING, reason)


def known(*facts: bool) -> Outcome:
    """Judge by numbers without noise: all must be so."""
    return Outcome.HELD if all(facts) else Outcome.REFUTED


def above(ratio: Ratio, bar: float) -> Outcome:
    """Judge whether a ratio is at least a bar.

    >>> above(Ratio(1.3, 1.2, 1.4, 5), 1).value, above(Ratio(1.3, 0.9, 1.8, 5), 1).value
    ('held', 'too close to call')
    >>> above(Ratio(1.04, 1.03, 1.05, 5), 1).value, above(Ratio(1.3, 1.2, 1.4, 5), 2).value
    ('too close to call', 'not held')
    """
    if not ratio.runs:
        return known(ratio.value >= bar)
    if ratio.runs >= FEWEST:
        if ratio.low > bar and ratio.value >= bar * BAND:
            return Outcome.HELD
        if ratio.high < bar and ratio.value <= bar / BAND:
            return Outcome.REFUTED
    return Outcome.CLOSE


def below(ratio: Ratio, bar: float) -> Outcome:
    """Judge whether a ratio is at most a bar."""
    return above(ratio.inverse, 1 / bar)


def within(ratio: Ratio, predicted: float, factor: float) -> Outcome:
    """Judge whether a ratio is a predicted one, up to a factor."""
    return all_of((above(ratio, predicted / factor), below(ratio, predicted * factor)))


def all_of(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome of all together: one refuted refutes, one open leaves open.

    >>> all_of([Outcome.HELD, Outcome.CLOSE]).value, all_of([Outcome.CLOSE, Outcome.REFUTED]).value
    ('too close to call', 'not held')
    """
    found = set(outcomes)
    for outcome in (Outcome.REFUTED, Outcome.WAITING, Outcome.CLOSE):
        if outcome in found:
            return outcome
    return Outcome.HELD if found else Outcome.CLOSE


def share_of(outcomes: Sequence[Outcome], bar: float) -> Outcome:
    """Judge whether a share of some comparisons holds, whichever way the close ones would go.

    >>> share_of([Outcome.HELD, Outcome.HELD, Outcome.CLOSE, Outcome.REFUTED], 0.75).value
    'too close to call'
    """
    seen = Counter(outcomes)
    if seen[Outcome.HELD] >= bar * len(outcomes):
        return Outcome.HELD
    possible = seen[Outcome.HELD] + seen[Outcome.CLOSE]
    return Outcome.CLOSE if possible >= bar * len(outcomes) else Outcome.REFUTED


def of_kind(findings: Iterable[Finding], kind: Kind) -> list[Finding]:
    """Return the findings of a kind."""
    return [finding for finding in findings if finding.kind == kind]


def verdict(findings: Sequence[Finding]) -> str:
    """Return the verdict: of the paper's claims; where it makes none here, of the others, by name.

    >>> verdict([Finding("a", Outcome.HELD, "", Kind.MODEL)])
    'held (by the model)'
    """
    notes = {Kind.PAPER: "", Kind.MODEL: " (by the model)", Kind.OURS: " (windrow's own claim)"}
    for kind, note in notes.items():
        found = of_kind(findings, kind)
        if found:
            return all_of(finding.outcome for finding in found) + note
    return Outcome.WAITING


def tally(findings: Sequence[Finding]) -> str:
    """Count the outcomes by kind.

    >>> tally([Finding("a", Outcome.HELD, ""), Finding("b", Outcome.CLOSE, "", Kind.OURS)])
    'paper: 1 held; ours: 1 too close to call'
    """
    counts = []
    for kind in Kind:
        seen = Counter(finding.outcome for finding in of_kind(findings, kind))
        if seen:
            parts = [f"{seen[outcome]} {outcome.value}" for outcome in Outcome if seen[outcome]]
            counts.append(f"{kind.value}: {', '.join(parts)}")
    return "; ".join(counts)
