"""Joins by definition: bags at every instant, made by trying all pairs; and random inputs."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from windrow.core.schema import Field, Schema
from windrow.core.time import FOREVER
from windrow.core.types import BIGINT
from windrow.operators.delta import Delta
from windrow.operators.join.match import Match, Side
from windrow.operators.task import Task
from windrow.operators.vector import Vector
from windrow.physical.conditions import TimeBand

Row = tuple[int | None, ...]
Bag = Counter[Row]
Net = dict[tuple[int, Row], int]


@dataclass(frozen=True)
class Event:
    """A tuple that lives in [ts, exp), or a signed change at ts."""

    ts: int
    row: Row
    exp: int = FOREVER
    weight: int = 1


def schema(side: str) -> Schema:
    """Columns k (a key, may be NULL), v and t (the time)."""
    return Schema(
        (
            Field(f"{side}.k", BIGINT),
            Field(f"{side}.v", BIGINT),
            Field(f"{side}.t", BIGINT, nullable=False),
        )
    )


def odd_sum(columns: dict[str, Vector], rows: int) -> np.ndarray:
    return (columns["l.v"].data + columns["r.v"].data) % 2 == 1


def a_match(
    *, keyed: bool = True, band: tuple[int, int] | None = None, lag: int | None = 0, odd: bool
) -> Match:
    keys = (("l.k",), ("r.k",)) if keyed else ((), ())
    bands = () if band is None else (TimeBand("l.t", "r.t", *band, lag, lag),)
    return Match(
        Side(schema("l"), keys[0], ("l.t", "l.k"), ("l.v",)),
        Side(schema("r"), keys[1], ("r.k", "r.v"), ("r.v",)),
        bands,
        odd_sum if odd else None,
    )


def holds(match: Match, left: Row, right: Row) -> bool:
    """Tell whether two rows match, by definition."""
    if match.left.keys and (left[0] is None or left[0] != right[0]):
        return False
    apart = right[2] - left[2]
    if any(not band.low <= apart <= band.high for band in match.bands):
        return False
    return match.residual is None or (left[1] + right[1]) % 2 == 1


def alive(events: list[Event], now: int) -> Bag:
    """Return the bag at an instant."""
    bag: Bag = Counter()
    for e in events:
        if e.ts <= now < e.exp:
            bag[e.row] += e.weight
    return bag


def instants(*inputs: list[Event]) -> list[int]:
    times = {e.ts for events in inputs for e in events}
    return sorted(times | {e.exp for events in inputs for e in events if e.exp < FOREVER})


def net_of_answers(times: list[int], answer: Callable[[int], Bag]) -> Net:
    """Return the net changelog of an answer that is known at every instant."""
    net: Net = {}
    before: Bag = Counter()
    for now in times:
        after = answer(now)
        for row in before.keys() | after.keys():
            if after[row] != before[row]:
                net[now, row] = after[row] - before[row]
        before = after
    return net


def joined(match: Match, lefts: list[Event], rights: list[Event]) -> Callable[[int], Bag]:
    def answer(now: int) -> Bag:
        bag: Bag = Counter()
        for left, n in alive(lefts, now).items():
            for right, m in alive(rights, now).items():
                if holds(match, left, right):
                    bag[left[2], left[0], right[0], right[1]] += n * m
        return bag

    return answer


def to_delta(side: Schema, events: list[Event], *, signed: bool) -> Delta:
    columns = {}
    for i, field in enumerate(side):
        cells = [e.row[i] for e in events]
        data = np.array([0 if c is None else c for c in cells], np.int64)
        valid = np.array([c is not None for c in cells], np.bool_)
        columns[field.name] = Vector(field.type, data, None if valid.all() else valid)
    ts = np.array([e.ts for e in events], np.int64)
    if signed:
        return Delta(ts, columns, None, np.array([e.weight for e in events], np.int64))
    return Delta(ts, columns, np.array([e.exp for e in events], np.int64))


def add_net(net: Net, delta: Delta, clock: int) -> None:
    """Add a delta's changes, expiries included, to a net changelog."""
    assert (np.diff(delta.ts) >= 0).all(), "output is in time order"
    names = list(delta.columns)
    for i in range(len(delta)):
        row = tuple(
            None if (v := delta.columns[n].valid) is not None and not v[i]
            else int(delta.columns[n].data[i])
            for n in names
        )  # fmt: skip
        changes = [(int(delta.ts[i]), int(delta.weights()[i]))]
        if delta.exp is not None:
            assert delta.exp[i] > delta.ts[i]
            if delta.exp[i] <= clock:
                changes.append((int(delta.exp[i]), -1))
        for ts, weight in changes:
            key = (ts, row)
            net[key] = net.get(key, 0) + weight
            if not net[key]:
                del net[key]


def cut(rng: random.Random, events: list[Event], clocks: list[int]) -> list[list[Event]]:
    """Deal events to steps: up to and at each clock; those at a repeated clock anywhere there."""
    steps: list[list[Event]] = [[] for _ in clocks]
    last = 0
    for event in events:
        fits = [i for i, c in enumerate(clocks) if c >= event.ts and i >= last]
        fits = [i for i in fits if clocks[i] == clocks[fits[0]]] if fits else fits
        if clocks[fits[0]] != event.ts:
            fits = fits[:1]
        last = rng.choice(fits)
        steps[last].append(event)
    return steps


def clocks_of(rng: random.Random, end: int) -> list[int]:
    """Return clocks that reach `end`, some of them repeated."""
    count = rng.choice([1, 2, 4, 12])
    return [*sorted(rng.choices(range(end + 1), k=count - 1)), end]


def run(
    make: Callable[[], Task],
    inputs: list[tuple[Schema, list[list[Event]], bool]],
    clocks: list[int],
    reload_at: int = -1,
) -> Net:
    """Run a task over dealt events; return its net changelog up to the last clock."""
    task, net = make(), {}
    for i, clock in enumerate(clocks):
        if i == reload_at:
            fresh = make()
            fresh.load(task.save())
            task = fresh
            task.check()
        deltas = tuple(to_delta(s, steps[i], signed=signed) for s, steps, signed in inputs)
        add_net(net, task.step(deltas, clock), clocks[-1])
        task.check()
    return net


def departures(events: list[Event]) -> list[Event]:
    """Turn predicted events into signed ones: expiries first at an instant."""
    changes = [Event(e.ts, e.row) for e in events]
    changes += [Event(e.exp, e.row, weight=-1) for e in events if e.exp < FOREVER]
    return sorted(changes, key=lambda e: (e.ts, e.weight))


def arrivals(rng: random.Random, size: int, span: int, life: str) -> list[Event]:
    """Return random tuples. `life`: fifo (one width), any (own widths), mixed (some for ever)."""
    events = []
    width = rng.randint(1, span)
    for ts in sorted(rng.randrange(span) for _ in range(rng.randint(0, size))):
        key = None if rng.random() < 0.1 else rng.randrange(3)
        row = (key, rng.randrange(3), ts)
        own = width if life == "fifo" else rng.randint(1, span)
        endless = life == "endless" or (life == "mixed" and rng.random() < 0.3)
        events.append(Event(ts, row, FOREVER if endless else ts + own))
    return events


def changes(rng: random.Random, size: int, span: int) -> list[Event]:
    """Return random signed changes of bags; within an instant in any order."""
    bag: Bag = Counter()
    events: list[Event] = []
    for ts in sorted(rng.randrange(span) for _ in range(rng.randint(0, size))):
        if bag and rng.random() < 0.45:
            row = rng.choice(sorted(bag, key=str))
            weight = -rng.randint(1, bag[row])
        else:
            key = None if rng.random() < 0.1 else rng.randrange(3)
            row, weight = (key, rng.randrange(3), rng.randrange(4)), rng.randint(1, 2)
        bag[row] += weight
        if not bag[row]:
            del bag[row]
        events.append(Event(ts, row, weight=weight))
    by_instant = sorted((e.ts, rng.random(), e) for e in events)
    return [e for _, _, e in by_instant]
