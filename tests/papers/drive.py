"""Drives the in-process engine through a script, by its public interface alone."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pyarrow as pa

import windrow as wr
from tests.generate.papers import calls_failing
from tests.generate.papers_queries import NRR, RELATION, STREAMS
from tests.papers.script import (
    FAILING,
    Advance,
    Case,
    Drop,
    Look,
    Push,
    Register,
    Reoptimize,
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
from windrow.core.errors import BindError, ParseError, SemanticError, StateError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Change = tuple[int, int, Row]


class RefusedError(Exception):
    """A query is refused; the first line of the reason."""


class CallbackError(Exception):
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


class FailingSum:
    """SUM as a user writes it. When `calls` values have come, it raises."""

    calls: int | None = None

    def init(self) -> int | None:
        return None

    def add(self, state: int | None, value: int) -> int:
        if FailingSum.calls is not None:
            FailingSum.calls -= 1
            if FailingSum.calls == 0:
                FailingSum.calls = None
                raise CallbackError
        return (state or 0) + value

    def result(self, state: int | None) -> int | None:
        return state


@cache
def _registered() -> None:
    wr.register_aggregate(FAILING, FailingSum, (pa.int64(),), pa.int64())


@cache
def _declared(*, keyed: bool) -> Any:
    """A fresh database, to be copied: declaring takes as long as all the rest of a case."""
    _registered()
    db = wr.connect(engine="local")
    db.execute(declarations(keyed=keyed))
    return db


@dataclass(slots=True)
class Drive:
    """One database, its handles, and the world as it should be."""

    case: Case
    db: Any = field(init=False)
    handles: dict[int, Any] = field(default_factory=dict)
    seen: dict[int, Seen] = field(default_factory=dict)
    simulation: Simulation = field(init=False)

    def __post_init__(self) -> None:
        self.db = deepcopy(_declared(keyed=self.case.keyed))
        self.simulation = Simulation(self.case)
        FailingSum.calls = self.case.raises

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
        with suppress(CallbackError):
            self.db.drain()
        for number, handle in self.handles.items():
            if calls_failing(self.case.queries[number]):
                continue
            self._read(number)
            self.seen[number].ends = self.case.until
            if not is_stream(self.case.queries[number]):
                self.seen[number].final = rows_of(handle.answer())

    def _do(self, action: object) -> None:
        with suppress(CallbackError):
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
                self._register(number)
            case Drop(number):
                if not calls_failing(self.case.queries[number]):
                    self._read(number)
                self.seen[number].ends = self.simulation.clock(number)
                self.seen[number].dropped = True
                del self.handles[number]
                self.db.execute(f"DROP QUERY q{number}")
            case Restart(number):
                handle = self.handles[number]
                handle.restore(handle.snapshot())
            case Reoptimize(number, strategy):
                with suppress(StateError):
                    self.handles[number].reoptimize(strategy)
            case Report(number, every, raises):
                self._report(number, every, raises)

    def _register(self, number: int) -> None:
        text, strategy = to_sql(self.case.queries[number]), self.case.strategies[number]
        try:
            self.handles[number] = self.db.query(text, strategy=strategy, name=f"q{number}")
        except (ParseError, BindError, SemanticError) as error:
            raise RefusedError(str(error).splitlines()[0]) from error
        self.seen[number] = Seen()

    def _report(self, number: int, every: int, raises: int) -> None:
        reports, calls = self.seen[number].reports, [0]

        def to(at: object, answer: pa.Table) -> None:
            calls[0] += 1
            reports[_instant(at)] = Counter(rows_of(answer))
            if calls[0] == raises:
                raise CallbackError

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
