"""How sure a number is: a clock over its repeats, and how many times one is another."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median, quantiles


@dataclass(frozen=True, slots=True)
class Spread:
    """A number over the repeats: its median, and between which quartiles it lay.

    `runs` are the repeats of a clock; a number that is counted or computed has none, and no noise.
    """

    median: float
    low: float
    high: float
    runs: int = 0

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        """Return the spread of a clock.

        >>> Spread.of([4.0, 1.0, 2.0])
        Spread(median=2.0, low=1.5, high=3.0, runs=3)
        """
        if len(values) == 1:
            return cls(values[0], values[0], values[0], 1)
        low, _, high = quantiles(values, n=4, method="inclusive")
        return cls(median(values), low, high, len(values))

    @classmethod
    def counted(cls, value: float) -> Spread:
        """Return the spread of a number that has no noise."""
        return cls(value, value, value)


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times larger one number is than another: of the medians, and at its bounds.

    The bounds are those of the quartiles: the one's low over the other's high, and the reverse.
    They hold 1 between them where the quartile ranges overlap. `runs` are the fewest of a clock.
    """

    value: float
    low: float
    high: float
    runs: int = 0

    @classmethod
    def of(cls, over: Spread, under: Spread) -> Ratio:
        """Compare two numbers.

        >>> Ratio.of(Spread(6, 4, 8, 5), Spread(2, 1, 4, 5))
        Ratio(value=3.0, low=1.0, high=8.0, runs=5)
        """
        timed = [runs for runs in (over.runs, under.runs) if runs]
        return cls(
            over.median / under.median,
            over.low / under.high,
            over.high / under.low,
            min(timed, default=0),
        )

    def over(self, other: Ratio) -> Ratio:
        """Return how many times larger this ratio is than another."""
        one = Spread(self.value, self.low, self.high, self.runs)
        return Ratio.of(one, Spread(other.value, other.low, other.high, other.runs))

    @property
    def inverse(self) -> Ratio:
        """Return the other over the one."""
        return Ratio(1 / self.value, 1 / self.high, 1 / self.low, self.runs)

    def __str__(self) -> str:
        """State the ratio in words, with its bounds if it has noise.

        >>> str(Ratio(2.15, 1.98, 2.314, 5)), str(Ratio(14.84, 14.84, 14.84))
        ('2.15 times (1.98 to 2.31)', '14.8 times')
        """
        text = f"{short(self.value)} times"
        return f"{text} ({short(self.low)} to {short(self.high)})" if self.runs > 1 else text


def short(ratio: float) -> str:
    """Return a ratio with as many digits as matter.

    >>> short(1.0), short(23.45), short(1234.5)
    ('1.00', '23.4', '1,234')
    """
    digits = 2 if ratio < 10 else 1 if ratio < 100 else 0
    return f"{ratio:,.{digits}f}"
