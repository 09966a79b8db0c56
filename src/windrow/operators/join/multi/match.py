"""When n rows match: the parameters of a join of many inputs.

    FROM a, b, c WHERE a.k = b.k AND b.k = c.k AND b.x = c.x AND WINDOW(a, b) = 5 SECONDS

    equalities    (k, k, k)  (-, x, x)        classes of columns with one value
    bands         a ── b

Results are made of one row of each input; they begin with the newest and end with the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from windrow.core.schema import Field, Schema
from windrow.operators.codec import RowCodec
from windrow.operators.join.match import Residual, TimeBand

Order = tuple[int, ...]
"""Positions of inputs, outermost loop first."""


class Method(Enum):
    """How the loops of a join of many inputs find their rows. All methods give one answer."""

    HASH = "hash"  # by an index where an equality leads to the input, else by looking at all
    LOOPS = "loops"  # by looking at all rows of the input [MULTI 3.2]
    NAIVE = "naive"  # the same, and new tuples stay where their input stands in the order


@dataclass(frozen=True)
class Input:
    """One input: its columns, those to emit, and those that the residual reads besides.

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

    def codec(self, schema: Schema, at: int) -> RowCodec:
        """Return how the columns of input `at` become words; all inputs have one layout."""
        fields = (schema[name] for name in self.columns[at])
        return RowCodec(tuple(Field(f.name, f.type, nullable=False) for f in fields))


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
class MultiMatch:
    """All equalities, bands and comparisons hold, and the residual on the columns of the result."""

    inputs: tuple[Input, ...]
    equalities: tuple[Equality, ...] = ()
    bands: tuple[PairBand, ...] = ()
    compares: tuple[Compare, ...] = ()
    residual: Residual | None = None

    def __post_init__(self) -> None:
        n = len(self.inputs)
        assert n >= 2, "a join has two inputs at least"
        assert all(len(e.columns) == n for e in self.equalities), "an entry for each input"
        assert all(len(e.inputs) >= 2 for e in self.equalities), "an equality binds two at least"

    @cached_property
    def output(self) -> Schema:
        """The inputs' columns as emitted, one input after the other."""
        return Schema(tuple(i.schema[n] for i in self.inputs for n in i.output))
