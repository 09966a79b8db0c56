"""When rows of two inputs, or of many, are joined.

    FROM a, b, c WHERE a.k = b.k AND b.k = c.k AND b.x = c.x AND WINDOW(a, b) = 5 SECONDS

    equalities    (k, k, k)  (-, x, x)        classes of columns with one value
    bands         a ── b

A result is made of one row of each input; it begins with the newest and ends with the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from windrow.core.schema import Schema
from windrow.plan.expressions import Expr


class Form(Enum):
    """How a side lets go of rows. All forms give the same results."""

    FIFO = "fifo"  # a ring with a moving tail: WKS edges
    CALENDAR = "calendar"  # a pool and a calendar of expiries: WK and MON edges
    DIRECT = "direct"  # a plain list that is scanned: the baseline of the papers


class Method(Enum):
    """How the loops of a join of many inputs find their rows. All methods give one answer."""

    HASH = "hash"  # by an index where an equality leads to the input, else by looking at all
    LOOPS = "loops"  # by looking at all rows of the input [MULTI 3.2]
    NAIVE = "naive"  # the same, and new tuples stay where their input stands in the order


@dataclass(frozen=True, slots=True)
class TimeBand:
    """``low <= right - left <= high`` on two int64 time columns.

    `left_lag` says how far the column of a left row may lie behind the row's ts: 0 if it is the
    ts; None if that is not known. Lags let rows be dropped once no partner can come any more.
    """

    left: str
    right: str
    low: int
    high: int
    left_lag: int | None = None
    right_lag: int | None = None


@dataclass(frozen=True)
class JoinSide:
    """One input: its columns, the key among them, the columns to emit, and those only read.

    `reads` are columns that the residual needs besides the output.
    """

    schema: Schema
    keys: tuple[str, ...]
    output: tuple[str, ...]
    reads: tuple[str, ...] = ()

    @cached_property
    def kept(self) -> tuple[str, ...]:
        """The columns that a pair may need: output, then those only read."""
        return self.output + tuple(n for n in self.reads if n not in self.output)


@dataclass(frozen=True)
class JoinCondition:
    """Keys equal pairwise, all bands, and the residual on the columns of the pair."""

    left: JoinSide
    right: JoinSide
    bands: tuple[TimeBand, ...] = ()
    residual: Expr | None = None

    def __post_init__(self) -> None:
        assert len(self.left.keys) == len(self.right.keys), "keys come in pairs"

    @cached_property
    def output(self) -> Schema:
        """Left columns, then right columns, as emitted."""
        left = tuple(self.left.schema[n] for n in self.left.output)
        return Schema(left + tuple(self.right.schema[n] for n in self.right.output))

    @property
    def every_candidate_joins(self) -> bool:
        """Return whether all pairs with equal keys are results: no band, no residual.

        With a band a row can be of no use before its results expire. With a residual there may be
        many more candidates than results, and looking for them twice costs more than storing
        results. So only without them a join emits the expirations of its results itself.
        """
        return not self.bands and self.residual is None


def bands_imply_liveness(bands: tuple[TimeBand, ...]) -> bool:
    """Return whether the time until which rows are kept decides alone which pairs bands allow.

    Every band is on the tuples' own ts, around 0. The later of two tuples is then the one that
    arrives, and the other is kept until the last ts at which it may.
    """
    return all(b.left_lag == b.right_lag == 0 and b.low <= 0 <= b.high for b in bands)


@dataclass(frozen=True)
class JoinInput:
    """One input of many: its columns, those to emit, and those that the residual reads besides.

    `silent`: its changes make no results by themselves, only rows for others to meet; it stands
    before those, so that changes of an instant come first.
    """

    schema: Schema
    output: tuple[str, ...]
    reads: tuple[str, ...] = ()
    silent: bool = False

    @cached_property
    def kept(self) -> tuple[str, ...]:
        """The columns that a result may need: output, then those only read."""
        return self.output + tuple(n for n in self.reads if n not in self.output)


@dataclass(frozen=True)
class Equality:
    """Columns that have one value in a result: of each input some, as many of each, or none.

    NULL equals nothing. Equalities between the same inputs are one, with several columns.
    """

    columns: tuple[tuple[str, ...], ...]

    @property
    def inputs(self) -> tuple[int, ...]:
        """The inputs that it binds."""
        return tuple(i for i, names in enumerate(self.columns) if names)


@dataclass(frozen=True, slots=True)
class PairBand:
    """A band on the times of two inputs: ``low <= second - first <= high``."""

    first: int
    second: int
    band: TimeBand


@dataclass(frozen=True, slots=True)
class Compare:
    """``first.column OP second.column`` on words whose order is that of the values.

    `op` is one of lt, le, gt, ge, ne. NULL compares with nothing.
    """

    first: int
    column: str
    op: str
    second: int
    other: str


@dataclass(frozen=True)
class MultiTerms:
    """All equalities, bands and comparisons hold. An operator has a residual as well."""

    inputs: tuple[JoinInput, ...]
    equalities: tuple[Equality, ...] = ()
    bands: tuple[PairBand, ...] = ()
    compares: tuple[Compare, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.inputs)
        assert n >= 2, "a join has two inputs at least"
        assert all(len(e.columns) == n for e in self.equalities), "an entry for each input"
        assert all(len(e.inputs) >= 2 for e in self.equalities), "an equality binds two at least"

    @cached_property
    def output(self) -> Schema:
        """The inputs' columns as emitted, one input after the other."""
        return Schema(tuple(i.schema[n] for i in self.inputs for n in i.output))

    def band_times(self, which: int) -> list[str]:
        """Return the time columns of an input that bands read."""
        read = [b.band.left for b in self.bands if b.first == which]
        return read + [b.band.right for b in self.bands if b.second == which]


@dataclass(frozen=True)
class MultiCondition(MultiTerms):
    """The terms, and the residual on the columns of the result."""

    residual: Expr | None = None
