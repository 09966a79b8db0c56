"""Each relation node's equation as one SELECT over the tables of its inputs.

A relation is a table of its answers at many instants at once: ``__at`` is τ, ``__ts`` the
tuple's time, then the node's columns. So "at τ" reads "for each ``__at``", and an equation
over two relations joins them on ``__at``. A stream is a table of all its tuples: ``__ts``,
``__seq`` (its order), then columns. `instants` is a table of the τ asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from tests.reference.duckdb_sql import duckdb_aggregate, duckdb_sql
from windrow.core.schema import Schema
from windrow.core.time import FOREVER
from windrow.core.types import TIMESTAMP
from windrow.plan.nodes import (
    Aggregate,
    AntiJoin,
    Band,
    Distinct,
    Except,
    Filter,
    Intersect,
    Join,
    JoinOn,
    NrrJoin,
    OuterJoin,
    Plan,
    Project,
    SemiJoin,
    SortKey,
    TopN,
    UnionAll,
    Window,
)
from windrow.plan.windows import PartitionRows, Range, Rows, Since, Unbounded, Until


def quote(name: str) -> str:
    """Write a column's name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def listed(*columns: str) -> str:
    """Separate by commas, leaving out what is empty."""
    return ", ".join(column for column in columns if column)


def columns_sql(schema: Schema, table: str = "") -> str:
    """List a schema's columns, of `table` if given."""
    prefix = f"{table}." if table else ""
    return ", ".join(prefix + quote(name) for name in schema.names)


def order_sql(schema: Schema) -> str:
    """The order of rows that have no other: column by column, ascending, NULLs first."""
    return ", ".join(f"{quote(name)} ASC NULLS FIRST" for name in schema.names)


def same_sql(schema: Schema, left: str, right: str) -> str:
    """Say that two rows are the same row, NULLs being equal."""
    pairs = (f"{left}.{quote(n)} IS NOT DISTINCT FROM {right}.{quote(n)}" for n in schema.names)
    return " AND ".join(pairs) or "TRUE"


def copies_sql(hidden: str, schema: Schema, counted: str) -> str:
    """Write out each row of `counted` as often as its ``__n`` says; none if it is not positive."""
    kept = listed(hidden, columns_sql(schema))
    return f"SELECT {kept} FROM (SELECT {kept}, unnest(range(__n)) FROM ({counted}))"


def _of_source(name: str) -> str:
    """Name a column of the source `s`: a bare name might be taken for an output of that name."""
    return f"s.{quote(name)}"


def tuplewise_select(node: Filter | Project, source: str, hidden: str) -> str:
    """σ and π, which treat tuple by tuple: of streams and of relations, as `hidden` says."""
    if isinstance(node, Filter):
        kept = listed(hidden, columns_sql(node.schema))
        return f"SELECT {kept} FROM {source} WHERE {duckdb_sql(node.predicate, quote)}"
    made = [f"{duckdb_sql(c.expr, _of_source)} AS {quote(c.name)}" for c in node.columns]
    return f"SELECT {listed(hidden, *made)} FROM {source} s"


def window_select(node: Window, stream: str, instants: str) -> str:
    """S [spec]: the tuples of `stream` that are held at each instant, alive ts <= τ < exp."""
    held, exp = "s.__ts <= i.__at", str(FOREVER)
    match node.spec:
        case Unbounded():
            pass
        case Since(start):
            held += f" AND {start} <= s.__ts"
        case Range(width):
            exp = f"least(s.__ts::HUGEINT + {width}, {FOREVER})::BIGINT"
            held += f" AND i.__at < {exp}"
        case Until(ends):
            exp = f"least({', '.join('s.' + quote(end) for end in ends)})"
            held += f" AND i.__at < {exp}"
        case Rows() | PartitionRows():
            assert node.expiry_column is None, "when a tuple is pushed out is not known at birth"
            return _count_window_select(node, stream, instants)
        case _:
            assert_never(node.spec)
    kept = columns_sql(node.source.schema, "s")
    told = f"{exp} AS {quote(node.expiry_column)}" if node.expiry_column else ""
    head = listed("i.__at", "s.__ts", kept, told)
    return f"SELECT {head} FROM {instants} i JOIN {stream} s ON {held}"


def _count_window_select(node: Window, stream: str, instants: str) -> str:
    own = f"s.__ts AS {quote(node.ts_column)}" if node.ts_column else ""
    kept = listed("i.__at", "s.__ts", columns_sql(node.source.schema, "s"), own)
    match node.spec:
        case Rows(count, step):
            # __upto: how many tuples the window has slid over, the largest k·step up to τ.
            return f"""
                SELECT {kept}
                FROM (SELECT i.__at, count(s.__ts) // {step} * {step} AS __upto
                      FROM {instants} i LEFT JOIN {stream} s ON s.__ts <= i.__at
                      GROUP BY i.__at) i
                JOIN (SELECT *, row_number() OVER (ORDER BY __ts, __seq) AS __nr
                      FROM {stream}) s
                ON s.__nr <= i.__upto AND s.__nr > i.__upto - {count}"""
        case PartitionRows(keys, count):
            by = listed("i.__at", *("s." + quote(key) for key in keys))
            return f"""
                SELECT {kept} FROM {instants} i JOIN {stream} s ON s.__ts <= i.__at
                QUALIFY row_number() OVER (PARTITION BY {by}
                                           ORDER BY s.__ts DESC, s.__seq DESC) <= {count}"""
        case _:
            raise AssertionError("not a count window")


def _on_sql(on: JoinOn, left: Schema, right: Schema) -> str:
    """When l and r match; NULL where that is unknown."""

    def column(name: str) -> str:
        return ("l." if name in left else "r.") + quote(name)

    keys = [
        f"{duckdb_sql(a, lambda n: 'l.' + quote(n))} = {duckdb_sql(b, lambda n: 'r.' + quote(n))}"
        for a, b in zip(on.left_keys, on.right_keys, strict=True)
    ]
    bands = [_band_sql(band, left, right) for band in on.bands]
    rest = [] if on.residual is None else [duckdb_sql(on.residual, column)]
    return " AND ".join(f"({part})" for part in (*keys, *bands, *rest)) or "TRUE"


def _band_sql(band: Band, left: Schema, right: Schema) -> str:
    apart = (
        f"{_time_sql('r', band.right, right)}::HUGEINT - {_time_sql('l', band.left, left)}::HUGEINT"
    )
    return f"{apart} BETWEEN {band.low} AND {band.high}"


def _time_sql(table: str, name: str, schema: Schema) -> str:
    column = f"{table}.{quote(name)}"
    return f"epoch_us({column})" if schema[name].type == TIMESTAMP else column


def join_select(node: Join | SemiJoin | AntiJoin, left: str, right: str) -> str:
    """⋈, ⋉ and ▷ of l ∈ L(τ) and r ∈ R(τ)."""
    on = _on_sql(node.on, node.left.schema, node.right.schema)
    columns = columns_sql(node.left.schema, "l")
    kept = f"SELECT {listed('l.__at', 'l.__ts', columns)} FROM {left} l WHERE"
    among = f"(SELECT 1 FROM {right} r WHERE r.__at = l.__at AND"
    match node:
        case Join():
            both = listed(columns, columns_sql(node.right.schema, "r"))
            head = listed("l.__at", "greatest(l.__ts, r.__ts) AS __ts", both)
            return f"SELECT {head} FROM {left} l JOIN {right} r ON l.__at = r.__at AND {on}"
        case SemiJoin():
            return f"{kept} EXISTS {among} {on})"
        case AntiJoin(null_aware=True):
            return f"{kept} NOT EXISTS {among} ({on}) IS NOT FALSE)"
        case AntiJoin():
            return f"{kept} NOT EXISTS {among} {on})"
        case _:
            assert_never(node)


def outer_join_select(node: OuterJoin, left: str, right: str) -> str:
    """⟕ and ⟗ of L(τ) and R(τ): DuckDB's own."""
    on = _on_sql(node.on, node.left.schema, node.right.schema)
    columns = listed(columns_sql(node.left.schema, "l"), columns_sql(node.right.schema, "r"))
    times = "coalesce(l.__at, r.__at) AS __at", "greatest(l.__ts, r.__ts) AS __ts"
    word = "FULL" if node.full else "LEFT"
    return f"""
        SELECT {listed(*times, columns)}
        FROM {left} l {word} JOIN {right} r ON l.__at = r.__at AND ({on})"""


def nrr_join_select(node: NrrJoin, left: str, versions: str) -> str:
    """⋈NRR: `versions` holds N at each ``__met`` of the left tuples, as its ``__at``."""
    on = _on_sql(node.on, node.left.schema, node.table.schema)
    both = listed(columns_sql(node.left.schema, "l"), columns_sql(node.table.schema, "r"))
    head = listed("l.__at", "l.__ts", both)
    return f"SELECT {head} FROM {left} l JOIN {versions} r ON r.__at = l.__met AND {on}"


def union_select(node: UnionAll, inputs: Sequence[str]) -> str:
    """⊎: all rows of all inputs, under the names of the first."""
    parts = [
        f"SELECT {listed('__at', '__ts', _renamed(plan.schema, node.schema))} FROM {table}"
        for plan, table in zip(node.inputs, inputs, strict=True)
    ]
    return " UNION ALL ".join(parts)


def set_select(node: Intersect | Except, left: str, right: str) -> str:
    """∩ and -: SQL's own, for each instant."""
    word = "INTERSECT" if isinstance(node, Intersect) else "EXCEPT"
    first = listed("__at", columns_sql(node.schema))
    second = listed("__at", _renamed(node.right.schema, node.schema))
    both = (
        f"SELECT {first} FROM {left} {word} {'ALL' if node.all else ''} "
        f"SELECT {second} FROM {right}"
    )
    return f"SELECT {_untimed(node)} FROM ({both})"


def _renamed(schema: Schema, names: Schema) -> str:
    pairs = zip(schema.names, names.names, strict=True)
    return ", ".join(f"{quote(old)} AS {quote(new)}" for old, new in pairs)


def _untimed(node: Plan) -> str:
    return listed("__at", "NULL::BIGINT AS __ts", columns_sql(node.schema))


def distinct_select(node: Distinct, source: str) -> str:
    """δ: SQL's DISTINCT, for each instant."""
    inner = f"SELECT DISTINCT {listed('__at', columns_sql(node.schema))} FROM {source}"
    return f"SELECT {_untimed(node)} FROM ({inner})"


def aggregate_select(node: Aggregate, source: str, instants: str) -> str:
    """γ: a row a group and instant. Without keys, where no tuple is, the row of none at all."""
    keys = [f"{duckdb_sql(key.expr, _of_source)} AS {quote(key.name)}" for key in node.keys]
    calls = [f"{duckdb_aggregate(call, _of_source)} AS {quote(call.output)}" for call in node.calls]
    by = ", ".join(str(i + 1) for i in range(1 + len(keys)))
    groups = f"SELECT {listed('__at', *keys, *calls)} FROM {source} s GROUP BY {by}"
    if not keys:
        groups += f"""
            UNION ALL SELECT i.__at, nothing.*
            FROM {instants} i, (SELECT {listed(*calls)} FROM {source} s WHERE FALSE) nothing
            WHERE i.__at NOT IN (SELECT __at FROM {source})"""
    return f"SELECT {_untimed(node)} FROM ({groups})"


def top_select(node: TopN, source: str) -> str:
    """ORDER BY ... LIMIT ... OFFSET, for each instant, ties broken by all columns."""
    order = listed(*map(_sort_sql, node.keys), order_sql(node.schema))
    first, last = node.offset + 1, node.offset + node.limit
    return f"""
        SELECT {_untimed(node)} FROM {source}
        QUALIFY row_number() OVER (PARTITION BY __at ORDER BY {order})
                BETWEEN {first} AND {last}"""


def _sort_sql(key: SortKey) -> str:
    direction = "DESC" if key.descending else "ASC"
    nulls = "FIRST" if key.nulls_first else "LAST"
    return f"{duckdb_sql(key.expr, quote)} {direction} NULLS {nulls}"


def table_select(schema: Schema, changes: str, instants: str) -> str:
    """R(τ): of each row as many copies as its changes up to and at τ sum to."""
    columns = columns_sql(schema)
    counted = f"""
        SELECT i.__at, NULL::BIGINT AS __ts, {columns}, sum(c.__sign)::BIGINT AS __n
        FROM {instants} i JOIN {changes} c ON c.__ts <= i.__at GROUP BY ALL"""
    return copies_sql("__at, __ts", schema, counted)


def changes_select(schema: Schema, answers: str, steps: str) -> str:
    """Net changes: the rows at each instant less those at the one before, as a count ``__n``.

    `steps` pairs each instant ``__at`` with the following one, ``__then``.
    """
    columns = columns_sql(schema)
    return f"""
        SELECT {listed("__ts", columns)}, sum(__one)::BIGINT AS __n
        FROM (SELECT {listed("__at AS __ts", columns)}, 1 AS __one FROM {answers}
              UNION ALL
              SELECT {listed("s.__then", columns)}, -1
              FROM {answers} a JOIN {steps} s ON a.__at = s.__at)
        GROUP BY ALL HAVING sum(__one) <> 0"""


def born_select(schema: Schema, answers: str, changes: str, begun: int) -> str:
    """Give each row as its ts the time of its appearing.

    Of equal rows the j-th is there since their number last rose to j. Those of the answer before
    the first event appear with it, when the query has `begun`.
    """
    columns = columns_sql(schema)
    copies = f"""
        SELECT *, row_number() OVER (PARTITION BY {listed("__at", columns)}) AS __copy
        FROM {answers}"""
    levels = f"""
        SELECT *, sum(__n) OVER (PARTITION BY {columns} ORDER BY __ts) AS __after
        FROM {changes}"""
    since = f"""coalesce(a.__ts, (
        SELECT max(c.__ts) FROM ({levels}) c
        WHERE c.__after - c.__n < a.__copy AND a.__copy <= c.__after AND c.__ts <= a.__at
        AND {same_sql(schema, "c", "a")}), {begun})"""
    return f"""
        SELECT {listed("a.__at", since + " AS __ts", columns_sql(schema, "a"))}
        FROM ({copies}) a"""


def stream_of_changes_select(schema: Schema, changes: str, sign: int) -> str:
    """The insertions (sign +1) or deletions (-1), in the order of time, then of values."""
    signed = listed("__ts", columns_sql(schema), f"__n * {sign} AS __n")
    return ordered_select(
        schema, copies_sql("__ts", schema, f"SELECT {signed} FROM {changes}"), order_sql(schema)
    )


def ordered_select(schema: Schema, tuples: str, order: str) -> str:
    """Number timed tuples as a stream: by time, then by `order`."""
    number = f"row_number() OVER (ORDER BY {listed('__ts', order)}) AS __seq"
    return f"SELECT {listed('__ts', number, columns_sql(schema))} FROM ({tuples})"


def increases_select(schema: Schema, pairs: str, changes: str, slide: int) -> str:
    """Each net increase of a row in (__due - slide, __due], as a copy at ``__at``."""
    columns = columns_sql(schema)
    counted = f"""
        SELECT {listed("p.__at", columns)}, sum(c.__n)::BIGINT AS __n
        FROM {pairs} p JOIN {changes} c
        ON c.__n > 0 AND c.__ts <= p.__due AND p.__due < c.__ts::HUGEINT + {slide}
        GROUP BY ALL"""
    return copies_sql("__at, NULL::BIGINT AS __ts", schema, counted)


def slide_instants_select(stream: str, step: int, column: str) -> str:
    """The instants at which the number of tuples passes a multiple of `step`."""
    counted = f"""
        SELECT __ts, sum(count(*)) OVER (ORDER BY __ts) AS __all, count(*) AS __own
        FROM {stream} GROUP BY __ts"""
    return f"""
        SELECT __ts, row_number() OVER (ORDER BY __ts) AS __seq, __ts AS {quote(column)}
        FROM ({counted}) WHERE __all // {step} > (__all - __own) // {step}"""


def hold_select(schema: Schema, looks: str, answers: str) -> str:
    """The fewest copies that a row has where `looks` leads to from ``__at``, if it is everywhere.

    `looks` pairs each instant ``__at`` with those, ``__then``, that it looks back at.
    """
    columns = columns_sql(schema)
    counted = f"""
        SELECT {listed("__at", columns)}, min(__copies)::BIGINT AS __n
        FROM (SELECT {listed("p.__at", "p.__then", columns)}, count(*) AS __copies
              FROM {looks} p JOIN {answers} s ON s.__at = p.__then GROUP BY ALL) c
        JOIN (SELECT __at, count(*) AS __looks FROM {looks} GROUP BY __at) l USING (__at)
        GROUP BY {listed("__at", "__looks", columns)} HAVING count(*) = __looks"""
    return copies_sql("__at, NULL::BIGINT AS __ts", schema, counted)
