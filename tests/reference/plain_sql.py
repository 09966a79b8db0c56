"""A query's text as plain SQL of DuckDB: the road to an answer that does not pass the binder.

Where every window is ``[UNBOUNDED]``, the answer at the end of all histories is that of the same
text over whole tables. So the text loses its windows, sqlglot reads it as Spark's SQL and writes
DuckDB's. Nothing of windrow takes part: neither its parser nor its catalogue of functions.

`_adjust` holds every place where windrow's stated meaning is not what sqlglot writes:

- ``/`` divides doubles; division by zero is NULL (for DIV and % by a setting of the connection);
- a CAST that cannot be done is NULL, one to a whole number cuts the fraction off;
- TIMESTAMP is UTC's wall time; DATE_ADD and its kin give a DATE;
- a backslash escapes % and _ in LIKE;
- ORDER BY ... LIMIT breaks ties by all columns, ascending, NULLs first;
- COUNT of several values counts rows without NULLs; QUANTILE interpolates; TOPK is windrow's own;
- names that DuckDB lacks, or has for something else, are in `RENAMED` or `MACROS`.
"""

from __future__ import annotations

import re
from typing import ClassVar

import duckdb
import pyarrow as pa
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser

from tests.reference.histories import Row, World, rows_of

WINDOWS = re.compile(r"\s*\[UNBOUNDED\]", re.IGNORECASE)
VIEWS = re.compile(r"\bRSTREAM\s*(?=\()", re.IGNORECASE)
DECLARED = re.compile(
    r"CREATE (?:NON RETROACTIVE )?(?:STREAM|RELATION) (\w+) \((.*)\)(?: TIMESTAMP BY \w+)?;"
)

WHOLE = (exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT)

RENAMED = {
    "CHARACTER_LENGTH": "LENGTH",
    "CHAR_LENGTH": "LENGTH",
    "EVERY": "BOOL_AND",
    "IFF": "chosen",
    "ISNOTNULL": "is_there",
    "ISNULL": "is_missing",
    "MEAN": "AVG",
    "STD": "STDDEV_SAMP",
    "WEEKDAY": "days_since_monday",
}

MACROS = """
CREATE MACRO cut(x) AS trunc(TRY_CAST(
    CASE x::VARCHAR WHEN 'true' THEN '1' WHEN 'false' THEN '0' ELSE x::VARCHAR END
    AS DECIMAL(38, 10)));
CREATE MACRO chosen(c, x, y) AS CASE WHEN c THEN x ELSE y END;
CREATE MACRO is_nan(x) AS coalesce(isnan(x), FALSE);
CREATE MACRO is_missing(x) AS x IS NULL;
CREATE MACRO is_there(x) AS x IS NOT NULL;
CREATE MACRO nanvl(x, y) AS CASE WHEN isnan(x) THEN y ELSE x END;
CREATE MACRO pmod(x, y) AS ((x % y) + y) % y;
CREATE MACRO days_since_monday(d) AS isodow(d) - 1;
CREATE MACRO sunday_is_one(d) AS dayofweek(d) + 1;
CREATE MACRO timestamp_seconds(x) AS make_timestamp(CAST(x AS BIGINT) * 1000000);
CREATE MACRO timestamp_millis(x) AS make_timestamp(CAST(x AS BIGINT) * 1000);
CREATE MACRO timestamp_micros(x) AS make_timestamp(CAST(x AS BIGINT));
CREATE MACRO most_frequent(counts, n) AS list_transform(
    list_sort(list_transform(map_entries(counts), lambda e: row(-e.value::BIGINT, e.key)))[1:n],
    lambda pair: pair[2]);
"""


class Reader(Spark):
    """Spark's SQL as sqlglot reads it, with QUANTILE an unknown function: it may have DISTINCT."""

    class Parser(SparkParser):
        FUNCTIONS: ClassVar = {n: f for n, f in SparkParser.FUNCTIONS.items() if n != "QUANTILE"}


# ------------------------------------------------------------------ text to text


def plain_sql(text: str) -> str:
    """Return DuckDB's SQL of a query whose windows are all ``[UNBOUNDED]``."""
    tree = Reader().parse(without_windows(text))[0]
    for query in list(tree.find_all(exp.Query)):
        break_ties(query)
    for node in reversed(list(tree.walk())):  # what is inside first
        node.replace(_adjust(node))
    return tree.sql(dialect="duckdb")


def without_windows(text: str) -> str:
    """Return the text less its windows; RSTREAM, the view itself, is left out as well."""
    return VIEWS.sub("", WINDOWS.sub("", text))


def break_ties(query: exp.Query) -> None:
    """Order a query that is cut by its own keys, then by all its columns."""
    if not query.args.get("limit") and not query.args.get("offset"):
        return
    order = query.args.get("order") or exp.Order(expressions=[])
    last = [exp.Ordered(this=key, nulls_first=True) for key in _all_columns(query)]
    query.set("order", exp.Order(expressions=[*order.expressions, *last]))


def _all_columns(query: exp.Expr) -> list[exp.Expr]:
    """Return what stands for all columns in ORDER BY: their positions, or COLUMNS(*)."""
    while not isinstance(query, exp.Select):
        query = query.this
    if any(item.is_star for item in query.expressions):
        assert len(query.expressions) == 1, "positions behind a star are not known"
        return [exp.Anonymous(this="COLUMNS", expressions=[exp.Star()])]
    return [exp.Literal.number(n) for n in range(1, 1 + len(query.expressions))]


def _adjust(node: exp.Expr) -> exp.Expr:
    match node:
        case exp.Div():
            return _quotient(node)
        case exp.Cast() if node.to.this in WHOLE:
            return exp.TryCast(this=_call("cut", node.this), to=node.to)
        case exp.DataType(this=exp.DType.TIMESTAMPTZ):
            return exp.DataType(this=exp.DType.TIMESTAMP)
        case exp.Like() | exp.ILike():
            return exp.Escape(this=node.copy(), expression=exp.Literal.string("\\"))
        case exp.TsOrDsAdd() | exp.AddMonths() | exp.DateTrunc():
            return exp.TryCast(this=node.copy(), to=exp.DataType.build("DATE"))
        case exp.DayOfWeek():
            return _call("sunday_is_one", node.this)
        case exp.Count() if node.expressions:
            missing = exp.or_(*(value.is_(exp.null()) for value in (node.this, *node.expressions)))
            return exp.Count(this=exp.case().when(missing, exp.null()).else_(exp.Literal.number(1)))
        case exp.LogicalAnd() | exp.LogicalOr():  # sqlglot writes CAST(DISTINCT ...) in them
            return _call("bool_and" if isinstance(node, exp.LogicalAnd) else "bool_or", node.this)
        case exp.IsNan():
            return _call("is_nan", node.this)
        case exp.Filter(this=exp.Anonymous(this="most_frequent")):
            counts, limit = node.this.expressions
            return _call(
                "most_frequent", exp.Filter(this=counts, expression=node.expression), limit
            )
        case exp.Anonymous():
            return _our_function(node)
        case _:
            return node


def _quotient(node: exp.Div) -> exp.Expr:
    left, right = (exp.cast(side, "DOUBLE") for side in (node.this, node.expression))
    return exp.Paren(this=exp.Div(this=left, expression=exp.Nullif(this=right, expression="0")))


def _our_function(node: exp.Anonymous) -> exp.Expr:
    name = node.name.upper()
    if name == "QUANTILE":
        first = node.expressions[0]
        values, fraction = (
            first.expressions if isinstance(first, exp.Distinct) else node.expressions
        )
        value = exp.cast(values, "DOUBLE")
        if isinstance(first, exp.Distinct):
            value = exp.Distinct(expressions=[value])
        return _call("quantile_cont", value, fraction)
    if name == "TOPK":
        return _call("most_frequent", _call("histogram", node.expressions[0]), node.expressions[1])
    return _call(RENAMED.get(name, node.name), *node.expressions)


def _call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments])


# ------------------------------------------------------------------ answers


class PlainTables:
    """The end of a world's histories as tables of DuckDB, by the columns of a script of CREATEs."""

    def __init__(self, declarations: str) -> None:
        self._connection = duckdb.connect(":memory:")
        self._connection.execute("SET threads = 1; SET error_on_division_by_zero = false;" + MACROS)
        self._names = []
        for name, columns in DECLARED.findall(declarations):
            self._connection.execute(f"CREATE TABLE {name} ({columns.replace(chr(96), chr(34))})")
            self._names.append(name)

    def load(self, world: World) -> None:
        """Let the tables hold what the streams and relations hold at the end."""
        for name in self._names:
            self._connection.execute(f"DELETE FROM {name}")
            rows = _rows_at_end(world, name)
            if rows:
                described = self._connection.execute(f"DESCRIBE {name}").fetchall()
                types = [str(column[1]) for column in described]
                values = ", ".join(_row_sql(row, types) for row in rows)
                self._connection.execute(f"INSERT INTO {name} VALUES {values}")

    def answer(self, sql: str) -> list[Row]:
        """Return the rows of a SELECT, in its order, as canonical values."""
        table = self._connection.sql(sql).to_arrow_table()
        return rows_of(pa.table([_in_microseconds(c) for c in table.columns], table.column_names))


def _rows_at_end(world: World, name: str) -> list[Row]:
    if name in world.streams:
        return [row[1:] for row in world.streams[name].rows]
    rows: list[Row] = []
    for _, sign, row in world.relations[name].changes if name in world.relations else ():
        if sign > 0:
            rows.append(row)
        else:
            rows.remove(row)
    return rows


def _row_sql(row: Row, types: list[str]) -> str:
    return f"({', '.join(_value_sql(v, t) for v, t in zip(row, types, strict=True))})"


def _value_sql(value: object, type_: str) -> str:
    if value is None:
        return "NULL"
    if type_ == "DATE":
        return f"DATE '1970-01-01' + {value}"
    if type_ == "TIMESTAMP":
        return f"make_timestamp({value})"
    text = str(value).replace("'", "''")
    return f"'{text}'::{type_}"


def _in_microseconds(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Bring intervals to a length; everything else stays."""
    if column.type != pa.month_day_nano_interval():
        return column
    days = [None if v is None else v.days + 30 * v.months for v in column.to_pylist()]
    rest = [None if v is None else v.nanoseconds // 1000 for v in column.to_pylist()]
    whole = [None if d is None else d * 86_400_000_000 + r for d, r in zip(days, rest, strict=True)]
    return pa.chunked_array([pa.array(whole, pa.int64())])
