"""What enters a plan: which tuples, as what; on shards, whom they go to, and how they may merge."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from windrow.core.schema import Schema
from windrow.plan.catalog import Relation, Stream
from windrow.plan.expressions import Column, Expr, columns_of, conjunction, substitute
from windrow.plan.nodes import Named, Plan, Route


@dataclass(frozen=True, slots=True)
class SourceScan:
    """π_columns(σ_predicate(stream)): which tuples enter, and as what.

    Expressions read the stream's columns by their declared names.
    """

    entry: Stream | Relation
    columns: tuple[Named, ...]
    predicate: Expr | None = None

    @property
    def schema(self) -> Schema:
        """The columns that enter the plan."""
        return Schema(tuple(c.field for c in self.columns))

    @property
    def begins(self) -> bool:
        """Return whether its first tuple or change is an event with which a query can begin."""
        return isinstance(self.entry, Stream) or self.entry.retroactive

    @property
    def reads(self) -> frozenset[str]:
        """The declared columns that are looked at."""
        exprs = [c.expr for c in self.columns]
        if self.predicate is not None:
            exprs.append(self.predicate)
        return frozenset[str]().union(*map(columns_of, exprs))

    def filtered(self, predicate: Expr) -> SourceScan:
        """Return the source with one more condition on its columns."""
        inner = self.at_entry(predicate)
        both = (inner,) if self.predicate is None else (self.predicate, inner)
        return SourceScan(self.entry, self.columns, conjunction(both))

    def projected(self, columns: tuple[Named, ...]) -> SourceScan:
        """Return the source with other columns, made from its own."""
        made = tuple(Named(c.name, self.at_entry(c.expr)) for c in columns)
        return SourceScan(self.entry, made, self.predicate)

    def only(self, needed: frozenset[str]) -> SourceScan:
        """Return the source without the columns that nobody reads."""
        kept = tuple(c for c in self.columns if c.name in needed)
        return SourceScan(self.entry, kept, self.predicate)

    def at_entry(self, expr: Expr) -> Expr:
        """Return an expression over this source's columns as one over the declared columns."""
        by_name = {c.name: c.expr for c in self.columns}
        return substitute(expr, lambda column: by_name[column.name])


def as_it_is(source: SourceScan) -> SourceScan:
    """Return the source of rows that have its columns already, and are those that enter."""
    columns = tuple(Named(f.name, Column(f.name, f.type, f.nullable)) for f in source.schema)
    return SourceScan(source.entry, columns)


@dataclass(frozen=True, slots=True)
class Crossing:
    """Whom the rows of an exchange go to. Keys read the columns of its input.

    `ends`: rows carry when they expire; `weighs`: they carry a weight.
    """

    route: Route
    keys: tuple[Expr, ...] = ()
    ends: bool = False
    weighs: bool = False


class Merge(Enum):
    """How the parts of two rows become one."""

    SUM = "sum"
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True, slots=True)
class PartialColumn:
    """A column of parts. A row whose value is not smaller than `limit` is not merged."""

    name: str
    merge: Merge
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Pane:
    """Which times are alike under SLIDE `slide` in a RANGE of `width`."""

    slide: int
    width: int

    def of(self, ts: int) -> tuple[int, int]:
        """Return the pane of a time: when its tuples are first and no longer in the answer.

        >>> pane = Pane(slide=4, width=10)
        >>> [pane.of(ts) for ts in (4, 5, 6, 7, 8)]
        [(4, 16), (8, 16), (8, 16), (8, 20), (8, 20)]
        """
        return self._up(ts), self._up(ts + self.width)

    def _up(self, ts: int) -> int:
        return ts + -ts % self.slide

    @property
    def length(self) -> int:
        """How long a pane is, at most: where RANGE is no multiple of SLIDE there are two."""
        rest = self.width % self.slide
        return max(rest, self.slide - rest)


@dataclass(frozen=True, slots=True)
class Partials:
    """An input of parts: which of its columns make the group, and how the others merge."""

    leaf: Plan
    pane: Pane
    keys: tuple[str, ...]
    parts: tuple[PartialColumn, ...]

    def is_of(self, plan: Plan) -> bool:
        """Return whether a node of the plan is this input."""
        return plan is self.leaf
