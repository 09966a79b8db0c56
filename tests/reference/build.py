"""Short ways to write plans and worlds by hand, for tests that need no parser.

Columns are named by a string that also tells the type: ``"s.v"`` is a BIGINT,
``"s.name:string"`` a STRING, ``"s.price:decimal(10,2)"`` a DECIMAL.
"""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from tests.reference.histories import Change, RelationHistory, Row, StreamHistory, World
from tests.reference.oracle import Oracle
from windrow.core.schema import Field, Schema
from windrow.core.time import BEGINNING, Clock
from windrow.core.types import BIGINT, BOOLEAN, SQL_NAMES, TIMESTAMP, decimal
from windrow.plan.catalog import Relation, Stream
from windrow.plan.expressions import Call, Column, Expr, Literal
from windrow.plan.nodes import (
    Aggregate,
    AggregateCall,
    Band,
    JoinOn,
    Named,
    Plan,
    Project,
    Scan,
    Table,
    Window,
)
from windrow.plan.windows import Range, WindowSpec


def field(text: str) -> Field:
    """Return the field that ``name`` or ``name:type`` describes; BIGINT if no type is told."""
    name, _, type_ = text.partition(":")
    if type_.startswith("decimal"):
        precision, scale = type_.removeprefix("decimal(").removesuffix(")").split(",")
        return Field(name, decimal(int(precision), int(scale)))
    return Field(name, SQL_NAMES[type_.upper()] if type_ else BIGINT)


def column(text: str) -> Column:
    """Return the expression that reads the column ``name`` or ``name:type``."""
    described = field(text)
    return Column(described.name, described.type)


def literal(value: object, type_: pa.DataType = BIGINT) -> Literal:
    """Return a constant."""
    return Literal(value, type_)


def compare(left: Expr, operator: str, right: Expr) -> Call:
    """Return a comparison or a connective by its name in a plan: ``eq``, ``lt``, ``and``, ..."""
    return Call(operator, (left, right), BOOLEAN)


def scan(name: str, *columns: str) -> Scan:
    """Return the scan of stream `name` under its own name as the alias.

    Its time column is ``ts``, a BIGINT of ticks unless `columns` begin with ``ts:timestamp``.
    """
    fields = tuple(map(field, columns))
    if "ts" not in {f.name for f in fields}:
        fields = (Field("ts", BIGINT, nullable=False), *fields)
    schema = Schema(fields)
    clock = Clock.TIMESTAMP if schema["ts"].type == TIMESTAMP else Clock.TICKS
    return Scan(Stream(name, schema, "ts", clock), name)


def window(name: str, spec: WindowSpec | int, *columns: str) -> Window:
    """Return stream `name` under a window; an int is the width of a RANGE. Column ``v`` if none."""
    spec = Range(spec) if isinstance(spec, int) else spec
    return Window(scan(name, *(columns or ("v",))), spec)


def table(name: str, *columns: str, retroactive: bool = True) -> Table:
    """Return the declared relation `name` under its own name as the alias."""
    schema = Schema(tuple(map(field, columns)))
    return Table(Relation(name, schema, retroactive=retroactive), name)


def project(source: Plan, *columns: str) -> Project:
    """Return π that keeps columns of the source, each under what follows its last dot."""
    fields = [source.schema[text] for text in columns]
    named = [Named(f.name.rpartition(".")[2], Column(f.name, f.type, f.nullable)) for f in fields]
    return Project(source, tuple(named))


def values(source: Plan, name: str = "s.v") -> Project:
    """Return π on one column."""
    return project(source, name)


def above(name: str, bound: int) -> Call:
    """Return ``name > bound``."""
    return compare(column(name), "gt", literal(bound))


def equal(left: str, right: str, *bands: Band, residual: Expr | None = None) -> JoinOn:
    """Return the match of two columns, with bands and a rest."""
    return JoinOn((column(left),), (column(right),), bands, residual)


def count_star(output: str = "n") -> AggregateCall:
    """Return COUNT(*)."""
    return AggregateCall(output, "count", (), BIGINT, nullable=False)


def aggregate(source: Plan, keys: tuple[str, ...], *calls: AggregateCall) -> Aggregate:
    """Return γ by columns of the source, each under what follows its last dot."""
    named = tuple(Named(key.rpartition(".")[2].partition(":")[0], column(key)) for key in keys)
    return Aggregate(source, named, calls)


def count(source: Plan) -> Aggregate:
    """Return COUNT(*) of all tuples."""
    return aggregate(source, (), count_star())


def ticks(*rows: Row) -> StreamHistory:
    """Return the history of a stream whose first column is its time, in ticks or µs."""
    return StreamHistory([(row[0], *row) for row in rows])


def updates(*changes: Change) -> RelationHistory:
    """Return the history of a relation: (ts, sign, row) each."""
    return RelationHistory(list(changes))


def always(*rows: Row) -> RelationHistory:
    """Return the history of a relation that holds these rows from before all instants on."""
    return RelationHistory([(BEGINNING, 1, row) for row in rows])


def history(plan: Plan, world: World) -> list[str]:
    """Return the oracle's changelog, a line an instant: ``"3: -1 +2 +2"``.

    On the way it is checked that changes happen at the oracle's instants only, and that they
    add up to the answer at *every* instant, those in between included.
    """
    oracle = Oracle(plan, world)
    changes, instants = oracle.changes(), oracle.instants()
    assert {ts for ts, _, _ in changes} <= set(instants), "an instant is missing"
    for at, answer in oracle.answers(range(instants[0], instants[-1] + 3)).items():
        assert answer == net(changes, at), f"at {at} the changes are not the answer"
    lines: dict[int, str] = {}
    for ts, sign, row in changes:
        lines[ts] = lines.get(ts, f"{ts}:") + f" {'+' if sign > 0 else '-'}{_shown(row)}"
    return list(lines.values())


def net(changes: list[Change], at: int) -> Counter[Row]:
    """Return the multiset that all changes up to and at an instant add up to."""
    counts: Counter[Row] = Counter()
    for ts, sign, row in changes:
        if ts <= at:
            counts[row] += sign
    assert all(n >= 0 for n in counts.values()), "what was not there cannot leave"
    return +counts


def _shown(row: Row) -> str:
    texts = ["NULL" if value is None else str(value) for value in row]
    return texts[0] if len(texts) == 1 else f"({','.join(texts)})"
