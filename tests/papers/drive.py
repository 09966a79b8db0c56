"""Drives the in-process engine through a script, by its public interface alone."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

import windrow as wr
from tests.generate.papers_queries import NRR, RELATION, STREAMS
from tests.papers.script import (
    Advance,
    Case,
    Drop,
    Look,
    Push,
    Register,
    Report,
    Restart,
    Update,
)
from tests.papers.simulate import Simulation
from tests.reference.histories import canonical
from tests.reference.papers.description import is_stream
from tests.reference.papers.rendering import to_sql
from tests.reference.papers.values import Row
from tests.reference.papers.worlds import World

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Change = tuple[int, int, Row]


class Boom(Exception):
    """What a callback raises."""


@dataclass(frozen=True, slots=True)
class Glance:
    """The answer at a look, what all changes so far add up to, and what the query has seen."""

    rows: list[Row]
    total: Counter[Row]
    world: World
    begin: int | None
    clock: int | None


@dataclass(slots=True)
class Seen:
    """What was read of one query: changes, answers at looks, reports, and its end."""

    changes: list[Change] = field(default_factory=list)
    looks: list[Glance] = field(default_factory=list)
    reports: dict[int, Counter[Row]] = field(default_factory=dict)
    final: list[Row] | None = None
    ends: int | None = None
    dropped: bool = False


def declarations(*, keyed: bool) -> str:
    """The streams and relations of all cases."""
    key = ", PRIMARY KEY (k)" if keyed else ""
    texts = [f"CREATE STREAM {s} (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts" for s in STREAMS]
    texts.append(f"CREATE RELATION {RELATION} (k BIGINT, w BIGINT{key})")
    texts.append(f"CREATE NON RETROACTIVE RELATION {NRR} (k BIGINT, w BIGINT{key})")
    return ";\n".join(texts)


@dataclass(slots=True)
class Drive:
    """One database, its handles, and the world as it should be."""

    case: Case
    db: Any = field(init=False)
    handles: dict[int, Any] = field(default_factory=dict)
    seen: dict[int, Seen] = field(default_factory=dict)
    simulation: Simulation = field(init=False)

    def __post_init__(self) -> None:
        self.db = wr.connect(engine="local")
        self.db.execute(declarations(keyed=self.case.keyed))
        self.simulation = Simulation(self.case)

    def run(self) -> None:
        """Follow the script to its end, then let time pass, and drain."""
        for action in self.case.script:
            self._do(action)
            self.simulation.apply(action)
            if isinstance(action, Look) and action.query in self.handles:
                self._look(action.query)
        last = Advance(self.case.until)
        self._do(last)
        self.simulation.apply(last)
        with suppress(Boom):
            self.db.drain()
        for number, handle in self.handles.items():
            self._read(number)
            self.seen[number].ends = self.case.until
            if not is_stream(self.case.queries[number]):
                self.seen[number].final = rows_of(handle.answer())

    def _do(self, action: object) -> None:
        with suppress(Boom):
            self._try(action)

    def _try(self, action: object) -> None:
        match action:
            case Push(name, rows):
                columns = zip(*rows, strict=True)
                arrays = [pa.array(c, pa.int64()) for c in columns]
                self.db.push(name, pa.table(arrays, ["ts", "k", "v"]))
            case Update(name, changes):
                self.db.push(name, [_as_dict(*change) for change in changes])
            case Advance(ts, stream):
                self.db.advance(ts, stream=stream)
            case Register(number):
                text = to_sql(self.case.queries[number])
                strategy = self.case.strategies[number]
                self.handles[number] = self.db.query(text, strategy=strategy, name=f"q{number}")
                self.seen[number] = Seen()
            case Drop(number):
                self._read(number)
                self.seen[number].ends = self.simulation.clock(number)
                self.seen[number].dropped = True
                del self.handles[number]
                self.db.execute(f"DROP QUERY q{number}")
            case Restart(number):
                handle = self.handles[number]
                handle.restore(handle.snapshot())
            case Report(number, every, raises):
                self._report(number, every, raises)

    def _report(self, number: int, every: int, raises: int) -> None:
        reports, calls = self.seen[number].reports, [0]

        def to(at: int, answer: pa.Table) -> None:
            calls[0] += 1
            reports[at] = Counter(rows_of(answer))
            if calls[0] == raises:
                raise Boom

        self.handles[number].report(every=every, to=to)

    def _look(self, number: int) -> None:
        self._read(number)
        seen, standing = self.seen[number], self.simulation.standing[number]
        total: Counter[Row] = Counter()
        for _, sign, row in seen.changes:
            total[row] += sign
        rows = rows_of(self.handles[number].answer())
        clock = self.simulation.clock(number)
        seen.looks.append(Glance(rows, total, standing.world(), standing.begin(), clock))

    def _read(self, number: int) -> None:
        table = self.handles[number].changes()
        seen = self.seen[number].changes
        seen += [(_instant(row[0]), row[1], row[2:]) for row in rows_of(table)]


def rows_of(table: pa.Table) -> list[Row]:
    """A table's rows as plain values."""
    columns = [[canonical(v) for v in c.to_pylist()] for c in table.columns]
    return list(zip(*columns, strict=True))


def _instant(value: object) -> int:
    """An instant as a number: queries of relations alone run on timestamps."""
    if isinstance(value, datetime):
        return (value - EPOCH) // timedelta(microseconds=1)
    assert isinstance(value, int)
    return value


def _as_dict(ts: int | None, sign: int, row: Row) -> dict[str, object]:
    made: dict[str, object] = {"k": row[0], "w": row[1], "_sign": sign}
    return made if ts is None else {**made, "_ts": ts}
