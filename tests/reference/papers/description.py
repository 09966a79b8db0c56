"""What a query says, as data: sources with windows, conditions, groups, output operators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

BOUNDED = ("range", "rows", "partition", "now", "tumble")
"""Windows that tuples leave. The others (unbounded, since) only grow."""


@dataclass(frozen=True, slots=True)
class Col:
    """A column of a source, or, without an alias, of the block's own FROM row."""

    alias: str
    name: str


@dataclass(frozen=True, slots=True)
class Plus:
    """``column + number``."""

    col: Col
    number: int


@dataclass(frozen=True, slots=True)
class Times:
    """``column * number``."""

    col: Col
    number: int


Expr = Col | Plus | Times


@dataclass(frozen=True, slots=True)
class Agg:
    """COUNT(*) (`arg` is None), COUNT, SUM, MIN, MAX, AVG, or COUNT DISTINCT of an expression."""

    function: str
    arg: Expr | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """An item of SELECT, under its output name."""

    expr: Expr | Agg
    name: str


@dataclass(frozen=True, slots=True)
class Compare:
    """``left op right``; a right side may be a number."""

    left: Expr | Agg
    op: str
    right: Expr | int


@dataclass(frozen=True, slots=True)
class Window:
    """What stands in brackets. `size` is a length, a count or (SINCE) an instant."""

    kind: str
    size: int = 0
    slide: int | None = None
    internal: bool = False
    key: str = ""

    @property
    def period(self) -> int | None:
        """The time between refreshes that this window asks for."""
        if self.kind == "tumble":
            return self.size
        return self.slide if self.kind == "range" else None


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream in FROM; without a window it is unbounded."""

    name: str
    alias: str
    window: Window | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A relation, or a non-retroactive relation, in FROM."""

    name: str
    alias: str
    retroactive: bool = True


@dataclass(frozen=True, slots=True)
class Sub:
    """A sub-query in FROM without a window: a relation."""

    query: Query
    alias: str


@dataclass(frozen=True, slots=True)
class Derived:
    """A sub-query in FROM with a window: a stream of its results, windowed."""

    query: Query
    alias: str
    window: Window


Source = Stream | Table | Sub | Derived


@dataclass(frozen=True, slots=True)
class PairBound:
    """``WINDOW(left, right) = width`` or, directed, DWINDOW; without names, for all pairs."""

    width: int
    left: str = ""
    right: str = ""
    directed: bool = False


@dataclass(frozen=True, slots=True)
class Member:
    """``[NOT] EXISTS (inner)`` or ``value [NOT] IN (inner)``. EXISTS may be correlated."""

    inner: Block
    negated: bool = False
    value: Expr | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """A term of ORDER BY."""

    expr: Expr | Agg
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """SELECT ... FROM ... WHERE ... GROUP BY ... HAVING ... ORDER BY ... LIMIT ..."""

    sources: tuple[Source, ...]
    items: tuple[Item, ...]
    where: tuple[Compare, ...] = ()
    pairs: tuple[PairBound, ...] = ()
    members: tuple[Member, ...] = ()
    group: tuple[Col, ...] = ()
    having: tuple[Compare, ...] = ()
    distinct: bool = False
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0

    @property
    def aggregated(self) -> bool:
        """Whether rows are groups."""
        return bool(self.group or self.having) or any(isinstance(i.expr, Agg) for i in self.items)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the output."""
        return tuple(item.name for item in self.items)


@dataclass(frozen=True, slots=True)
class SetOp:
    """UNION, EXCEPT or INTERSECT, of bags if `keep_all`."""

    kind: str
    keep_all: bool
    left: Query
    right: Query

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the output are the left side's."""
        return self.left.columns


Body = Block | SetOp


@dataclass(frozen=True, slots=True)
class Query:
    """A body under its output operator: view, rstream, istream, dstream, wstream."""

    body: Body
    kind: str = "view"
    restore: bool = False
    window: Window | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the output."""
        return self.body.columns


def windows_of(block: Block) -> list[Window]:
    """The written windows of a block's own sources."""
    return [s.window for s in block.sources if isinstance(s, Stream | Derived) and s.window]


def is_external(source: Source) -> bool:
    """Whether a source's tuples expire from the results: a bounded window, or a sub-query."""
    if isinstance(source, Sub):
        return True
    if isinstance(source, Table) or source.window is None:
        return False
    return source.window.kind in BOUNDED and not source.window.internal


def is_internal(body: Body) -> bool:
    """Whether a body's windows are internal, so that its output is append-only."""
    if isinstance(body, SetOp):
        return False
    return any(w.internal for w in windows_of(body)) and not any(map(is_external, body.sources))


def is_mixed(block: Block) -> bool:
    """Whether internal windows stand beside external ones."""
    return any(w.internal for w in windows_of(block)) and any(map(is_external, block.sources))


def is_stream(query: Query) -> bool:
    """Whether a query's output is an append-only stream, not an answer that changes."""
    if query.kind in ("istream", "dstream"):
        return True
    return query.kind != "wstream" and is_internal(query.body)


def period_of(body: Body) -> int | None:
    """The time between refreshes: the SLIDE of the body's windows, of sub-queries too.

    A windowed sub-query, and one whose output is a stream, has a SLIDE of its own.
    """
    return next((w.period for w in scope_windows(body) if w.period), None)


def is_refreshed_around(query: Query) -> bool:
    """Whether a sub-query is refreshed with the query around it: one that is no stream."""
    return not is_stream(query) and query.kind != "wstream"


def scope_windows(body: Body) -> Iterator[Window]:
    """The windows whose SLIDE is that of the query around them."""
    if isinstance(body, SetOp):
        for side in (body.left, body.right):
            if is_refreshed_around(side):
                yield from scope_windows(side.body)
        return
    yield from windows_of(body)
    for source in body.sources:
        if isinstance(source, Sub) and is_refreshed_around(source.query):
            yield from scope_windows(source.query.body)
    for member in body.members:
        yield from scope_windows(member.inner)


def sources_of(body: Body) -> Iterator[Source]:
    """All sources of a body, at any depth."""
    if isinstance(body, SetOp):
        yield from sources_of(body.left.body)
        yield from sources_of(body.right.body)
        return
    for source in body.sources:
        yield source
        if isinstance(source, Sub | Derived):
            yield from sources_of(source.query.body)
    for member in body.members:
        yield from sources_of(member.inner)


def reads_stream(body: Body) -> bool:
    """Whether any stream tuple stands behind a body's rows."""
    return any(isinstance(source, Stream | Derived) for source in sources_of(body))
