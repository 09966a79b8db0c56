"""Scalar expressions: from syntax to typed `Expr`s."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import islice

import pyarrow as pa
from sqlglot import exp

from windrow.core import types
from windrow.core.errors import BindError, WindrowError
from windrow.core.time import FOREVER, UNITS
from windrow.language.printing import to_sql
from windrow.language.spans import span_of
from windrow.language.syntax import UNIT_OF, PairWindow, StreamFunction
from windrow.plan import functions
from windrow.plan.binding.scope import Scope, unknown_column
from windrow.plan.expressions import Expr, Literal, walk

BINARY_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "add",
    exp.Sub: "sub",
    exp.Mul: "mul",
    exp.Div: "div",
    exp.IntDiv: "intdiv",
    exp.Mod: "mod",
    exp.EQ: "eq",
    exp.NEQ: "ne",
    exp.LT: "lt",
    exp.LTE: "le",
    exp.GT: "gt",
    exp.GTE: "ge",
    exp.NullSafeEQ: "eq_null_safe",
    exp.And: "and",
    exp.Or: "or",
    exp.Like: "like",
    exp.ILike: "ilike",
    exp.RegexpLike: "rlike",
    exp.DPipe: "concat",
    exp.BitwiseAnd: "bitand",
    exp.BitwiseOr: "bitor",
    exp.BitwiseXor: "bitxor",
}

UNARY_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Neg: "neg",
    exp.Not: "not",
    exp.BitwiseNot: "bitnot",
}

PARTS_OF_TIME = (
    *("YEAR", "QUARTER", "MONTH", "WEEK", "WEEKOFYEAR", "DAY", "DAYOFMONTH", "DAYOFWEEK"),
    *("WEEKDAY", "DAYOFYEAR", "HOUR", "MINUTE", "SECOND"),
)
"""What EXTRACT takes; each is a function of that name."""

AROUND_AGGREGATES: dict[type[exp.Expr], str] = {
    exp.Filter: "FILTER",
    exp.WithinGroup: "WITHIN GROUP",
    exp.IgnoreNulls: "IGNORE NULLS",
    exp.RespectNulls: "RESPECT NULLS",
}

OnAggregate = Callable[[exp.Expr], Expr]

MAX_NODES = 100_000
"""Nodes of one bound expression. BETWEEN, CASE value WHEN and NULLIF hold a value twice, so that
one inside another they grow exponentially."""

NO_AGGREGATE = {
    "VALUES": "Each row stands by itself there.",
    "WHERE": "WHERE chooses the tuples that an aggregate then folds.",
    "ON": "ON chooses the tuples that an aggregate then folds.",
    "FILTER": "FILTER chooses the tuples that the aggregate then folds.",
    "GROUP BY": "Groups are made first; an aggregate then folds each of them.",
    "an aggregate": "Its argument is a value of each tuple.",
    "ORDER BY": "The query has no groups to fold.",
    "IN": "The value is compared for each tuple.",
}
"""Where no aggregate can stand, and why."""


@dataclass(frozen=True, slots=True)
class ExpressionBinder:
    """Binds expressions in a scope; `on_aggregate` takes the aggregates where they may stand.

    `place` is the clause that is bound, for errors.
    """

    scope: Scope
    place: str = "WHERE"
    on_aggregate: OnAggregate | None = None

    def bind(self, node: exp.Expr) -> Expr:
        """Return the typed expression; every error points at the smallest wrong part."""
        try:
            return self._bind(node)
        except WindrowError as error:
            if error.span is None:
                error.span = span_of(node)
            raise

    def _bind(self, node: exp.Expr) -> Expr:
        bound = self._affirmed(node)
        return functions.resolve_call("not", (bound,)) if node.args.get("negate") else bound

    def _affirmed(self, node: exp.Expr) -> Expr:
        """Bind a node without the NOT that sqlglot may have put into it."""
        if type(node) in BINARY_OPERATORS:
            return self._call(BINARY_OPERATORS[type(node)], node.this, node.expression)
        if type(node) in UNARY_OPERATORS:
            return self._unary(node)
        match node:
            case exp.Column():
                return self._column(node)
            case exp.Literal():
                return bind_literal(node)
            case exp.Null():
                return Literal(None, types.NULL)
            case exp.Boolean():
                return Literal(bool(node.this), types.BOOLEAN)
            case exp.Paren():
                return self.bind(node.this)
            case exp.Anonymous():
                return self._function(node)
            case _ if type(node) in AROUND_AGGREGATES:
                return self._function(node)
            case exp.Cast() | exp.TryCast():
                return functions.resolve_cast(self.bind(node.this), bind_type(node.args["to"]))
            case exp.Case():
                return self._case(node)
            case exp.Interval():
                return _interval(node)
            case _:
                return self._predicate(node)

    def _predicate(self, node: exp.Expr) -> Expr:
        match node:
            case exp.Is():
                return self._is(node)
            case exp.NullSafeNEQ():
                same = self._call("eq_null_safe", node.this, node.expression)
                return functions.resolve_call("not", (same,))
            case exp.Between():
                value = self.bind(node.this)
                low = functions.resolve_call("ge", (value, self.bind(node.args["low"])))
                high = functions.resolve_call("le", (value, self.bind(node.args["high"])))
                return _bounded(functions.resolve_call("and", (low, high)), node)
            case exp.Subquery() | exp.Exists() if id(node) in self.scope.values:
                return self.scope.values[id(node)]
            case exp.In() if not node.args.get("query"):
                return self._call("in", node.this, *node.expressions)
            case exp.Extract():
                return self._extract(node)
            case exp.Trim():
                return self._trim(node)
            case exp.Escape():
                raise BindError(
                    "LIKE ... ESCAPE is not supported", hint="A backslash escapes % and _."
                )
            case _:
                raise misplaced(node)

    def _call(self, name: str, *args: exp.Expr) -> Expr:
        return functions.resolve_call(name, tuple(self.bind(arg) for arg in args))

    def _unary(self, node: exp.Expr) -> Expr:
        if isinstance(node, exp.Neg) and _is_number(node.this):
            return bind_literal(node.this, negative=True)
        return self._call(UNARY_OPERATORS[type(node)], node.this)

    def _column(self, node: exp.Column) -> Expr:
        if isinstance(node.this, exp.Star):
            raise misplaced(node)
        column = self.scope.resolve(node)
        if column is not None:
            return column
        if self.scope.bare_words and not node.table and not node.this.args.get("quoted"):
            return Literal(node.name, types.STRING)
        raise unknown_column(node, self.scope)

    def _function(self, node: exp.Expr) -> Expr:
        call = node
        while type(call) in AROUND_AGGREGATES:
            call = call.this
        if isinstance(call, exp.Anonymous) and not functions.is_aggregate(call.name):
            if call is not node:
                word = AROUND_AGGREGATES[type(node)]
                raise BindError(
                    f"{call.name} is no aggregate, so it has no {word}",
                    detail="FILTER chooses the tuples that an aggregate folds, WITHIN GROUP orders "
                    "them.",
                    hint="Put the condition into WHERE." if word == "FILTER" else "Leave it out.",
                    span=span_of(node),
                )
            if (
                call.name.lower() not in functions.FUNCTIONS
                and call.name.lower() not in functions.ALIASES
            ):
                return functions.resolve_call(call.name, ())  # unknown, whatever its arguments are
            return _bounded(self._call(call.name, *call.expressions), node)
        if self.on_aggregate is None:
            raise BindError(
                f"{to_sql(node)} cannot stand in {self.place}",
                detail=NO_AGGREGATE[self.place],
                hint="Compare aggregates in HAVING, or fold a sub-query's aggregates: "
                "SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM ... GROUP BY ...).",
                span=span_of(node),
            )
        return self.on_aggregate(node)

    def _case(self, node: exp.Case) -> Expr:
        parts: list[Expr] = []
        branches = node.args["ifs"]
        value = None if node.this is None else self.bind(node.this)
        for branch in branches:
            when = self.bind(branch.this)
            parts.append(when if value is None else functions.resolve_call("eq", (value, when)))
            parts.append(self.bind(branch.args["true"]))
        if node.args.get("default") is not None:
            parts.append(self.bind(node.args["default"]))
        return _bounded(functions.resolve_call("case", tuple(parts)), node)

    def _is(self, node: exp.Is) -> Expr:
        match node.expression:
            case exp.Null():
                return self._call("is_null", node.this)
            case exp.Boolean(this=True):
                return self._call("is_true", node.this)
            case exp.Boolean():
                return self._call("is_false", node.this)
            case _:
                raise BindError(
                    f"IS does not go with {to_sql(node.expression)}",
                    hint="It goes with NULL, TRUE, FALSE or DISTINCT FROM; values compare by =.",
                    span=span_of(node),
                )

    def _extract(self, node: exp.Extract) -> Expr:
        if node.name not in PARTS_OF_TIME:
            raise BindError(
                f"EXTRACT takes a part of a time, not {node.name}",
                hint=f"The parts are {', '.join(PARTS_OF_TIME)}.",
                span=span_of(node),
            )
        return self._call(node.name, node.expression)

    def _trim(self, node: exp.Trim) -> Expr:
        name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(
            str(node.args.get("position") or "").upper(), "trim"
        )
        args = [node.this] + ([node.expression] if node.expression else [])
        return self._call(name, *args)


def _bounded(expr: Expr, node: exp.Expr) -> Expr:
    """Return the expression; refuse it if it has grown too large."""
    if sum(1 for _ in islice(walk(expr), MAX_NODES + 1)) > MAX_NODES:
        raise BindError(
            "the expression is too large",
            detail=f"It would have more than {MAX_NODES} parts: BETWEEN, CASE value WHEN and "
            "NULLIF compare a value several times, and here they stand inside one another.",
            hint="Compute the inner value in a sub-query in FROM.",
            span=span_of(node),
        )
    return expr


def _windowed(over: exp.Window) -> str:
    """Return how to write, over a window in FROM, what OVER (...) may have been meant for."""
    call, keys = to_sql(over.this), [to_sql(key) for key in over.args.get("partition_by") or ()]
    if not (isinstance(over.this, exp.Anonymous) and functions.is_aggregate(over.this.name)):
        return "For the newest tuples write FROM s [ROWS n], for the first ORDER BY ... LIMIT n"
    spec, by = over.args.get("spec"), f"PARTITION BY {', '.join(keys)} " if keys else ""
    by_rows = spec is not None and str(spec.args.get("kind")).upper() == "ROWS"
    window = f"[{by}ROWS 10]" if by_rows else "[RANGE 1 MINUTE]"
    grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"Write SELECT {', '.join([*keys, call])} FROM s {window}{grouped}"


def misplaced(node: exp.Expr) -> BindError:
    """Return the error for syntax that has no meaning where it stands."""
    match node:
        case exp.Window():
            return BindError(
                "OVER (...) is not supported",
                detail="Streams are windowed in FROM, and a group has one row: the answer is not "
                "one row for each tuple.",
                hint=f"{_windowed(node)}.",
                span=span_of(node),
            )
        case exp.Exists() | exp.In() | exp.Any() | exp.All():
            return BindError(
                "a sub-query predicate can only be a term of WHERE joined by AND",
                detail="Each EXISTS or IN becomes an operator of the plan.",
                hint="For an OR, write two queries and UNION them.",
                span=span_of(node),
            )
        case PairWindow():
            return BindError(
                "WINDOW(...) can only be a term of WHERE joined by AND",
                detail="It bounds the join as a whole, so it cannot hold for some results only.",
                hint="For an OR, write two queries and UNION them.",
                span=span_of(node),
            )
        case StreamFunction():
            return BindError(
                f"{str(node.args['kind']).upper()} cannot stand here",
                hint="It goes around the whole select list or the whole query.",
                span=span_of(node),
            )
        case exp.Subquery() | exp.Select():
            return BindError(
                "a sub-query cannot be a value here",
                detail="It can be one in SELECT, WHERE and HAVING, outside of aggregates.",
                hint="Put it into FROM and join with it.",
                span=span_of(node),
            )
        case exp.Star():
            return _no_value("*")
        case exp.Column(this=exp.Star()):
            return _no_value(to_sql(node))
        case exp.Tuple():
            return BindError(
                f"{to_sql(node)} is several values",
                hint="Write the columns without brackets, or compare them one by one with AND.",
                span=span_of(node),
            )
        case _:
            return BindError(
                f"{to_sql(node)} is not supported",
                detail="The language has no such expression.",
                hint="docs/reference/language.md shows every construct.",
                span=span_of(node),
            )


def _no_value(star: str) -> BindError:
    return BindError(
        f"{star} cannot stand here",
        detail="It is all columns of a tuple, not one value.",
        hint="Name a column; * stands in SELECT and in COUNT(*).",
    )


def condition(expr: Expr, node: exp.Expr, clause: str) -> Expr:
    """Return the expression; refuse it if it is neither true nor false."""
    if expr.type not in (types.BOOLEAN, types.NULL):
        raise BindError(
            f"{clause} needs a condition, {to_sql(node)} is {types.sql_name(expr.type)}",
            hint="Compare it with something.",
            span=span_of(node),
        )
    return functions.coerce(expr, types.BOOLEAN)


def _is_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string


def bind_literal(node: exp.Expr, *, negative: bool = False) -> Literal:
    """Return a constant: BIGINT, DECIMAL for a decimal point, DOUBLE for an exponent, STRING."""
    text = str(node.this)
    if node.is_string:
        return Literal(text, types.STRING)
    sign = "-" if negative else ""
    try:
        if text.isdigit():
            return _integer(int(sign + text))
        if "e" in text.lower():
            return _double(float(sign + text))
        return _decimal_literal(sign, text)
    except (ValueError, ArithmeticError) as error:
        shown = text if len(text) <= 50 else f"{text[:47]}..."
        raise BindError(
            f"{shown} is not a number that can be kept",
            detail=f"A number has at most {types.MAX_PRECISION} digits, or an exponent up to 308.",
            hint="Write fewer digits, or an exponent: 1.5e30.",
            span=span_of(node),
        ) from error


def _double(value: float) -> Literal:
    if not math.isfinite(value):
        raise OverflowError
    return Literal(value, types.DOUBLE)


def _integer(value: int) -> Literal:
    if -(2**63) <= value < 2**63:
        return Literal(value, types.BIGINT)
    return _decimal_literal("-" if value < 0 else "", str(abs(value)))


def _decimal_literal(sign: str, text: str) -> Literal:
    value = Decimal(sign + text)
    if len(value.as_tuple().digits) > types.MAX_PRECISION:
        raise ValueError(text)
    digits, exponent = value.as_tuple().digits, -int(value.as_tuple().exponent)
    return Literal(value, types.decimal(max(len(digits), exponent, 1), max(exponent, 0)))


def _interval(node: exp.Interval) -> Literal:
    unit = UNIT_OF.get(str(node.args.get("unit") or "").upper())
    text = str(getattr(node.this, "this", ""))
    if unit is None or not re.fullmatch(r"[+-]?\d+(\.\d+)?", text):
        raise BindError(
            f"{to_sql(node)} is not an interval of fixed length",
            detail="Months and years differ in length.",
            hint="Write a number and WEEKS, DAYS, HOURS, MINUTES, SECONDS or finer.",
            span=span_of(node),
        )
    width = round(Fraction(text) * UNITS[unit]) if len(text) <= 40 else FOREVER
    if abs(width) >= FOREVER:
        raise BindError(
            f"{to_sql(node)} is too long",
            detail="An interval has less than 2^63 microseconds, which is 292,000 years.",
            hint="Write a shorter one.",
            span=span_of(node),
        )
    return Literal(width, types.INTERVAL)


def has_parts(node: exp.DataType) -> bool:
    """Return whether a type is STRUCT or MAP, or holds one: its values are read by no query."""
    return any(t.this in (exp.DType.STRUCT, exp.DType.MAP) for t in node.find_all(exp.DataType))


def bind_type(node: exp.DataType) -> pa.DataType:
    """Return the type that a DDL column or a CAST names."""
    name = node.this.value if isinstance(node.this, exp.DataType.Type) else str(node.this)
    if name in ("DECIMAL", "NUMERIC"):
        return _decimal_type(node)
    if name == "ARRAY" and node.expressions:
        return pa.list_(bind_type(node.expressions[0]))
    known = types.SQL_NAMES.get(_TYPE_ALIASES.get(name, name))
    if known is None or known == types.NULL:
        raise BindError(
            f"unknown type {name}",
            detail=f"The types are {', '.join(n for n in types.SQL_NAMES if n != 'VOID')}, "
            "DECIMAL(p, s) and ARRAY<type>.",
            hint="Declare one column for each part of the value.",
            span=span_of(node),
        )
    return known


_TYPE_ALIASES = {
    "TEXT": "STRING",
    "VARCHAR": "STRING",
    "CHAR": "STRING",
    "TIMESTAMPTZ": "TIMESTAMP",
    "TIMESTAMPLTZ": "TIMESTAMP",
    "TIMESTAMPNTZ": "TIMESTAMP",
    "DATETIME": "TIMESTAMP",
    "VARBINARY": "BINARY",
    "LONG": "BIGINT",
    "INTEGER": "INT",
    "REAL": "FLOAT",
}


def _decimal_type(node: exp.DataType) -> pa.DataType:
    written = [str(parameter.this.this) for parameter in node.expressions]
    sizes = [int(text) if text.isdecimal() and len(text) < 5 else -1 for text in written]
    precision, scale = (*sizes, *(10, 0)[len(sizes) :])[:2]
    if len(sizes) > 2 or not (0 < precision <= types.MAX_PRECISION and 0 <= scale <= precision):
        raise BindError(
            f"DECIMAL({', '.join(written)}) does not exist",
            detail=f"DECIMAL(p, s) has p digits, at most {types.MAX_PRECISION}, "
            "s of them decimals.",
            hint="Write DECIMAL(18, 2), for example.",
            span=span_of(node),
        )
    return pa.decimal128(precision, scale)
