"""Random numbers without a state: the n-th draw of an event is a hash of (seed, event, n).

    event ──mix──► base ─┬─ mix(base + 1·γ)   draw 1
                         ├─ mix(base + 2·γ)   draw 2        γ: the golden ratio in 64 bits
                         └─ ...

So any stretch of events can be made apart from all others, in any order, by any worker. The
mixer is that of SplitMix64 [Steele, Lea & Flood, OOPSLA 2014, fig. 14].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]
F64 = npt.NDArray[np.float64]

GAMMA = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


def mix(words: U64) -> U64:
    """Return each word hashed: a bijection of 64 bits in which every bit depends on every other."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


@dataclass(frozen=True, slots=True)
class Draws:
    """The draws of some events, by their number."""

    base: U64

    @classmethod
    def of(cls, seed: int, events: I64) -> Draws:
        """Return the draws of events."""
        start = mix(np.array([seed & MASK], np.uint64))
        return cls(mix(events.astype(np.uint64) * np.uint64(GAMMA) + start))

    def word(self, n: int) -> U64:
        """Return draw n: 64 bits an event."""
        return mix(self.base + np.uint64(n * GAMMA & MASK))

    def unit(self, n: int) -> F64:
        """Return draw n as numbers of [0, 1)."""
        return (self.word(n) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def below(self, n: int, bounds: I64 | int) -> I64:
        """Return draw n as whole numbers of [0, bound)."""
        return (self.unit(n) * bounds).astype(np.int64)

    def hot(self, n: int, ratio: int) -> npt.NDArray[np.bool_]:
        """Return True with a probability of 1 - 1/ratio."""
        return self.below(n, ratio) > 0
