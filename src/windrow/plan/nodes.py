"""Logical plan nodes: frozen, with derived schemas. Each opens with its equation at instant τ.

Two sorts of node: *streams* (`Scan`, `Produced`, `Istream`, `Dstream`, `Rstream`, `Delay`,
`Numbered`, `SlideInstants`), sequences of timestamped tuples, and *relations* (all others),
multisets that vary over time. A `Window` turns the first into the second. Column names are unique
inside a node's schema, which is worked out once: nodes that make one have no slots.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TypeAlias

import pyarrow as pa

from windrow.core.schema import Field, Schema
from windrow.core.types import BIGINT
from windrow.plan.catalog import Relation, Stream
from windrow.plan.expiring import Expiry
from windrow.plan.expressions import Column, Expr, columns_of
from windrow.plan.windows import WindowSpec


@dataclass(frozen=True, slots=True)
class Named:
    """An expression and the name of the column it fills."""

    name: str
    expr: Expr

    @property
    def field(self) -> Field:
        """The column this makes."""
        return Field(self.name, self.expr.type, self.expr.nullable)


@dataclass(frozen=True, slots=True)
class SortKey:
    """One term of ORDER BY: NULLs come before or after all else, whatever the direction."""

    expr: Expr
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate: ``name([DISTINCT] args) FILTER (WHERE filter)``, filling column `output`."""

    output: str
    name: str
    args: tuple[Expr, ...]
    type: pa.DataType
    distinct: bool = False
    filter: Expr | None = None
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Band:
    """A bound on two tuples' times:  low <= right.ts - left.ts <= high  (in clock units)."""

    left: str
    right: str
    low: int
    high: int

    def __post_init__(self) -> None:
        assert self.low <= self.high, "an empty band joins nothing"


class SourceSchema:
    """A node whose columns are those of its only input."""

    __slots__ = ()
    source: Plan

    @property
    def schema(self) -> Schema:
        """As the input's."""
        return self.source.schema


def _qualified(schema: Schema, alias: str) -> Schema:
    return Schema(tuple(Field(f"{alias}.{f.name}", f.type, f.nullable) for f in schema))


def _require(expr: Expr, schema: Schema, user: str) -> None:
    missing = columns_of(expr) - set(schema.names)
    assert not missing, f"{user} reads {sorted(missing)}, which its input lacks"


@dataclass(frozen=True)
class Scan:
    """S: the tuples of a declared stream in time order. A stream node."""

    stream: Stream
    alias: str

    @cached_property
    def schema(self) -> Schema:
        """Columns as ``alias.column``."""
        return _qualified(self.stream.schema, self.alias)

    @property
    def time_column(self) -> str:
        """The column that holds the tuple's time."""
        return f"{self.alias}.{self.stream.time_column}"


@dataclass(frozen=True)
class Table:
    """R(τ): a declared relation as it is at τ, all updates up to and at τ applied."""

    relation: Relation
    alias: str

    @cached_property
    def schema(self) -> Schema:
        """Columns as ``alias.column``."""
        return _qualified(self.relation.schema, self.alias)


@dataclass(frozen=True)
class Window:
    """S [spec] at τ: the tuples of the stream `source` that the window holds at τ.

    With `expiry_column`, each tuple also has when it expires (a BIGINT in clock units); with
    `ts_column`, its own ts, which tuples of a derived stream do not show otherwise.
    """

    source: Plan
    spec: WindowSpec
    expiry_column: str | None = None
    ts_column: str | None = None

    def __post_init__(self) -> None:
        assert is_stream(self.source), "only a stream can be windowed"

    @cached_property
    def schema(self) -> Schema:
        """The stream's columns, then the expiry and the ts if asked for."""
        asked = (self.expiry_column, self.ts_column)
        more = tuple(Field(name, BIGINT, nullable=False) for name in asked if name is not None)
        return self.source.schema + Schema(more) if more else self.source.schema


@dataclass(frozen=True, slots=True)
class Filter(SourceSchema):
    """σ_p: { t ∈ source(τ) | p(t) is true }.  Of a stream or a relation."""

    source: Plan
    predicate: Expr

    def __post_init__(self) -> None:
        _require(self.predicate, self.source.schema, "WHERE")


@dataclass(frozen=True)
class Project:
    """π: one output tuple a tuple, duplicates kept.  Of a stream or a relation."""

    source: Plan
    columns: tuple[Named, ...]

    def __post_init__(self) -> None:
        for column in self.columns:
            _require(column.expr, self.source.schema, "SELECT")

    @cached_property
    def schema(self) -> Schema:
        """One field a column."""
        return Schema(tuple(column.field for column in self.columns))


@dataclass(frozen=True, slots=True)
class JoinOn:
    """When two tuples match: all key pairs equal (NULL matches nothing), bands and rest hold."""

    left_keys: tuple[Expr, ...] = ()
    right_keys: tuple[Expr, ...] = ()
    bands: tuple[Band, ...] = ()
    residual: Expr | None = None

    def __post_init__(self) -> None:
        assert len(self.left_keys) == len(self.right_keys), "keys come in pairs"


@dataclass(frozen=True)
class Join:
    """L ⋈ R: { l∘r | l ∈ L(τ), r ∈ R(τ), on(l, r) }.  ts = max, exp = min."""

    left: Plan
    right: Plan
    on: JoinOn = JoinOn()

    def __post_init__(self) -> None:
        _require_on(self.left, self.right, self.on)

    @cached_property
    def schema(self) -> Schema:
        """Left columns, then right columns."""
        return self.left.schema + self.right.schema


@dataclass(frozen=True)
class NrrJoin:
    """L ⋈NRR N: { l∘n | l ∈ L(τ), n ∈ N(l.ts), on(l, n) }: the table as of the tuple's ts."""

    left: Plan
    table: Table
    on: JoinOn = JoinOn()

    def __post_init__(self) -> None:
        assert not self.table.relation.retroactive, "a retroactive relation is joined by `Join`"
        _require_on(self.left, self.table, self.on)

    @cached_property
    def schema(self) -> Schema:
        """Left columns, then the table's."""
        return self.left.schema + self.table.schema


@dataclass(frozen=True)
class Versions:
    """All versions of N: { n∘(i, j) | n ∈ N in versions i, i+1 ... j-1 }; j is endless as yet.

    Versions are numbered as the table changes. `life`: how long after it was taken out a row may
    still matter. Made where inputs that meet a table are aggregated before they do
    (`optimize/grouped_versions.py`).
    """

    source: Table
    life: int

    @property
    def first(self) -> Field:
        """The column with the first version that a row is in."""
        return Field(f"{self.source.alias}.#first", BIGINT, nullable=False)

    @property
    def end(self) -> Field:
        """The column with the version that a row is no more in."""
        return Field(f"{self.source.alias}.#end", BIGINT, nullable=False)

    @cached_property
    def schema(self) -> Schema:
        """The table's columns, and since and until which version a row is in it."""
        return self.source.schema + Schema((self.first, self.end))


@dataclass(frozen=True)
class Stamped:
    """{ s∘v | s ∈ S(τ) }: v numbers the version of a table as of the tuple's ts."""

    source: Plan
    versions: Versions

    @property
    def met(self) -> Field:
        """The column with the version's number."""
        own = self.source.schema.names[0].partition(".")[0]
        return Field(f"{own}.#met {self.versions.source.alias}", BIGINT, nullable=False)

    @cached_property
    def schema(self) -> Schema:
        """The input's columns, and the version that each tuple meets."""
        return self.source.schema + Schema((self.met,))


@dataclass(frozen=True, slots=True)
class SemiJoin:
    """L ⋉ R: { l ∈ L(τ) | ∃ r ∈ R(τ): on(l, r) }  (EXISTS, IN)."""

    left: Plan
    right: Plan
    on: JoinOn = JoinOn()

    def __post_init__(self) -> None:
        _require_on(self.left, self.right, self.on)

    @property
    def schema(self) -> Schema:
        """As the left input's."""
        return self.left.schema


@dataclass(frozen=True, slots=True)
class AntiJoin:
    """L ▷ R: { l ∈ L(τ) | ∄ r ∈ R(τ): on(l, r) }  (NOT EXISTS).

    `null_aware` is NOT IN: here ``on`` must not even be unknown for any r. A NULL among R's
    values, or a NULL in l while R is not empty, then keeps l out. It has one key pair.
    """

    left: Plan
    right: Plan
    on: JoinOn = JoinOn()
    null_aware: bool = False

    def __post_init__(self) -> None:
        _require_on(self.left, self.right, self.on)

    @property
    def schema(self) -> Schema:
        """As the left input's."""
        return self.left.schema


@dataclass(frozen=True)
class OuterJoin:
    """L ⟕ R = (L ⋈ R) ⊎ (L ▷ R) × {NULL}: tuples without a partner stay, NULLs in place of it.

    `full` is L ⟗ R, which has (R ▷ L) × {NULL} as well. What says so in ON is about which tuples
    are partners; it drops none of the side that is kept. L RIGHT JOIN R is R ⟕ L.
    """

    left: Plan
    right: Plan
    on: JoinOn = JoinOn()
    full: bool = False

    def __post_init__(self) -> None:
        assert not self.on.bands, "the windows of both sides bound an outer join"
        _require_on(self.left, self.right, self.on)

    @cached_property
    def schema(self) -> Schema:
        """Left columns, then right columns; those of a side that may be missing may be NULL."""
        left = nullable(self.left.schema) if self.full else self.left.schema
        return left + nullable(self.right.schema)


def nullable(schema: Schema) -> Schema:
    """Return the same columns, each of which may be NULL."""
    return Schema(tuple(Field(f.name, f.type) for f in schema))


@dataclass(frozen=True)
class UnionAll:
    """L ⊎ R ...: the multiset sum (merge-union)."""

    inputs: tuple[Plan, ...]

    def __post_init__(self) -> None:
        _require_alike(self.inputs)

    @cached_property
    def schema(self) -> Schema:
        """Names of the first input; a column may be NULL if it may be in any input."""
        return _merged(self.inputs)


@dataclass(frozen=True)
class Intersect:
    """L ∩ R: of a row with n copies left and m right, min(n, m); one if not `all`."""

    left: Plan
    right: Plan
    all: bool = False

    def __post_init__(self) -> None:
        _require_alike((self.left, self.right))

    @cached_property
    def schema(self) -> Schema:
        """Names of the left input."""
        return _merged((self.left, self.right))


@dataclass(frozen=True)
class Except:
    """L - R: of a row with n copies left and m right, max(0, n - m); if not `all`: n>0, m=0."""

    left: Plan
    right: Plan
    all: bool = False

    def __post_init__(self) -> None:
        _require_alike((self.left, self.right))

    @cached_property
    def schema(self) -> Schema:
        """Names of the left input."""
        return _merged((self.left, self.right))


@dataclass(frozen=True, slots=True)
class Distinct(SourceSchema):
    """δ: each row that occurs, once. NULLs are equal to one another here."""

    source: Plan


@dataclass(frozen=True)
class Aggregate:
    """γ: one row a group, folded. Without keys there is always one group, even of no tuples."""

    source: Plan
    keys: tuple[Named, ...]
    calls: tuple[AggregateCall, ...]

    def __post_init__(self) -> None:
        for key in self.keys:
            _require(key.expr, self.source.schema, "GROUP BY")
        for call in self.calls:
            for expr in (*call.args, *((call.filter,) if call.filter is not None else ())):
                _require(expr, self.source.schema, call.name)

    @cached_property
    def schema(self) -> Schema:
        """Keys, then aggregates."""
        calls = tuple(Field(c.output, c.type, c.nullable) for c in self.calls)
        return Schema(tuple(key.field for key in self.keys) + calls)


@dataclass(frozen=True, slots=True)
class TopN(SourceSchema):
    """ORDER BY keys LIMIT limit OFFSET offset. Ties: by all columns in order, ascending."""

    source: Plan
    keys: tuple[SortKey, ...]
    limit: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Refresh(SourceSchema):
    """SLIDE d: source(⌊τ/d⌋·d): the answer as of the last multiple of d, held in between.

    With `restore`, the answer at k·d also holds the results that were produced since (k-1)·d and
    have expired by k·d. Rows that do not distinguish results are copies of one another, of which
    the last inserted expires first: of a row there are p + m copies, with p the sum of its net
    increases at the instants of ((k-1)·d, k·d] and m the least number of copies in
    [(k-1)·d, k·d].
    """

    source: Plan
    slide: int
    restore: bool = False

    def __post_init__(self) -> None:
        assert self.slide > 0, "a slide is positive"


@dataclass(frozen=True, slots=True)
class Hold(SourceSchema):
    """SET hold = h: of a row as many copies as there were throughout [τ - h, τ].

    min { copies in source(t) | τ - h <= t <= τ }, with none before the query's first event.
    """

    source: Plan
    length: int

    def __post_init__(self) -> None:
        assert self.length > 0, "a hold takes time"


@dataclass(frozen=True, slots=True)
class Produced(SourceSchema):
    """The stream of results: at each τ those that source has at τ and did not have just before.

    THESIS 3.2.1's P(τ). Results count one by one, so a result is produced even if an equal one
    expires at the same instant; ISTREAM nets the two. `optimize/identify_results.py` says what a
    result of each operator is.
    """

    source: Plan


@dataclass(frozen=True)
class Numbered:
    """The same stream, each tuple with a number that no other tuple of it has."""

    source: Plan
    column: str

    def __post_init__(self) -> None:
        assert is_stream(self.source), "only the tuples of a stream are numbered"

    @cached_property
    def schema(self) -> Schema:
        """The input's columns, then the number."""
        return self.source.schema + Schema((Field(self.column, BIGINT, nullable=False),))


@dataclass(frozen=True, slots=True)
class SlideInstants:
    """When ``[ROWS n SLIDE step]`` over the stream slides: one tuple for each such instant.

    { τ | the number of tuples up to τ is past a multiple of `step` that it was not past before τ }.
    """

    source: Plan
    step: int
    column: str

    def __post_init__(self) -> None:
        assert is_stream(self.source), "only the tuples of a stream are counted"
        assert self.step > 0, "a count window slides by at least one tuple"

    @property
    def schema(self) -> Schema:
        """The instant, in clock units."""
        return Schema((Field(self.column, BIGINT, nullable=False),))


@dataclass(frozen=True, slots=True)
class Istream(SourceSchema):
    """The stream of insertions: at each τ the rows of source(τ) - source(τ⁻)."""

    source: Plan


@dataclass(frozen=True, slots=True)
class Dstream(SourceSchema):
    """The stream of deletions: at each τ the rows of source(τ⁻) - source(τ)."""

    source: Plan


@dataclass(frozen=True, slots=True)
class Rstream(SourceSchema):
    """The stream of whole answers: source(k·d) at each k·d from the query's first event on.

    `seen`: while the answer stays as it is, only so many refreshes at the begin and at the end of
    that time matter to whoever reads the stream; the others may be left out, a multiple of `by` of
    them if the answer has one row, and none if it has more and `by` is not 1.
    """

    source: Refresh
    seen: int | None = None
    by: int = 1


@dataclass(frozen=True, slots=True)
class RecentAnswers(SourceSchema):
    """RSTREAM [RANGE width]: ⊎ { source(k·d) | τ - width < k·d <= τ }, where d divides `width`.

    Of two answers of which one enters as the other leaves, only the difference is a change.
    """

    source: Refresh
    width: int

    def __post_init__(self) -> None:
        assert self.width % self.source.slide == 0, "answers enter and leave at one instant"


@dataclass(frozen=True, slots=True)
class Delay(SourceSchema):
    """The same stream, each tuple's time moved up to the next multiple of `slide`."""

    source: Plan
    slide: int

    def __post_init__(self) -> None:
        assert is_stream(self.source), "only a stream can be delayed"


class Route(Enum):
    """Whom the rows of an exchange go to."""

    KEY = "by key"
    ALL = "to all shards"
    ONE = "to one shard"


@dataclass(frozen=True, slots=True)
class Exchange(SourceSchema):
    """The same tuples, those with equal `keys` brought to one shard.  Of a stream or a relation.

    Placed last, by `optimize/place_exchanges.py`, where a query runs on several shards. `folds`:
    the node above is γ, and each shard folds its own rows first (`fold_before_exchange.py`).
    """

    source: Plan
    route: Route
    keys: tuple[Expr, ...] = ()
    folds: bool = False

    def __post_init__(self) -> None:
        assert bool(self.keys) == (self.route is Route.KEY), "rows go by keys, or have none"
        for key in self.keys:
            _require(key, self.source.schema, "an exchange")


Plan: TypeAlias = (
    Scan
    | Table
    | Window
    | Filter
    | Project
    | Join
    | NrrJoin
    | Versions
    | Stamped
    | SemiJoin
    | AntiJoin
    | OuterJoin
    | UnionAll
    | Intersect
    | Except
    | Distinct
    | Aggregate
    | TopN
    | Refresh
    | Hold
    | Produced
    | Numbered
    | SlideInstants
    | Istream
    | Dstream
    | Rstream
    | RecentAnswers
    | Delay
    | Exchange
)


def is_stream(plan: Plan) -> bool:
    """Return whether the node is a stream: a sequence, not a multiset that varies."""
    match plan:
        case Scan() | Produced() | Numbered() | SlideInstants():
            return True
        case Istream() | Dstream() | Rstream() | Delay():
            return True
        case Filter(source=source) | Project(source=source) | Exchange(source=source):
            return is_stream(source)
        case _:
            return False


def inputs_of(plan: Plan) -> tuple[Plan, ...]:
    """Return the nodes directly below, left to right."""
    match plan:
        case Scan() | Table():
            return ()
        case NrrJoin(left=left, table=table):
            return (left, table)
        case Join() | SemiJoin() | AntiJoin() | OuterJoin() | Intersect() | Except():
            return (plan.left, plan.right)
        case UnionAll(inputs=inputs):
            return inputs
        case _:
            return (plan.source,)


def nodes_of(plan: Plan) -> Iterator[Plan]:
    """Yield the node and all below it, parents first."""
    yield plan
    for below in inputs_of(plan):
        yield from nodes_of(below)


def _require_on(left: Plan, right: Plan, on: JoinOn) -> None:
    for key in on.left_keys:
        _require(key, left.schema, "a left join key")
    for key in on.right_keys:
        _require(key, right.schema, "a right join key")
    for band in on.bands:
        assert band.left in left.schema, f"{band.left} is not a column of the left input"
        assert band.right in right.schema, f"{band.right} is not a column of the right input"
    if on.residual is not None:
        _require(on.residual, left.schema + right.schema, "a join predicate")


def _require_alike(inputs: tuple[Plan, ...]) -> None:
    types = {tuple(field.type for field in plan.schema) for plan in inputs}
    assert len(types) == 1, "inputs of a set operation have the same column types"


def _merged(inputs: tuple[Plan, ...]) -> Schema:
    schemas = [plan.schema for plan in inputs]
    return Schema(
        tuple(
            Field(first.name, first.type, any(s.fields[i].nullable for s in schemas))
            for i, first in enumerate(schemas[0])
        )
    )


def as_column(field: Field) -> Column:
    """Return the expression that reads a field."""
    return Column(field.name, field.type, field.nullable)


@dataclass(frozen=True, slots=True)
class Keyed:
    """The root of a query with the keys of ORDER BY that SELECT does not give, and the order."""

    plan: Plan
    order: tuple[SortKey, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """A bound query: its plan, the order its answer is shown in, and its own text.

    `order` is over the root's columns; an order by other keys is in `keyed`.
    `join_algorithm`, `early_aggregation` and `expiry` are what SET said of them when it was bound;
    `asked` are all settings that were not at their defaults then.
    """

    root: Plan
    order: tuple[SortKey, ...] = ()
    text: str = ""
    name: str = ""
    join_algorithm: str = "auto"
    early_aggregation: str = "auto"
    expiry: Expiry = field(default_factory=Expiry)
    asked: tuple[tuple[str, object], ...] = ()
    keyed: Keyed | None = None
