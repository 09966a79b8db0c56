"""The tables behind the oracle: every node's answers in DuckDB, each made when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise

import duckdb
import pyarrow as pa

from tests.reference import oracle_sql as sql
from tests.reference.duckdb_sql import duckdb_type
from tests.reference.histories import Change, Row, World, rows_of
from windrow.core.schema import Field, Schema
from windrow.core.time import BEGINNING, FOREVER, last_multiple, next_multiple
from windrow.core.types import BIGINT, INTERVAL, NULL, TIMESTAMP
from windrow.optimize.identify_results import identify_results
from windrow.plan.functions.moments import FIRST_MOMENT
from windrow.plan.nodes import (
    Aggregate,
    AntiJoin,
    Delay,
    Distinct,
    Dstream,
    Except,
    Filter,
    Hold,
    Intersect,
    Istream,
    Join,
    NrrJoin,
    Numbered,
    OuterJoin,
    Plan,
    Produced,
    Project,
    Refresh,
    Rstream,
    Scan,
    SemiJoin,
    SlideInstants,
    Table,
    TopN,
    UnionAll,
    Window,
    inputs_of,
)
from windrow.plan.windows import Range, Until

Instants = tuple[int, ...]

UNTIMED = 2**61
"""How far below the ts of tuples the times of rows of relations lie."""

HIDDEN = (Field("__ts", BIGINT), Field("__seq", BIGINT))


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """One database for all oracles (opening one takes 30 ms); tables are each cursor's own."""
    database = duckdb.connect(":memory:")
    database.execute("SET threads = 1")
    return database


class Tables:
    """Tables of the nodes of one plan in one world, at instants up to `until` if given."""

    def __init__(
        self, root: Plan, world: World, until: int | None, begins: int | None = None
    ) -> None:
        self._world = world
        self._until = until
        self._connection = _database().cursor()
        self._made: dict[object, str] = {}
        self._loads: list[str] = []
        self._instants: dict[int, Instants] = {}
        self._registered = () if begins is None else (begins,)
        self._begins = min((*self._registered, *self._events(root)), default=None)
        self._by_result: dict[int, Plan] = {}
        self._timed = _timed_nodes(root)

    # ------------------------------------------------------------------ instants

    def _events(self, root: Plan) -> Iterator[int]:
        """When a query may begin: with a tuple, or with a change of a retroactive relation.

        Rows that were always there are an event for queries of relations alone: they stand at the
        first moment of all before any time is known [semantics.md 4]; not for those that were
        registered later, over what was there.
        """
        alone = not self._registered and not _reads_streams(root)
        for node in walk(root):
            match node:
                case Scan(stream):
                    yield from self._world.streams[stream.name].times
                case Table(relation) if relation.retroactive:
                    yield from self._world.relations[relation.name].times
                    if alone and any(ts == BEGINNING for ts, *_ in self._changes_of(relation.name)):
                        yield FIRST_MOMENT

    def _changes_of(self, relation: str) -> list[Change]:
        return self._world.relations[relation].changes

    def instants(self, node: Plan) -> Instants:
        """Every instant at which the node's answer can change, and some more, ascending.

        The first is the query's first event, which may lie before any of the node's own.
        """
        if id(node) not in self._instants:
            last = FOREVER - 1 if self._until is None else self._until
            begun = () if self._begins is None else (self._begins,)
            found = {i for i in (*begun, *self._own_instants(node)) if i <= last}
            self._instants[id(node)] = tuple(sorted(found))
        return self._instants[id(node)]

    def _own_instants(self, node: Plan) -> Iterator[int]:
        match node:
            case Scan(stream):
                yield from self._world.streams[stream.name].times
            case Table(relation):
                yield from self._world.relations[relation.name].times
            case NrrJoin(left=left):
                yield from self.instants(left)
            case Refresh(source, slide, restore):
                yield from self.instants(source)[:1]
                for refresh in self._changing_refreshes(node):
                    yield refresh
                    if restore:
                        yield refresh + slide
            case _:
                for below in inputs_of(node):
                    yield from self.instants(below)
        match node:
            case Window(source, Range() | Until()):
                yield from self._expiries(node)
            case Rstream(source):
                yield from self._refreshes(source)
            case Delay(source, slide):
                yield from (next_multiple(i, slide) for i in self.instants(source))
            case Hold(source, length):
                yield from (i + length for i in self.instants(source))

    def _expiries(self, node: Window) -> Iterator[int]:
        stream = self.stream(node.source)
        match node.spec:
            case Range(width):
                yield from (ts + width for ts in self._integers(f"SELECT __ts FROM {stream}"))
            case Until(columns):
                least = f"least({', '.join(map(sql.quote, columns))})"
                yield from self._integers(f"SELECT {least} FROM {stream} WHERE __ts < {least}")

    def _first_refresh(self, node: Refresh) -> int | None:
        """The first multiple of the slide at or after the query's first event."""
        return None if self._begins is None else next_multiple(self._begins, node.slide)

    def _changing_refreshes(self, node: Refresh) -> Iterator[int]:
        """The refreshes that follow a change of the source; others repeat the one before."""
        first = self._first_refresh(node)
        if first is not None:
            yield first
            due = {next_multiple(i, node.slide) for i in self.instants(node.source)}
            yield from (refresh for refresh in due if refresh > first)

    def _refreshes(self, node: Refresh) -> range:
        """All refreshes: from the first to `until`, or to when the source changes no more."""
        first = self._first_refresh(node)
        if first is None:
            return range(0)
        last = self._until
        if last is None:
            last = next_multiple(self.instants(node.source)[-1], node.slide)
        return range(first, last + 1, node.slide)

    # ------------------------------------------------------------------ results

    def _identified(self, node: Plan) -> Plan:
        """The node with columns that tell its results apart, by what `identify_results` says.

        Whether that is what the papers call a result is judged by `tests/reference/papers`,
        which knows no plan.
        """
        if id(node) not in self._by_result:
            made = identify_results(node, keep_produced=False)
            self._by_result[id(node)] = made
            self._timed |= _timed_nodes(made)
            self._by_result |= {id(n): n for n in walk(made) if isinstance(n, Refresh)}
        return self._by_result[id(node)]

    # ------------------------------------------------------------------ streams

    def stream(self, node: Plan) -> str:
        """The table of all tuples of a stream node: ``__ts``, ``__seq``, columns."""
        return self._make((id(node), "stream"), lambda: self._stream_select(node))

    def _stream_select(self, node: Plan) -> str:
        schema = node.schema
        match node:
            case Scan(stream):
                rows = self._world.streams[stream.name].rows
                numbered = [(row[0], seq, *row[1:]) for seq, row in enumerate(rows)]
                return self._loaded(Schema(HIDDEN + schema.fields), numbered)
            case Filter(source) | Project(source):
                return sql.tuplewise_select(node, self.stream(source), "__ts, __seq")
            case Numbered(source, column):
                number = f"__seq AS {sql.quote(column)}"
                return f"SELECT *, {number} FROM {self.stream(source)}"
            case SlideInstants(source, step, column):
                return sql.slide_instants_select(self.stream(source), step, column)
            case Produced():
                return self._stream_select(self._identified(node))
            case Istream(source):
                return sql.stream_of_changes_select(schema, self.changes(source), +1)
            case Dstream(source):
                return sql.stream_of_changes_select(schema, self.changes(source), -1)
            case Rstream(source):
                answers = self.relation(source, tuple(self._refreshes(source)))
                at = sql.listed("__at AS __ts", sql.columns_sql(schema))
                rows_sql = f"SELECT {at} FROM {answers}"
                return sql.ordered_select(schema, rows_sql, sql.order_sql(schema))
            case Delay(source, slide):
                pairs = {i: next_multiple(i, slide) for i in self.instants(source)}
                columns = sql.columns_sql(schema)
                rows_sql = f"""
                    SELECT {sql.listed("p.__due AS __ts", "s.__seq", columns)}
                    FROM {self.stream(source)} s JOIN {self._pairs(pairs, "__due")} p
                    ON s.__ts = p.__at"""
                order = "__seq" if _arrives(source) else sql.order_sql(schema)
                return sql.ordered_select(schema, rows_sql, order)
            case _:
                raise AssertionError(f"{type(node).__name__} is not a stream")

    # ------------------------------------------------------------------ relations

    def relation(self, node: Plan, at: Instants) -> str:
        """The table of a relation node's answers at each of `at`: ``__at``, ``__ts``, columns."""
        if id(node) in self._timed and (_is_made(node) or isinstance(node, Table)):
            return self._born(node, at) if _reads_streams(node) else self._appeared(node, at)
        return self._answers(node, at)

    def _answers(self, node: Plan, at: Instants) -> str:
        """The answers, in the order of their values.

        A float sum depends on the order of its terms: of the same values at two instants it
        must be the same, or it would seem to change.
        """
        order = sql.listed("__at", sql.columns_sql(node.schema))
        return self._make(
            (id(node), at),
            lambda: f"SELECT * FROM ({self._relation_select(node, at)}) ORDER BY {order}",
        )

    def _born(self, node: Plan, at: Instants) -> str:
        """The answers, where a tuple without a ts of its own has the time of its appearing."""
        return self._make(
            (id(node), at, "born"),
            lambda: sql.born_select(
                node.schema, self._answers(node, at), self.changes(node), self._begun
            ),
        )

    def _with_times(self, node: Plan, at: Instants) -> str:
        """The answers, and as of when each looks at an NRR, ``__met``.

        An update at τ "affects only those stream tuples which arrive after time τ" [THESIS 3.3.1],
        so a result looks at N as of the largest ts of its stream tuples, and rows of relations,
        which have none, have no say [Def. 3.1; semantics.md 10]. A result of relations alone looks
        at N as of when it was produced: when the last of its rows came, or the query began.
        """
        met = f"CASE WHEN __ts < {-UNTIMED // 2} THEN __ts + {UNTIMED} ELSE __ts END AS __met"
        return self._make(
            (id(node), at, "with times"),
            lambda: f"SELECT *, {met} FROM {self.relation(node, at)}",
        )

    def _appeared(self, node: Plan, at: Instants) -> str:
        """The answers of relations alone: when each row came, below the ts of every tuple.

        So the largest ts of a result is that of its tuples, if there are any.
        """
        names = sql.columns_sql(node.schema)
        ts = f"greatest(__ts, {self._begun}) - {UNTIMED} AS __ts"
        return self._make(
            (id(node), at, "appeared"),
            lambda: f"SELECT {sql.listed('__at', ts, names)} FROM {self._born(node, at)}",
        )

    @property
    def _begun(self) -> int:
        """When the query begins; any time where it does not."""
        return 0 if self._begins is None else self._begins

    def changes(self, node: Plan) -> str:
        """The table of net changes, from the empty answer on: ``__ts``, columns, count ``__n``."""
        instants = self.instants(node)
        return self._make(
            (id(node), "changes"),
            lambda: sql.changes_select(
                node.schema,
                self._answers(node, instants),
                self._pairs(dict(pairwise(instants)), "__then"),
            ),
        )

    def _relation_select(self, node: Plan, at: Instants) -> str:
        instants = self._instants_table(at)
        match node:
            case Table():
                changes = self._relation_changes(node)
                return sql.table_select(node.schema, changes, instants)
            case Window(source):
                return sql.window_select(node, self.stream(source), instants)
            case Filter(source) | Project(source):
                tuples = self._answers if _is_made(source) else self.relation
                return sql.tuplewise_select(node, tuples(source, at), "__at, __ts")
            case OuterJoin(left, right):
                return sql.outer_join_select(
                    node, self.relation(left, at), self.relation(right, at)
                )
            case Join(left, right) | SemiJoin(left, right) | AntiJoin(left, right):
                return sql.join_select(node, self.relation(left, at), self.relation(right, at))
            case NrrJoin(left, table):
                met = self._with_times(left, at)
                times = f"SELECT DISTINCT __met FROM {met} WHERE __met IS NOT NULL ORDER BY __met"
                versions = self._answers(table, tuple(self._integers(times)))
                return sql.nrr_join_select(node, met, versions)
            case UnionAll(inputs):
                return sql.union_select(node, [self.relation(source, at) for source in inputs])
            case Intersect(left, right) | Except(left, right):
                return sql.set_select(node, self.relation(left, at), self.relation(right, at))
            case Distinct(source):
                return sql.distinct_select(node, self.relation(source, at))
            case Aggregate(source):
                return sql.aggregate_select(node, self.relation(source, at), instants)
            case TopN(source):
                return sql.top_select(node, self.relation(source, at))
            case Refresh(restore=True) if self._identified(node) is not node:
                return self._relation_select(self._identified(node), at)
            case Refresh():
                return self._refresh_select(node, at)
            case Hold():
                return self._hold_select(node, at)
            case _:
                raise AssertionError(f"{type(node).__name__} is not a relation")

    def _refresh_select(self, node: Refresh, at: Instants) -> str:
        """Source at the last multiple of the slide; before the first refresh, over nothing."""
        first = self._first_refresh(node)
        due = {i: last_multiple(i, node.slide) for i in at}
        due = {i: d if first is not None and d >= first else BEGINNING for i, d in due.items()}
        pairs = self._pairs(due, "__due")
        source = self.relation(node.source, tuple(sorted(set(due.values()))))
        held = f"""
            SELECT {sql.listed("p.__at", "NULL::BIGINT AS __ts", sql.columns_sql(node.schema))}
            FROM {pairs} p JOIN {source} s ON s.__at = p.__due"""
        if not node.restore:
            return held
        begun = {i: d for i, d in due.items() if d > BEGINNING}
        produced = sql.increases_select(
            node.schema, self._pairs(begun, "__due"), self.changes(node.source), node.slide
        )
        lasting = self._least_copies(node, begun)
        early = f"{held} WHERE p.__due = {BEGINNING}"
        return f"({early}) UNION ALL ({produced}) UNION ALL ({lasting})"

    def _least_copies(self, node: Refresh, due: dict[int, int]) -> str:
        """The copies that were there throughout [due - slide, due]; none before the begin."""
        assert self._begins is not None or not due, "a refresh follows the first event"
        changing = self.instants(node.source)
        looks = [
            (i, then)
            for i, end in due.items()
            if self._begins is not None and end - node.slide >= self._begins
            for then in {end - node.slide, *(t for t in changing if end - node.slide < t <= end)}
        ]
        return self._fewest(node, looks)

    def _hold_select(self, node: Hold, at: Instants) -> str:
        """The fewest copies at any instant of [τ - h, τ]; none before the query's first event."""
        whole = [i for i in at if self._begins is not None and self._begins <= i - node.length]
        changing = self.instants(node.source)
        looks = [
            (i, then)
            for i in whole
            for then in {i - node.length, *(t for t in changing if i - node.length < t <= i)}
        ]
        return self._fewest(node, looks)

    def _fewest(self, node: Hold | Refresh, looks: list[tuple[int, int]]) -> str:
        """The fewest copies of a row of the source at any of the instants that `looks` leads to."""
        schema = Schema((Field("__at", BIGINT), Field("__then", BIGINT)))
        key = (id(node), tuple(looks), "looks")
        pairs = self._make(key, lambda: self._loaded(schema, list(looks)))
        source = self.relation(node.source, tuple(sorted({then for _, then in looks})))
        return sql.hold_select(node.schema, pairs, source)

    def _relation_changes(self, node: Table) -> str:
        changes = self._world.relations[node.relation.name].changes
        hidden = (Field("__ts", BIGINT), Field("__sign", BIGINT))
        rows = [(ts, sign, *row) for ts, sign, row in changes]
        return self._make(
            (id(node), "updates"),
            lambda: self._loaded(Schema(hidden + node.schema.fields), rows),
        )

    # ------------------------------------------------------------------ tables

    def fetch(self, select: str, schema: Schema) -> list[Row]:
        """Run a SELECT of `schema`'s columns and return its rows in canonical Python values."""
        table = self._connection.sql(select).to_arrow_table()
        columns = [_as_declared(c, f.type) for c, f in zip(table.columns, schema, strict=True)]
        return rows_of(pa.table(columns, list(schema.names)))

    def _integers(self, select: str) -> list[int]:
        return [row[0] for row in self._connection.execute(select).fetchall()]

    def _make(self, key: object, select: Callable[[], str]) -> str:
        """Create the table of `key` from its SELECT unless it is there, and return its name."""
        if key not in self._made:
            text = select()
            name = f"t{len(self._made)}"
            self._connection.execute(f"CREATE TEMP TABLE {name} AS {text}")
            self._made[key] = name
        return self._made[key]

    def _instants_table(self, at: Instants) -> str:
        schema = Schema((Field("__at", BIGINT),))
        return self._make(at, lambda: self._loaded(schema, [(i,) for i in at]))

    def _pairs(self, pairs: dict[int, int], second: str) -> str:
        schema = Schema((Field("__at", BIGINT), Field(second, BIGINT)))
        key = (second, *pairs.items())
        return self._make(key, lambda: self._loaded(schema, list(pairs.items())))

    def _loaded(self, schema: Schema, rows: list[Row]) -> str:
        """Hand Python rows to DuckDB and return the SELECT that reads them."""
        columns = [
            pa.array([row[i] for row in rows], _sent(field.type)) for i, field in enumerate(schema)
        ]
        name = f"r{len(self._loads)}"
        self._loads.append(name)
        self._connection.register(name, pa.table(columns, list(schema.names)))
        read = [
            f"{sql.quote(f.name)}::{duckdb_type(f.type)} AS {sql.quote(f.name)}" for f in schema
        ]
        return f"SELECT {sql.listed(*read)} FROM {name}"


def walk(node: Plan) -> Iterator[Plan]:
    """Yield the node and all below it, parents first."""
    yield node
    for below in inputs_of(node):
        yield from walk(below)


def _timed_nodes(root: Plan) -> set[int]:
    """The ids of nodes whose tuples' ts somebody reads: all below the left input of NRR joins."""
    joins = (node for node in walk(root) if isinstance(node, NrrJoin))
    return {id(below) for join in joins for below in walk(join.left)}


def _arrives(stream: Plan) -> bool:
    """Tell whether the stream's order is that of arrival, not of values."""
    match stream:
        case Filter(source) | Project(source) | Delay(source) | Numbered(source):
            return _arrives(source)
        case _:
            return isinstance(stream, Scan)


def _is_made(node: Plan) -> bool:
    """Tell whether the node's rows are its own, not its inputs' tuples with their ts.

    Those of a sub-query are its own as it shows them, whatever it computes them from.
    """
    if isinstance(node, Filter | Project):
        return _is_made(node.source)
    return isinstance(node, Aggregate | Distinct | Intersect | Except | TopN | Refresh)


def _reads_streams(node: Plan) -> bool:
    return any(isinstance(below, Scan) for below in walk(node))


def _sent(type_: pa.DataType) -> pa.DataType:
    """The Arrow type in which DuckDB takes values that are then of `duckdb_type`."""
    return {TIMESTAMP: pa.timestamp("us"), INTERVAL: BIGINT}.get(type_, type_)


def _as_declared(column: pa.ChunkedArray, type_: pa.DataType) -> pa.ChunkedArray:
    """Bring what DuckDB returns to the plan's type; what is always NULL stays as it is."""
    return column if type_ == NULL else column.cast(type_)
