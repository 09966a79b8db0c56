"""A query description as SQL text."""

from __future__ import annotations

from tests.reference.papers.description import (
    Agg,
    Block,
    Body,
    Col,
    Compare,
    Derived,
    Expr,
    Member,
    PairBound,
    Plus,
    Query,
    Source,
    Stream,
    Sub,
    Table,
    Window,
)


def to_sql(query: Query) -> str:
    """A query with its output operator."""
    text = body_sql(query.body)
    if query.kind == "view":
        assert not query.restore, "RESTORE goes with ISTREAM or RSTREAM"
        return text
    window = window_sql(query.window) if query.window else ""
    return f"{query.kind.upper()}({text}){window}{' RESTORE' if query.restore else ''}"


def body_sql(body: Body) -> str:
    """A SELECT, or a set operation of two."""
    if isinstance(body, Block):
        return block_sql(body)
    word = body.kind.upper() + (" ALL" if body.keep_all else "")
    return f"{_side_sql(body.left)} {word} {_side_sql(body.right)}"


def _side_sql(query: Query) -> str:
    text = to_sql(query)
    plain = query.kind == "view" and isinstance(query.body, Block) and not query.body.order
    return text if plain else f"({text})"


def block_sql(block: Block) -> str:
    """A SELECT."""
    parts = ["SELECT" + (" DISTINCT" if block.distinct else "")]
    parts.append(", ".join(f"{expr_sql(i.expr)} AS {i.name}" for i in block.items))
    parts.append("FROM " + ", ".join(map(source_sql, block.sources)))
    terms = [*map(compare_sql, block.where), *map(bound_sql, block.pairs)]
    terms += map(member_sql, block.members)
    if terms:
        parts.append("WHERE " + " AND ".join(terms))
    if block.group:
        parts.append("GROUP BY " + ", ".join(map(expr_sql, block.group)))
    if block.having:
        parts.append("HAVING " + " AND ".join(map(compare_sql, block.having)))
    if block.order:
        keys = (expr_sql(o.expr) + (" DESC" if o.descending else "") for o in block.order)
        parts.append("ORDER BY " + ", ".join(keys))
    if block.limit is not None:
        parts.append(f"LIMIT {block.limit}")
    if block.offset:
        parts.append(f"OFFSET {block.offset}")
    return " ".join(parts)


def source_sql(source: Source) -> str:
    """An item of FROM."""
    match source:
        case Stream(name, alias, window) if window is None:
            return f"{name} AS {alias}"
        case Stream(name, alias, window):
            assert window is not None
            return f"{name} AS {alias} {window_sql(window)}"
        case Table(name, alias):
            return f"{name} AS {alias}"
        case Sub(query, alias):
            return f"({to_sql(query)}) AS {alias}"
        case Derived(query, alias, window):
            return f"({to_sql(query)}) AS {alias} {window_sql(window)}"


def window_sql(window: Window) -> str:
    """A window in its brackets."""
    match window:
        case Window("partition", size, key=key):
            text = f"PARTITION BY {key} ROWS {size}"
        case Window("now" | "unbounded" as kind):
            text = kind.upper()
        case Window(kind, size, slide):
            text = f"{kind.upper()} {size}" + (f" SLIDE {slide}" if slide else "")
    return f"[{text}{' INTERNAL' if window.internal else ''}]"


def expr_sql(expr: Expr | Agg | int) -> str:
    """An expression."""
    match expr:
        case int():
            return str(expr)
        case Col("", name):
            return name
        case Col(alias, name):
            return f"{alias}.{name}"
        case Plus(col, number):
            return f"{expr_sql(col)} + {number}"
        case Agg(_, None):
            return "COUNT(*)"
        case Agg("count distinct", arg):
            return f"COUNT(DISTINCT {expr_sql(arg)})"
        case Agg(function, arg):
            return f"{function.upper()}({expr_sql(arg)})"
        case _:
            return f"{expr_sql(expr.col)} * {expr.number}"


def compare_sql(term: Compare) -> str:
    """A comparison."""
    return f"{expr_sql(term.left)} {term.op} {expr_sql(term.right)}"


def bound_sql(bound: PairBound) -> str:
    """A bound on pairs."""
    word = "DWINDOW" if bound.directed else "WINDOW"
    names = f"({bound.left}, {bound.right})" if bound.left else ""
    return f"{word}{names} = {bound.width}"


def member_sql(member: Member) -> str:
    """EXISTS, IN, or their negation."""
    inner = block_sql(member.inner)
    word = "NOT " if member.negated else ""
    if member.value is None:
        return f"{word}EXISTS ({inner})"
    return f"{expr_sql(member.value)} {word}IN ({inner})"
