"""The closed list of what a tree may hold, and the rules that grammar alone does not say.

sqlglot reads the SQL of thirty systems. What is not listed here is refused by name, with its
place, rather than read and later ignored; so a binder meets only these nodes.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import NoReturn

from sqlglot import exp

from windrow.core.errors import ParseError
from windrow.language import syntax
from windrow.language.spans import TYPES_HINT, span_of

MAX_DEPTH = 300
"""Levels of a tree: each operator of a chain ``a + b + c`` is one, so a binder may recurse."""

TYPES = frozenset({
    exp.DType.BOOLEAN, exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT,
    exp.DType.FLOAT, exp.DType.DOUBLE, exp.DType.DECIMAL, exp.DType.TEXT, exp.DType.VARCHAR,
    exp.DType.CHAR, exp.DType.BINARY, exp.DType.DATE, exp.DType.TIMESTAMPTZ,
    exp.DType.TIMESTAMPNTZ, exp.DType.ARRAY, exp.DType.MAP, exp.DType.STRUCT,
})  # fmt: skip
"""sqlglot's names of Spark's types: STRING is TEXT, TIMESTAMP is TIMESTAMPTZ."""

SIZED = frozenset({
    exp.DType.DECIMAL, exp.DType.VARCHAR, exp.DType.CHAR, exp.DType.ARRAY, exp.DType.MAP,
    exp.DType.STRUCT,
})  # fmt: skip
"""Types that numbers or other types follow. The length of a VARCHAR is its source's affair."""

PLAIN_NAME = re.compile(r"[^\W\d]\w*\Z")
NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

QUERY = ("with_", "order", "limit", "offset")
SET_OPERATION = ("this", "expression", "distinct", *QUERY)
BINARY = ("this", "expression")

ALLOWED: dict[type[exp.Expr], frozenset[str]] = {
    node: frozenset(args)
    for nodes, args in (
        # queries
        (
            (exp.Select,),
            ("expressions", "distinct", "from_", "joins", "where", "group", "having", *QUERY),
        ),
        ((exp.Union, exp.Except, exp.Intersect), SET_OPERATION),
        ((exp.Subquery,), ("this", "alias", *QUERY)),
        ((exp.With,), ("expressions",)),
        ((exp.CTE,), ("this", "alias")),
        ((exp.From, exp.Where, exp.Having), ("this",)),
        ((exp.Join,), ("this", "method", "side", "kind", "on", "using")),
        ((exp.Group,), ("expressions", "all")),
        ((exp.Rollup, exp.Cube, exp.GroupingSets), ("expressions",)),
        ((exp.Order,), ("this", "expressions")),
        ((exp.Ordered,), ("this", "desc", "nulls_first")),
        ((exp.Limit, exp.Offset), ("expression",)),
        ((exp.Table,), ("this", "db", "catalog", "alias")),
        ((exp.TableAlias,), ("this", "columns")),
        ((syntax.Windowed,), ("this", "window")),
        ((syntax.StreamWindow,), ("kind", "size", "slide", "keys", "internal")),
        ((syntax.Duration,), ("this", "unit")),
        ((syntax.StreamFunction,), ("kind", "this", "window", "restore")),
        ((syntax.StreamItems,), ("expressions", "distinct")),
        ((syntax.PairWindow,), ("kind", "streams", "size")),
        # names and constants
        ((exp.Alias,), ("this", "alias")),
        ((exp.Column,), ("this", "table", "db", "catalog")),
        ((exp.Identifier,), ("this", "quoted")),
        ((exp.Dot,), BINARY),
        ((exp.Star, exp.Null), ()),
        ((exp.Boolean, exp.Var), ("this",)),
        ((exp.Literal,), ("this", "is_string")),
        ((exp.Interval,), ("this", "unit")),
        ((exp.DataType,), ("this", "expressions", "nested")),
        ((exp.DataTypeParam,), ("this",)),
        ((exp.ColumnDef,), ("this", "kind")),
        # operators
        (
            (exp.And, exp.Or, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ,
             exp.NullSafeNEQ, exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.IntDiv, exp.BitwiseAnd,
             exp.BitwiseOr, exp.BitwiseXor, exp.RegexpLike, exp.Escape),
            BINARY,
        ),
        ((exp.Is, exp.Like, exp.ILike), (*BINARY, "negate")),
        ((exp.Div,), (*BINARY, "typed", "safe")),
        ((exp.DPipe,), (*BINARY, "safe")),
        ((exp.Not, exp.Neg, exp.BitwiseNot, exp.Paren), ("this",)),
        ((exp.Between,), ("this", "low", "high")),
        ((exp.In,), ("this", "expressions", "query")),
        ((exp.Exists, exp.Any, exp.All), ("this",)),
        ((exp.Tuple, exp.Distinct), ("expressions",)),
        ((exp.Bracket,), ("this", "expressions")),
        # functions
        ((exp.Anonymous,), ("this", "expressions")),
        ((exp.Cast, exp.TryCast), ("this", "to", "safe")),
        ((exp.Case,), ("this", "ifs", "default")),
        ((exp.If,), ("this", "true")),
        ((exp.Extract,), BINARY),
        ((exp.Trim,), ("this", "expression", "position")),
        ((exp.Filter, exp.WithinGroup), BINARY),
        ((exp.IgnoreNulls, exp.RespectNulls), ("this",)),
        ((exp.Window,), ("this", "partition_by", "order", "spec", "over")),
        ((exp.WindowSpec,), ("kind", "start", "start_side", "end", "end_side")),
    )
    for node in nodes
}  # fmt: skip


KEYED: dict[type[exp.Expr], str] = {exp.Group: "GROUP BY", exp.Order: "ORDER BY"}


def check(tree: exp.Expr) -> None:
    """Refuse a tree that holds something else than the language has."""
    level = [tree]
    depth = 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise ParseError(
                f"the query is more than {MAX_DEPTH} levels deep",
                detail="Each operator in a chain such as a + b + c counts as a level.",
                hint="Use IN (...) for long lists of alternatives, or split the query.",
                span=span_of(level[0]),
            )
        for node in level:
            check_node(node)
        level = [child for node in level for child in node.iter_expressions()]


def check_node(node: exp.Expr) -> None:
    """Refuse one node that is not of the language, or stands where it cannot."""
    allowed = ALLOWED.get(type(node))
    if allowed is None:
        refuse(node, type(node).__name__)
    for name, value in node.args.items():
        if name not in allowed and value not in (None, False, []):
            refuse(node, f"{type(node).__name__} with {name.strip('_')}")
    match node:
        case exp.Select() if not node.expressions:
            raise ParseError(
                "SELECT without anything to select",
                hint="Write SELECT * for all columns.",
                span=span_of(node),
            )
        case exp.Group() | exp.Order() | exp.Rollup() | exp.Cube() if not (
            node.expressions or node.args.get("all")
        ):
            word = KEYED.get(type(node), node.key.upper())
            raise ParseError(
                f"{word} without columns",
                hint=f"Name columns after it, or leave {word} out.",
                span=span_of(node),
            )
        case exp.DataType():
            check_type(node)
        case exp.Dot() | exp.Column() if not is_field(node):
            raise ParseError(
                "only fields of columns are taken by a dot",
                hint="Write source.column.",
                span=span_of(node),
            )
        case exp.Identifier() if not (node.args.get("quoted") or PLAIN_NAME.match(node.name)):
            raise ParseError(
                f'"{node.name}" is not a name',
                hint="Names of other characters than letters, digits and _ stand in backticks.",
                span=span_of(node),
            )
        case exp.Literal() if not (node.is_string or NUMBER.fullmatch(node.name)):
            raise ParseError(
                f"{node.name} is not a number",
                hint="Write digits with at most one point, and an exponent if need be: 1.5e3.",
                span=span_of(node),
            )
        case exp.Anonymous() if not isinstance(node.this, str) or not PLAIN_NAME.match(node.this):
            raise ParseError(
                "the name of a function is not quoted",
                hint="Write it without quotes.",
                span=span_of(node),
            )
        case exp.DataTypeParam() if not node.this.is_int:
            raise ParseError(
                "the size of a type is a whole number",
                hint="For example DECIMAL(18, 2).",
                span=span_of(node),
            )
        case syntax.StreamFunction():
            check_stream_function(node)


def check_type(node: exp.DataType) -> None:
    """Refuse a type that no column can have, and a size on a type that has none.

    VARCHAR and CHAR without a length are STRING, and are printed so.
    """
    if node.this not in TYPES:
        raise ParseError(
            f"unknown type {node.sql(dialect='spark')}", hint=TYPES_HINT, span=span_of(node)
        )
    if node.this in (exp.DType.VARCHAR, exp.DType.CHAR) and not node.expressions:
        node.set("this", exp.DType.TEXT)
    elif node.expressions and node.this not in SIZED:
        name = exp.DataType(this=node.this).sql(dialect="spark")
        raise ParseError(
            f"{name} has no size",
            detail="Values are kept whole: a size would have to cut them, or be ignored.",
            hint=f"Write {name}; cut values with LEFT, ROUND or DATE_TRUNC.",
            span=span_of(node),
        )


def is_field(node: exp.Dot | exp.Column) -> bool:
    """Return whether ``x.y`` takes the field y of a value x, or a column is named by a name."""
    if isinstance(node, exp.Column):
        return isinstance(node.this, exp.Identifier | exp.Star)
    holders = (exp.Column, exp.Dot, exp.Bracket, exp.Paren, exp.Anonymous)
    return isinstance(node.this, holders) and isinstance(node.expression, exp.Identifier)


def refuse(node: exp.Expr, what: str) -> NoReturn:
    """Fail because the language has no `what`."""
    spaced = "".join(f" {c}" if c.isupper() else c for c in what).replace("_", " ").upper()
    words = " ".join(word for word, _ in groupby(spaced.split()))  # of a WITH with recursive, one
    raise ParseError(
        f"{words} is not part of the language",
        detail=WHY_NOT.get(words)
        or "The text is SQL that some systems know, but no continuous query can use it.",
        hint="Take it out; docs/reference/language.md shows every construct.",
        span=span_of(node),
    )


WHY_NOT = {"WITH RECURSIVE": "A query that reads its own answer would be run anew at every change."}
"""Reasons for which a construct is refused, where there is one of its own."""


def check_stream_function(node: syntax.StreamFunction) -> None:
    """A stream function stands around a whole query, or as WSTREAM inside an aggregate."""
    kind = node.args["kind"].upper()
    around = node.parent
    if isinstance(node.this, syntax.StreamItems):
        items = node.this.expressions
        in_aggregate = kind == "WSTREAM" and isinstance(around, exp.Anonymous)
        if not in_aggregate or len(items) > 1 or node.this.args.get("distinct"):
            raise ParseError(
                f"{kind} does not stand around the whole query",
                detail="It turns the whole answer into a stream: in a SELECT it is the only item, "
                "in a UNION it is outside of it. Only WSTREAM(x) can stand in an aggregate.",
                hint=f"Write {kind}(SELECT ... FROM ...).",
                span=span_of(node),
            )
        node.set("this", items[0])
    elif isinstance(around, syntax.StreamFunction):
        raise ParseError(
            "stream functions do not nest",
            detail="The inner one makes a stream already; a stream function needs a relation.",
            hint="Leave one of them out.",
            span=span_of(node),
        )
    elif is_query(node.this) and not isinstance(around, QUERY_PLACES):
        raise ParseError(
            f"{kind} around a query cannot stand here",
            hint="It stands around the whole query, or around a sub-query.",
            span=span_of(node),
        )


QUERY_PLACES = (type(None), exp.Subquery, exp.Exists, exp.CTE)


def is_query(node: object) -> bool:
    """Return whether a node is a query rather than an expression."""
    return isinstance(node, exp.Query)
