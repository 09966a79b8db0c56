"""What one run of a contestant gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

EQUAL = "equal"
"""What `Measurement.check`, and the check of a bar, says of a right answer."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one run of a case gave.

    `clocks` are believed only if `check` says that the answer is equal; their median counts.
    `counts` are work and state: their mean counts, over the repeats that have them.
    """

    clocks: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)
    check: str = EQUAL
