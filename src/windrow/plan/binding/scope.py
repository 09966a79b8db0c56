"""Names: which column of which source a written name means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from windrow.core.errors import BindError, Span
from windrow.core.naming import near
from windrow.language.printing import to_sql
from windrow.language.spans import span_of
from windrow.plan.catalog import Unread
from windrow.plan.expressions import Column, Expr
from windrow.plan.nodes import Plan


@dataclass(frozen=True, slots=True)
class FromItem:
    """One item of FROM, bound.

    `columns` maps the names a user writes to columns of `plan`. `time_column` is set for a base
    stream; `expiry_column` for an external window beside an INTERNAL one. `count_slides`: its
    window is ``[ROWS n SLIDE m]``. `hidden`: names, in lower case, that mean this source's columns
    only after its alias: those of USING.
    """

    alias: str
    plan: Plan
    columns: tuple[tuple[str, Column], ...]
    kind: str  # "stream", "query", "relation" or "nrr"
    span: Span | None = None
    time_column: str | None = None
    internal: bool = False
    external: bool = False
    implicit: bool = False  # an unbounded stream that nobody asked to be unbounded
    expiry_column: str | None = None
    count_slides: bool = False
    unread: Unread = ()
    hidden: frozenset[str] = frozenset()

    def find(self, name: str) -> Column | None:
        """Return the column of that name, in any case."""
        wanted = name.lower()
        return next((c for n, c in self.columns if n.lower() == wanted), None)


@dataclass(frozen=True, slots=True)
class Scope:
    """The sources of a SELECT block, inside those of the blocks around it.

    `outer` may be read; what is `beyond` is in sight, but the block may not refer to it. `terms`
    hold in every result of the block. `merged` are the columns of USING and NATURAL, each list of
    them as an item of its own; `shown` has these and the sources in the order of ``*``.
    `values`: what the sub-queries that are values stand for, by the identity of their syntax.
    """

    sources: tuple[FromItem, ...] = ()
    outer: Scope | None = None
    bare_words: bool = False
    beyond: Scope | None = None
    terms: tuple[Expr, ...] = ()
    merged: tuple[FromItem, ...] = ()
    shown: tuple[FromItem, ...] = ()
    values: Mapping[int, Expr] = field(default_factory=dict)

    @property
    def own_columns(self) -> frozenset[str]:
        """The names of this block's columns in its plan."""
        made = (column.name for item in self.merged for _, column in item.columns)
        return frozenset(made).union(*(s.plan.schema.names for s in self.sources))

    def resolve(self, node: exp.Column) -> Column | None:
        """Return the column that `node` names, looking outwards; None if there is none."""
        here = self._here(node)
        if here is not None:
            return here
        return None if self.outer is None else self.outer.resolve(node)

    def _here(self, node: exp.Column) -> Column | None:
        if node.args.get("db"):
            raise BindError(
                f"{to_sql(node)} has too many parts",
                detail="A column is named by itself or after the name of its source in FROM.",
                hint=f"Write {node.table}.{node.name}.",
                span=span_of(node),
            )
        table = node.table.lower()
        found = [
            (source, column)
            for source in (*self.sources, *self.merged)
            if (source.alias.lower() == table if table else node.name.lower() not in source.hidden)
            if (column := source.find(node.name)) is not None
        ]
        if len(found) > 1:
            owners = " and ".join(f'"{source.alias}"' for source, _ in found)
            raise BindError(
                f'column "{node.name}" is ambiguous',
                detail=f"It is a column of {owners}.",
                hint=f"Write {found[0][0].alias}.{node.name}, for example.",
                span=span_of(node),
            )
        return found[0][1] if found else None

    def all_sources(self) -> tuple[FromItem, ...]:
        """All sources in sight, innermost first."""
        return self.sources + (self.outer.all_sources() if self.outer else ())

    def written(self, column: str) -> str:
        """Return a column of the plan as a user would write it, qualified."""
        for source in self.all_sources():
            for name, found in source.columns:
                if found.name == column:
                    return f"{source.alias}.{name}"
        return column


def unknown_column(node: exp.Column, scope: Scope) -> BindError:
    """Return the error for a name that no source has, with the near ones offered."""
    if scope.beyond is not None and scope.beyond.resolve(node) is not None:
        return _out_of_reach(node)
    sources = scope.all_sources()
    table = node.table
    if table and all(s.alias.lower() != table.lower() for s in sources):
        return unknown_source(node, [s.alias for s in sources])
    owners = [s for s in sources if not table or s.alias.lower() == table.lower()]
    for source in owners:
        for name, type_ in source.unread:
            if name.lower() == node.name.lower():
                return _without_parts(node, source, type_)
    names = list(dict.fromkeys(name for s in owners for name, _ in s.columns))
    hint = near(node.name, names)
    if not table:
        quotes = "in single quotes: " if node.this.args.get("quoted") else ""
        hint = f"{hint} A text constant is written {quotes}'{node.name}'.".strip()
    elif elsewhere := [s.alias for s in sources if s not in owners and s.find(node.name)]:
        hint = f"Write {elsewhere[0]}.{node.name}."
    return BindError(
        f'unknown column "{node.name}"' + (f' of "{table}"' if table else ""),
        detail=f"The columns are {', '.join(names)}." if names else "",
        hint=hint or "Name one of them.",
        span=span_of(node),
    )


def _without_parts(node: exp.Column, source: FromItem, type_: str) -> BindError:
    return BindError(
        f'no query can read column "{node.name}" of "{source.alias}"',
        detail=f"It is declared {type_}, and values of a STRUCT or MAP stay in their source.",
        hint="Declare one column for each part of the value.",
        span=span_of(node),
    )


def unknown_source(node: exp.Column, aliases: list[str]) -> BindError:
    """Return the error for ``alias.column`` or ``alias.*`` where FROM has no such alias."""
    return BindError(
        f'unknown source "{node.table}"',
        detail=f"FROM has {', '.join(aliases)}.",
        hint=near(node.table, aliases) or f"Write {aliases[0]}.{node.name}, or add it to FROM."
        if aliases
        else "",
        span=span_of(node),
    )


def _out_of_reach(node: exp.Column) -> BindError:
    return BindError(
        f"this sub-query may not refer to {to_sql(node)} of the query around it",
        detail="Only a SELECT in EXISTS or IN without WITH, UNION, grouping, aggregates, LIMIT and "
        "OFFSET may refer to the query around it.",
        hint="Put the sub-query into FROM and join with it there.",
        span=span_of(node),
    )
