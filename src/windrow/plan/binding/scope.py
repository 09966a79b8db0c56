"""Names: which column of which source a written name means."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from sqlglot import exp

from windrow.core.errors import BindError, Span
from windrow.language.spans import span_of
from windrow.plan.expressions import Column
from windrow.plan.nodes import Plan


@dataclass(frozen=True, slots=True)
class Source:
    """One item of FROM, bound.

    `columns` maps the names a user writes to columns of `plan`. `time_column` is set for a base
    stream; `expiry_column` for an external window beside an INTERNAL one.
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

    def find(self, name: str) -> Column | None:
        """Return the column of that name, in any case."""
        wanted = name.lower()
        return next((c for n, c in self.columns if n.lower() == wanted), None)


@dataclass(frozen=True, slots=True)
class Scope:
    """The sources of a SELECT block, inside those of the blocks around it."""

    sources: tuple[Source, ...] = ()
    outer: Scope | None = None
    bare_words: bool = False

    def resolve(self, node: exp.Column) -> Column | None:
        """Return the column that `node` names, looking outwards; None if there is none."""
        here = self._here(node)
        if here is not None:
            return here
        return None if self.outer is None else self.outer.resolve(node)

    def _here(self, node: exp.Column) -> Column | None:
        table = node.table.lower()
        found = [
            (source, column)
            for source in self.sources
            if not table or source.alias.lower() == table
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

    def all_sources(self) -> tuple[Source, ...]:
        """All sources in sight, innermost first."""
        return self.sources + (self.outer.all_sources() if self.outer else ())


def unknown_column(node: exp.Column, scope: Scope) -> BindError:
    """Return the error for a name that no source has, with the near ones offered."""
    sources = scope.all_sources()
    table = node.table
    if table and all(s.alias.lower() != table.lower() for s in sources):
        aliases = [s.alias for s in sources]
        return BindError(
            f'unknown source "{table}"',
            detail=f"FROM has {', '.join(aliases) or 'nothing'}.",
            hint=near(table, aliases),
            span=span_of(node),
        )
    owners = [s for s in sources if not table or s.alias.lower() == table.lower()]
    names = list(dict.fromkeys(name for s in owners for name, _ in s.columns))
    hint = near(node.name, names)
    if not table:
        hint = f"{hint} A text constant is written '{node.name}'.".strip()
    return BindError(
        f'unknown column "{node.name}"' + (f' of "{table}"' if table else ""),
        detail=f"The columns are {', '.join(names)}." if names else "",
        hint=hint,
        span=span_of(node),
    )


def near(name: str, known: list[str]) -> str:
    """Return ``Did you mean ...?`` for the known names close to a wrong one, or nothing."""
    by_lower = {k.lower(): k for k in known}
    close = get_close_matches(name.lower(), list(by_lower), n=3, cutoff=0.6)
    return f"Did you mean {' or '.join(by_lower[c] for c in close)}?" if close else ""
