"""A random case: queries, and a script of what happens to the database that they stand in."""

from __future__ import annotations

from dataclasses import dataclass

from tests.reference.papers.description import Query
from tests.reference.papers.rendering import to_sql
from tests.reference.papers.values import Row

FAILING = "failing_sum"
"""The aggregate that raises where a case says so."""

Timed = tuple[int | None, int, Row]
"""(ts, sign, row) of a relation's change; without a ts it takes effect when it is pushed."""


@dataclass(frozen=True, slots=True)
class Push:
    """Tuples of a stream, times included, in one push."""

    name: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Update:
    """Rows of a relation in one push."""

    name: str
    changes: tuple[Timed, ...]


@dataclass(frozen=True, slots=True)
class Advance:
    """A heartbeat of all streams, or of one."""

    ts: int
    stream: str | None = None


@dataclass(frozen=True, slots=True)
class Register:
    """A query starts."""

    query: int


@dataclass(frozen=True, slots=True)
class Drop:
    """A query ends."""

    query: int


@dataclass(frozen=True, slots=True)
class Look:
    """The answer is asked for."""

    query: int


@dataclass(frozen=True, slots=True)
class Restart:
    """A query is replaced by one that goes on from its snapshot."""

    query: int


@dataclass(frozen=True, slots=True)
class Reoptimize:
    """A query goes on under a plan made anew, if its state can be handed over."""

    query: int
    strategy: str | None


@dataclass(frozen=True, slots=True)
class Report:
    """A callback gets the answer of every multiple of a period; its n-th call raises."""

    query: int
    every: int
    raises: int


Action = Push | Update | Advance | Register | Drop | Look | Restart | Reoptimize | Report


@dataclass(frozen=True, slots=True)
class Case:
    """Queries with their strategies, a script, and the last instant.

    `keyed`: relations have a key, so that a row replaces another. `raises`: the user-defined
    aggregates of the case raise at this call.
    """

    queries: tuple[Query, ...]
    strategies: tuple[str, ...]
    script: tuple[Action, ...]
    until: int
    keyed: bool = False
    raises: int | None = None
    features: frozenset[str] = frozenset()

    def __str__(self) -> str:
        lines = [f"relations have a key: {self.keyed}"] if self.keyed else []
        for number, query in enumerate(self.queries):
            lines.append(f"query {number} ({self.strategies[number]}): {to_sql(query)}")
        lines += [f"  {action}" for action in self.script]
        lines.append(f"  until {self.until}")
        return "\n".join(lines)
