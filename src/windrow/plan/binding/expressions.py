"""Scalar expressions: from syntax to typed `Expr`s."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa
from sqlglot import exp

from windrow.core.errors import BindError, WindrowError
from windrow.core.time import UNITS
from windrow.core.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTERVAL,
    MAX_PRECISION,
    NULL,
    SQL_NAMES,
    STRING,
    decimal,
)
from windrow.language.printing import to_sql
from windrow.language.spans import span_of
from windrow.language.syntax import UNIT_OF, PairWindow, StreamFunction
from windrow.plan.binding.scope import Scope, unknown_column
from windrow.plan.expressions import Expr, Literal
from windrow.plan.functions import ALIASES, FUNCTIONS, is_aggregate, resolve_call, resolve_cast

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

OnAggregate = Callable[[exp.Expr], Expr]


@dataclass(frozen=True, slots=True)
class ExpressionBinder:
    """Binds expressions in a scope; `on_aggregate` takes the aggregates where they may stand."""

    scope: Scope
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
                return Literal(None, NULL)
            case exp.Boolean():
                return Literal(bool(node.this), BOOLEAN)
            case exp.Paren():
                return self.bind(node.this)
            case exp.Anonymous() | exp.Filter():
                return self._function(node)
            case exp.Cast() | exp.TryCast():
                return resolve_cast(self.bind(node.this), bind_type(node.args["to"]))
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
                return resolve_call("not", (same,))
            case exp.Between():
                low = self._call("ge", node.this, node.args["low"])
                high = self._call("le", node.this, node.args["high"])
                return resolve_call("and", (low, high))
            case exp.In() if not node.args.get("query"):
                return self._call("in", node.this, *node.expressions)
            case exp.Extract():
                return self._call(node.name.lower(), node.expression)
            case exp.Trim():
                return self._trim(node)
            case exp.Escape():
                raise BindError(
                    "LIKE ... ESCAPE is not supported", hint="A backslash escapes % and _."
                )
            case _:
                raise misplaced(node)

    def _call(self, name: str, *args: exp.Expr) -> Expr:
        return resolve_call(name, tuple(self.bind(arg) for arg in args))

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
        if self.scope.bare_words and not node.table:
            return Literal(node.name, STRING)
        raise unknown_column(node, self.scope)

    def _function(self, node: exp.Expr) -> Expr:
        call = node.this if isinstance(node, exp.Filter) else node
        if isinstance(call, exp.Anonymous) and not is_aggregate(call.name):
            if isinstance(node, exp.Filter):
                raise BindError(
                    f'"{call.name}" is no aggregate, so it has no FILTER', span=span_of(node)
                )
            if call.name.lower() not in FUNCTIONS and call.name.lower() not in ALIASES:
                return resolve_call(call.name, ())  # unknown, whatever its arguments are
            return self._call(call.name, *call.expressions)
        if self.on_aggregate is None:
            raise BindError(
                f"{to_sql(node)} cannot stand here",
                detail="An aggregate folds the tuples that this clause is about to choose.",
                hint="Compare aggregates in HAVING; do not nest them.",
            )
        return self.on_aggregate(node)

    def _case(self, node: exp.Case) -> Expr:
        parts: list[Expr] = []
        for branch in node.args["ifs"]:
            if node.this is None:
                parts.append(self.bind(branch.this))
            else:
                parts.append(self._call("eq", node.this, branch.this))
            parts.append(self.bind(branch.args["true"]))
        if node.args.get("default") is not None:
            parts.append(self.bind(node.args["default"]))
        return resolve_call("case", tuple(parts))

    def _is(self, node: exp.Is) -> Expr:
        match node.expression:
            case exp.Null():
                return self._call("is_null", node.this)
            case exp.Boolean(this=True):
                return self._call("is_true", node.this)
            case exp.Boolean():
                return self._call("is_false", node.this)
            case _:
                raise BindError("IS goes with NULL, TRUE, FALSE or DISTINCT FROM")

    def _trim(self, node: exp.Trim) -> Expr:
        name = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(
            str(node.args.get("position") or "").upper(), "trim"
        )
        args = [node.this] + ([node.expression] if node.expression else [])
        return self._call(name, *args)


def misplaced(node: exp.Expr) -> BindError:
    """Return the error for syntax that has no meaning where it stands."""
    match node:
        case exp.Window():
            return BindError(
                "OVER (...) is not part of CQL",
                detail="In windrow the stream itself is windowed, in FROM.",
                hint="Write FROM s [RANGE ...], or [PARTITION BY k ROWS n], and aggregate over it.",
                span=span_of(node),
            )
        case exp.Exists() | exp.In():
            return BindError(
                "a sub-query predicate can only be a term of WHERE joined by AND",
                detail="Each EXISTS or IN becomes an operator of the plan.",
                hint="For an OR, write two queries and UNION them.",
                span=span_of(node),
            )
        case PairWindow():
            return BindError(
                "WINDOW(...) can only be a term of WHERE joined by AND", span=span_of(node)
            )
        case StreamFunction():
            return BindError(
                f"{str(node.args['kind']).upper()} cannot stand here",
                hint="It goes around the whole select list or the whole query.",
                span=span_of(node),
            )
        case exp.Subquery() | exp.Select():
            return BindError(
                "a sub-query cannot be a value",
                detail="Its answer changes over time, so it is a join partner, not a constant.",
                hint="Put it into FROM and join with it.",
                span=span_of(node),
            )
        case exp.Star():
            return BindError("* cannot stand here", span=span_of(node))
        case _:
            return BindError(f"{to_sql(node)} is not supported", span=span_of(node))


def _is_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string


def bind_literal(node: exp.Expr, *, negative: bool = False) -> Literal:
    """Return a constant: BIGINT, DECIMAL for a decimal point, DOUBLE for an exponent, STRING."""
    text = str(node.this)
    if node.is_string:
        return Literal(text, STRING)
    sign = "-" if negative else ""
    try:
        if text.isdigit():
            return _integer(int(sign + text))
        if "e" in text.lower():
            return Literal(float(sign + text), DOUBLE)
        return _decimal_literal(sign, text)
    except (ValueError, ArithmeticError) as error:
        raise BindError(f"{text} is not a number that can be kept exactly") from error


def _integer(value: int) -> Literal:
    if -(2**63) <= value < 2**63:
        return Literal(value, BIGINT)
    return _decimal_literal("-" if value < 0 else "", str(abs(value)))


def _decimal_literal(sign: str, text: str) -> Literal:
    value = Decimal(sign + text)
    if len(value.as_tuple().digits) > MAX_PRECISION:
        raise ValueError(text)
    digits, exponent = value.as_tuple().digits, -int(value.as_tuple().exponent)
    return Literal(value, decimal(max(len(digits), exponent, 1), max(exponent, 0)))


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
    return Literal(round(Fraction(text) * UNITS[unit]), INTERVAL)


def bind_type(node: exp.DataType) -> pa.DataType:
    """Return the type that a DDL column or a CAST names."""
    name = node.this.value if isinstance(node.this, exp.DataType.Type) else str(node.this)
    if name in ("DECIMAL", "NUMERIC"):
        return _decimal_type(node)
    if name == "ARRAY" and node.expressions:
        return pa.list_(bind_type(node.expressions[0]))
    known = SQL_NAMES.get(_TYPE_ALIASES.get(name, name))
    if known is None or known == NULL:
        raise BindError(
            f"unknown type {name}",
            detail=f"The types are {', '.join(n for n in SQL_NAMES if n != 'VOID')}, "
            "DECIMAL(p, s) and ARRAY<type>.",
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
    sizes = [int(str(p.this.this)) for p in node.expressions]
    precision, scale = (*sizes, *(10, 0)[len(sizes) :])
    if not (0 < precision <= 38 and 0 <= scale <= precision):
        raise BindError(
            f"DECIMAL({precision}, {scale}) does not exist",
            detail="At most 38 digits, of which at most all after the point.",
            span=span_of(node),
        )
    return pa.decimal128(precision, scale)
