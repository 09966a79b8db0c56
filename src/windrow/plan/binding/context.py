"""What binding one query carries along."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from windrow.core.errors import BindError, SemanticError, Span
from windrow.core.time import Clock
from windrow.language.spans import span_of
from windrow.plan.binding.scope import Scope
from windrow.plan.catalog import Catalog, NamedQuery, Stream

MAX_SOURCES = 256
"""Sources of one query, its sub-queries' included: a query of WITH counts each time it is read."""


@dataclass(slots=True)
class RefreshScope:
    """The part of a query that one SLIDE holds: all of it, or one windowed sub-query."""

    slide: int | None = None
    span: Span | None = None
    rows: bool = False

    def note(self, slide: int, span: Span | None, *, rows: bool) -> None:
        """Record a SLIDE; refuse it if another one disagrees."""
        if self.slide is not None and (self.slide, self.rows) != (slide, rows):
            raise SemanticError(
                "the windows of one query have different SLIDEs",
                detail="The answer is refreshed as a whole, so there is one moment to refresh it.",
                hint="Give all windows the same SLIDE, or put one into a windowed sub-query.",
                span=span,
            )
        self.slide, self.span, self.rows = slide, span, rows

    @property
    def period(self) -> int | None:
        """The time between refreshes; None if the answer follows every change."""
        return None if self.rows else self.slide


@dataclass(slots=True)
class Context:
    """Catalog, settings, and what has been seen of the query so far.

    `around` are the sources of the query around this one, which it may not refer to.
    """

    catalog: Catalog
    settings: Mapping[str, object] = field(default_factory=dict)
    refresh: RefreshScope = field(default_factory=RefreshScope)
    clock: Clock | None = None
    clock_source: str = ""
    aliases: set[str] = field(default_factory=set)
    named_queries: Mapping[str, NamedQuery] = field(default_factory=dict)
    around: Scope | None = None
    unnamed: int = 0

    def __post_init__(self) -> None:
        self.named_queries = {**self.catalog.views, **self.named_queries}

    def unique_alias(self, alias: str, span: Span | None) -> str:
        """Return a name for a source that no other source of the whole query has."""
        if len(self.aliases) >= MAX_SOURCES:
            raise BindError(
                f"the query reads more than {MAX_SOURCES} sources",
                detail="A query of WITH counts each time that it is read.",
                hint="Split the query.",
                span=span,
            )
        name, n = alias, 1
        while name.lower() in self.aliases:
            n += 1
            name = f"{alias}_{n}"
        self.aliases.add(name.lower())
        return name

    def name_unnamed(self) -> str:
        """Return a name for the next sub-query in FROM that has none."""
        self.unnamed += 1
        return "query" if self.unnamed == 1 else f"query{self.unnamed}"

    def settle_clock(self, tree: exp.Expr) -> None:
        """Take the clock of a stream that the query reads, before any duration is bound.

        A window over a relation's changes may come first in the text.
        """
        for table, name in self.catalog.read_by(tree):
            entry = self.catalog.get(name)
            if isinstance(entry, Stream):
                self.agree_on_clock(entry.clock, entry.name, span_of(table))
                return

    def agree_on_clock(self, clock: Clock, source: str, span: Span | None) -> None:
        """Settle the query's clock by its first stream; refuse another kind."""
        if self.clock is None:
            self.clock, self.clock_source = clock, source
        elif self.clock is not clock:
            raise SemanticError(
                f'"{source}" runs on {_clock_name(clock)}, "{self.clock_source}" on '
                f"{_clock_name(self.clock)}",
                detail="One query has one clock.",
                hint="Declare both streams with TIMESTAMP BY columns of one kind.",
                span=span,
            )


def _clock_name(clock: Clock) -> str:
    return "timestamps" if clock is Clock.TIMESTAMP else "integer ticks"
