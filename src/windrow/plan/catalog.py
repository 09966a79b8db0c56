"""What a query may refer to: declared streams and relations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from windrow.core.schema import Schema
from windrow.core.time import Clock, format_duration, wall_time

Unread = tuple[tuple[str, str], ...]
"""Declared columns of a type that no query reads, STRUCT or MAP: each with that type as written.

No state depends on them, so they are not part of a plan's text.
"""


@dataclass(frozen=True, slots=True)
class Stream:
    """A declared stream: columns, which of them is the time, and where tuples come from.

    `max_ahead`: how far, in µs, a tuple's time may be ahead of the wall clock at its arrival.
    """

    name: str
    schema: Schema
    time_column: str
    clock: Clock
    slack: int = 0
    format: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    max_ahead: int | None = None
    unread: Unread = field(default=(), repr=False)

    def __post_init__(self) -> None:
        assert self.time_column in self.schema, f"{self.time_column} is not a column"
        assert self.slack >= 0, "slack cannot be negative"
        assert self.max_ahead is None or self.clock is Clock.TIMESTAMP, "ticks have no wall clock"

    @property
    def too_far_ahead(self) -> str:
        """The reason for which a row is rejected whose time is too far ahead."""
        assert self.max_ahead is not None, "only then are rows rejected for it"
        length = format_duration(self.max_ahead, self.clock)
        return f"{self.time_column} is more than {length} ahead of the wall clock"

    @property
    def heartbeat(self) -> int | None:
        """How long after its own time, in µs, a tuple is there at the latest, if that is known."""
        return self._length("heartbeat")

    @property
    def idle(self) -> int | None:
        """For how long, in µs, it may say nothing before others go on without it, if it may."""
        return self._length("idle")

    def _length(self, option: str) -> int | None:
        text = {name.lower(): value for name, value in self.options}.get(option)
        return None if text is None else wall_time(text, f'{option} of "{self.name}"')


@dataclass(frozen=True, slots=True)
class Relation:
    """A declared table. Its updates reach back to earlier tuples if it is `retroactive`.

    With a `key`, pushing a row replaces the row of the same key.
    """

    name: str
    schema: Schema
    retroactive: bool = True
    key: tuple[str, ...] = ()
    format: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    unread: Unread = field(default=(), repr=False)

    @property
    def changes_by_stream(self) -> bool:
        """Whether its source is a stream of its changes."""
        options = {name.lower(): value for name, value in self.options}
        return options.get("updates", "").lower() == "stream"


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """A query that others read in FROM: a view, or of WITH.

    `columns`: their names, if given; `known`: the named queries that it may read itself. A view
    has its name as declared in `view`, and the schema of its answer.
    """

    query: exp.Expr
    columns: tuple[str, ...]
    known: Mapping[str, NamedQuery]
    view: str = ""
    schema: Schema = field(default_factory=lambda: Schema(()))


@dataclass(slots=True)
class Catalog:
    """All declared names. Names are case-insensitive, as in SQL."""

    entries: dict[str, Stream | Relation] = field(default_factory=dict)
    views: dict[str, NamedQuery] = field(default_factory=dict)

    def add(self, entry: Stream | Relation) -> None:
        """Declare a stream or relation, replacing what had its name."""
        self.entries[entry.name.lower()] = entry

    def drop(self, name: str) -> None:
        """Forget a name."""
        del self.entries[name.lower()]

    def get(self, name: str) -> Stream | Relation | None:
        """Return the stream or relation of this name, if there is one."""
        return self.entries.get(name.lower())

    def read_by(self, tree: exp.Expr) -> Iterator[tuple[exp.Table, str]]:
        """Yield what a query reads, by name in lower case; what its views read, after them.

        Each comes with the place in the query's own text where it is read.
        """
        named = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
        for table in tree.find_all(exp.Table):
            name = table.name.lower()
            if name in named:
                continue
            yield table, name
            if name in self.views:
                yield from ((table, inner) for _, inner in self.read_by(self.views[name].query))

    @property
    def names(self) -> tuple[str, ...]:
        """All names as declared: streams and relations in the order of declaration, then views."""
        views = (named.view for named in self.views.values())
        return (*(entry.name for entry in self.entries.values()), *views)
