"""The workloads in plain Python: dicts and deques, a tuple at a time.

Each twin reads arrivals (ts, stream, k, src, v) in time order and returns the changes (ts, sign,
columns...) that windrow would emit. It is what somebody would write by hand, and is not slowed
down: no classes, no checks.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable

import pyarrow as pa

from windrow_lab.bench.data import MILLISECOND, Scale, Tables

Arrival = tuple[int, str, int, str, float]
Change = tuple[int | str | float, ...]


def arrivals(tables: Tables, names: Iterable[str]) -> list[Arrival]:
    """Return the tuples of some streams in time order."""
    found: list[Arrival] = []
    for name in names:
        table = tables[name]
        ts = table["ts"].cast(pa.int64()).to_pylist()
        rest = (table[column].to_pylist() for column in ("k", "src", "v"))
        found += [(t, name, k, src, v) for t, k, src, v in zip(ts, *rest, strict=True)]
    return sorted(found, key=lambda arrival: arrival[0])


def join(events: list[Arrival], scale: Scale) -> list[Change]:
    """Pairs of equal k, less than a window apart. Per key, a deque of each stream's tuples."""
    width = scale.width
    by_key: dict[str, defaultdict[int, deque[Arrival]]] = {
        "a": defaultdict(deque),
        "b": defaultdict(deque),
    }
    out: list[Change] = []
    for event in events:
        ts, name, k, src, v = event
        others = by_key["b" if name == "a" else "a"][k]
        while others and others[0][0] <= ts - width:
            others.popleft()
        for other_ts, _, _, other_src, other_v in others:
            if name == "a":
                out.append((ts, 1, ts, k, src, v, other_ts, other_src, other_v))
            else:
                out.append((ts, 1, other_ts, k, other_src, other_v, ts, src, v))
        by_key[name][k].append(event)
    return out


def group(events: list[Arrival], scale: Scale) -> list[Change]:
    """COUNT, SUM and MAX per src, emitted at each instant that changes them."""
    return grouped(events, scale.width, 1)


def group_slide(events: list[Arrival], scale: Scale) -> list[Change]:
    """COUNT, SUM and MAX per src, emitted at refreshes."""
    return grouped(events, scale.width, scale.slide * MILLISECOND)


def grouped(events: list[Arrival], width: int, slide: int) -> list[Change]:
    """Keep count and sum per group, and a deque of falling values whose first is the maximum."""
    alive: deque[tuple[int, str, float]] = deque()
    count: dict[str, int] = {}
    total: dict[str, float] = {}
    falling: dict[str, deque[tuple[int, float]]] = {}
    emitted: dict[str, Change] = {}
    out: list[Change] = []
    now = refresh_of(events[0][0], slide)
    last = events[-1][0]
    i = 0
    while now <= last:
        touched = set()
        while alive and alive[0][0] <= now:
            end, src, v = alive.popleft()
            count[src] -= 1
            total[src] -= v
            if falling[src] and falling[src][0][0] == end:
                falling[src].popleft()
            touched.add(src)
        while i < len(events) and events[i][0] <= now:
            ts, _, _, src, v = events[i]
            end = refresh_of(ts + width, slide)
            alive.append((end, src, v))
            count[src] = count.get(src, 0) + 1
            total[src] = total.get(src, 0.0) + v
            top = falling.setdefault(src, deque())
            while top and top[-1][1] <= v:
                top.pop()
            top.append((end, v))
            touched.add(src)
            i += 1
        for src in touched:
            if src in emitted:
                out.append((now, -1, *emitted.pop(src)))
            if count[src]:
                emitted[src] = (src, count[src], total[src], falling[src][0][1])
                out.append((now, 1, *emitted[src]))
        ends = alive[0][0] if alive else last + 1
        comes = refresh_of(events[i][0], slide) if i < len(events) else last + 1
        now = min(ends, comes)
    return out


def refresh_of(ts: int, slide: int) -> int:
    """Return the first refresh at or after an instant."""
    return -(-ts // slide) * slide


def distinct(events: list[Arrival], scale: Scale) -> list[Change]:
    """Keys that the window holds: a counter per key, emitted when it leaves or reaches zero."""
    alive: deque[tuple[int, int]] = deque()
    count: defaultdict[int, int] = defaultdict(int)
    out: list[Change] = []
    for ts, _, k, _, _ in events:
        while alive and alive[0][0] <= ts:
            end, old = alive.popleft()
            count[old] -= 1
            if not count[old]:
                out.append((end, -1, old))
        count[k] += 1
        if count[k] == 1:
            out.append((ts, 1, k))
        alive.append((ts + scale.width, k))
    return out


def negation(events: list[Arrival], scale: Scale) -> list[Change]:
    """Tuples of `a` without a match in `b`: a counter per key and stream."""
    alive: deque[tuple[int, str, int]] = deque()
    in_a: defaultdict[int, int] = defaultdict(int)
    in_b: defaultdict[int, int] = defaultdict(int)
    out: list[Change] = []
    for ts, name, k, _, _ in events:
        while alive and alive[0][0] <= ts:
            end, old_name, old = alive.popleft()
            if old_name == "a":
                in_a[old] -= 1
                if not in_b[old]:
                    out.append((end, -1, old))
            else:
                in_b[old] -= 1
                if not in_b[old]:
                    out += [(end, 1, old)] * in_a[old]
        if name == "a":
            in_a[k] += 1
            if not in_b[k]:
                out.append((ts, 1, k))
        else:
            if not in_b[k]:
                out += [(ts, -1, k)] * in_a[k]
            in_b[k] += 1
        alive.append((ts + scale.width, name, k))
    return out


def join_group(events: list[Arrival], scale: Scale) -> list[Change]:
    """Count and sum per a.src of the join of both windows, emitted at refreshes."""
    slide = scale.slide * MILLISECOND
    alive: deque[tuple[int, Arrival]] = deque()
    in_a: defaultdict[int, deque[str]] = defaultdict(deque)
    in_b: defaultdict[int, deque[float]] = defaultdict(deque)
    count: defaultdict[str, int] = defaultdict(int)
    total: defaultdict[str, float] = defaultdict(float)
    emitted: dict[str, Change] = {}
    out: list[Change] = []
    i = 0
    for now in range(refresh_of(events[0][0], slide), events[-1][0] + 1, slide):
        touched = set()
        while alive and alive[0][0] <= now:
            _, (_, name, k, src, v) = alive.popleft()
            if name == "a":
                in_a[k].popleft()
                for b_v in in_b[k]:
                    count[src] -= 1
                    total[src] -= b_v
                touched.add(src)
            else:
                in_b[k].popleft()
                for a_src in in_a[k]:
                    count[a_src] -= 1
                    total[a_src] -= v
                touched.update(in_a[k])
        while i < len(events) and events[i][0] <= now:
            event = events[i]
            ts, name, k, src, v = event
            if name == "a":
                for b_v in in_b[k]:
                    count[src] += 1
                    total[src] += b_v
                in_a[k].append(src)
                touched.add(src)
            else:
                for a_src in in_a[k]:
                    count[a_src] += 1
                    total[a_src] += v
                touched.update(in_a[k])
                in_b[k].append(v)
            alive.append((ts + scale.width, event))
            i += 1
        out += changes_since(now, touched, emitted, count, total)
    return out


def changes_since(
    now: int,
    touched: set[str],
    emitted: dict[str, Change],
    count: dict[str, int],
    total: dict[str, float],
) -> list[Change]:
    """Return the changes of the touched groups since they were last emitted; note the new ones."""
    out: list[Change] = []
    for src in touched:
        old = emitted.pop(src, None)
        if old is not None:
            out.append((now, -1, *old))
        if count[src]:
            emitted[src] = (src, count[src], total[src])
            out.append((now, 1, *emitted[src]))
    return out
