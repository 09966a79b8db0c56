"""Contributions of a join by looking at every combination, and the answer from nothing.

The join is  k₁ = k₂ = ... = kₘ; its groups are the values of g of some of its inputs. Entries are
the pairs (k, g) of an input. Codes of entries and groups that vanish are used again.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import prod

import numpy as np
import pyarrow as pa

from windrow.core.schema import Field, Schema
from windrow.core.types import BIGINT, BOOLEAN, DOUBLE, STRING
from windrow.kernels.groups import GROUP, TIME, WEIGHT, name_emissions
from windrow.operators.aggregate import AccumulatorCall, GroupBy, GroupByTask
from windrow.operators.aggregate.batch import column_bits
from windrow.operators.arrow import vector_from_arrow
from windrow.operators.delta import Delta
from windrow.operators.interner import Interner
from windrow.operators.join.aggregation.folds import early_fold
from windrow.operators.join.aggregation.parts import Contributions, EarlyFold, InputChanges
from windrow.operators.vector import Vector

MOST = 256
"""More codes than any of these streams needs."""

COLUMNS = Schema(
    (
        Field("i", BIGINT),
        Field("x", DOUBLE),
        Field("s", STRING),
        Field("d", pa.decimal128(9, 2)),
        Field("w", pa.decimal128(30, 2)),
        Field("b", BOOLEAN),
    )
)


@dataclass(frozen=True)
class Row:
    """A tuple of an input: its entry, how many tuples it stands for, its values by column."""

    key: int
    attribute: int
    copies: int
    values: tuple[object, ...]

    @property
    def entry(self) -> tuple[int, int]:
        return self.key, self.attribute


Told = tuple[int, int, Row, int]
"""When, of which input, what, and how many come or go."""


@dataclass
class Codes:
    """A code for each thing that is there, the lowest free one."""

    codes: dict[tuple[int, ...], int] = field(default_factory=dict)

    def of(self, thing: tuple[int, ...]) -> int:
        free = min(set(range(MOST)) - set(self.codes.values()))
        return self.codes.setdefault(thing, free)

    def release(self, gone: list[tuple[int, ...]]) -> np.ndarray:
        return np.array([self.codes.pop(thing) for thing in gone], np.int64)


@dataclass
class Join:
    """The inputs as they are, and the folds of calls over input `which`, one a call."""

    inputs: int
    which: int
    grouped: tuple[int, ...]
    calls: tuple[AccumulatorCall, ...]
    rng: np.random.Generator
    interner: Interner = field(default_factory=Interner)
    folds: list[EarlyFold] = field(init=False)
    rows: list[Counter[Row]] = field(init=False)
    entries: list[Codes] = field(init=False)
    groups: Codes = field(default_factory=Codes)
    results: np.ndarray = field(default_factory=lambda: np.zeros(MOST, np.int64))
    shown: dict[int, list[tuple[int, bool]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rows = [Counter() for _ in range(self.inputs)]
        self.entries = [Codes() for _ in range(self.inputs)]
        self.folds = self.opened()

    def opened(self) -> list[EarlyFold]:
        """Return fresh folds with room."""
        folds = [early_fold(call, self.which, self.interner) for call in self.calls]
        for fold in folds:
            fold.reserve(MOST, MOST)
        return folds

    def copies(self, which: int) -> Counter[tuple[int, int]]:
        found: Counter[tuple[int, int]] = Counter()
        for row, count in self.rows[which].items():
            found[row.entry] += count * row.copies
        return found

    def group(self, combination: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
        return tuple(combination[j][1] for j in self.grouped)

    def contributions(self, told: list[Told]) -> Iterator[tuple[int, tuple[int, ...], list[int]]]:
        """Yield (change, group and weight, entries) of a part, letting its changes in."""
        numbered = list(enumerate(told))
        for (_, origin), run in itertools.groupby(numbered, key=lambda n: n[1][:2]):
            alike = list(run)
            bags = [self.copies(j) for j in range(self.inputs)]
            found = []
            for c, (_, _, row, count) in alike:
                bags[origin] = Counter({row.entry: count * row.copies})
                for chosen in itertools.product(*(bag.items() for bag in bags)):
                    combination = tuple(entry for entry, _ in chosen)
                    if len({key for key, _ in combination}) == 1:
                        weight = prod(n for _, n in chosen)
                        codes = [self.entries[j].of(entry) for j, entry in enumerate(combination)]
                        group = self.groups.of(self.group(combination))
                        found.append((c, (group, weight), codes))
            self.rng.shuffle(found)
            yield from found
            for _, (_, _, row, count) in alike:
                self.rows[origin][row] += count
            assert min(self.rows[origin].values()) >= 0, "less than no copies"
            self.rows[origin] = +self.rows[origin]

    def part(self, told: list[Told]) -> tuple[Contributions, np.ndarray]:
        """Return what a part contributes, and of each emission its time, group, and results."""
        entry = [self.entries[origin].of(row.entry) for _, origin, row, _ in told]
        found = list(self.contributions(told))
        events = np.zeros((5, len(found)), np.int64)
        events[TIME] = [told[c][0] for c, _, _ in found]
        events[GROUP] = [g for _, (g, _), _ in found]
        events[WEIGHT] = [w for _, (_, w), _ in found]
        emitted = np.empty((3, len(found)), np.int64)
        count = name_emissions(events, self.results, np.full(MOST, -1), emitted)
        entries = np.array([codes for _, _, codes in found], np.int64).reshape(-1, self.inputs)
        part = Contributions(
            self._changes(told, entry), events, np.ascontiguousarray(entries.T),
            np.array([c for c, _, _ in found], np.int64), {}, count, emitted[2],
        )  # fmt: skip
        return part, emitted[:, :count]

    def _changes(self, told: list[Told], entry: list[int]) -> InputChanges:
        """Return the changes, their rows in an order of their own."""
        place, columns = np.zeros(len(told), np.int64), []
        for j in range(self.inputs):
            of_j = [c for c, (_, origin, _, _) in enumerate(told) if origin == j]
            self.rng.shuffle(of_j)
            place[of_j] = np.arange(len(of_j))
            columns.append(vectors([told[c][2] for c in of_j], self.interner))
        return InputChanges(
            np.array([origin for _, origin, _, _ in told], np.int64),
            np.array(entry, np.int64),
            place,
            np.array([n * row.copies for _, _, row, n in told], np.int64),
            np.array([n for _, _, _, n in told], np.int64),
            tuple(columns),
        )

    def take(self, told: list[Told]) -> None:
        """Fold a part; forget the entries and groups that are gone."""
        part, emitted = self.part(told)
        words = np.zeros((len(self.folds), part.emissions), np.int64)
        valid = np.ones((len(self.folds), part.emissions), np.bool_)
        for k, fold in enumerate(self.folds):
            fold.fold(part, words[k], valid[k])
        for e, group in enumerate(emitted[1]):
            self.shown[int(group)] = list(zip(words[:, e].tolist(), valid[:, e], strict=True))
        self._release()

    def _release(self) -> None:
        for j, codes in enumerate(self.entries):
            copies = self.copies(j)
            gone = codes.release([entry for entry in codes.codes if not copies[entry]])
            if j == self.which:
                for fold in self.folds:
                    fold.release_entries(gone)
        empty = [g for g, code in self.groups.codes.items() if not self.results[code]]
        gone = self.groups.release(empty)
        for code in gone:
            self.shown.pop(int(code), None)
        live = np.array(sorted(self.entries[self.which].codes.values()), np.int64)
        for fold in self.folds:
            fold.release_groups(gone)
            fold.check()
            fold.check_live(live, np.array(sorted(self.groups.codes.values()), np.int64))

    def truth(self) -> dict[int, list[tuple[int, bool]]]:
        """Return what a GROUP BY shows that sees all results at once, by group code."""
        groups, weights, rows = [], [], []
        for chosen in itertools.product(*(bag.items() for bag in self.rows)):
            if len({row.key for row, _ in chosen}) == 1:
                own, others = chosen[self.which], list(chosen)
                del others[self.which]
                groups.append(self.groups.codes[self.group(tuple(r.entry for r, _ in chosen))])
                weights.append(own[1] * prod(n * row.copies for row, n in others))
                rows.append(own[0])
        key = Field("group", BIGINT, nullable=False)
        task = GroupByTask(GroupBy((key,), self.calls), self.interner)
        columns = {"group": Vector(BIGINT, np.array(groups, np.int64))}
        columns |= vectors(rows, self.interner)
        weight = np.array(weights, np.int64)
        task.step((Delta(np.ones(len(rows), np.int64), columns, weight=weight),), 1)
        now = task.current().columns
        words = [column_bits(now[call.output]).tolist() for call in self.calls]
        known = [now[call.output].valid for call in self.calls]
        return {
            group: [(w[k], v is None or bool(v[k])) for w, v in zip(words, known, strict=True)]
            for k, group in enumerate(now["group"].data.tolist())
        }

    def reopen(self) -> None:
        """Go on with fresh folds that load what these save."""
        groups = 1 + max(self.groups.codes.values(), default=-1)
        fresh = self.opened()
        for new, old in zip(fresh, self.folds, strict=True):
            new.load(old.save(groups))
            new.reserve(MOST, MOST)
        self.folds = fresh


def vectors(rows: list[Row], interner: Interner) -> dict[str, Vector]:
    """Return the columns of rows."""
    return {
        f.name: vector_from_arrow(pa.array([r.values[k] for r in rows], f.type), f.type, interner)
        for k, f in enumerate(COLUMNS.fields)
    }


def same(a: list[tuple[int, bool]], b: list[tuple[int, bool]]) -> bool:
    """Tell whether words agree, where they are not NULL."""
    return all(v == w and (not v or x == y) for (x, v), (y, w) in zip(a, b, strict=True))


def stream(
    rng: np.random.Generator,
    inputs: int,
    instants: int,
    values: Callable[[np.random.Generator], tuple[object, ...]],
    *,
    merged: bool = False,
    crowd: int = 1,
) -> list[Told]:
    """Return changes by time and input: rows come in a few copies, and go again in any order.

    Each copy comes and goes `crowd` times at once.
    """
    alive: list[list[Row]] = [[] for _ in range(inputs)]
    told: list[Told] = []
    for ts in range(instants):
        leaving = instants - ts <= instants // 5
        for j in range(inputs):
            bag = alive[j]
            changes: list[tuple[Row, int]] = []
            for _ in range(int(rng.integers(0, 4))):
                if bag and (leaving or rng.random() < 0.3 + 0.04 * len(bag)):
                    changes.append((bag.pop(int(rng.integers(len(bag)))), -1))
                elif not leaving:
                    copies = int(rng.integers(1, 4)) if merged else 1
                    row = Row(*rng.integers(0, 2, 2).tolist(), copies, values(rng))
                    count = int(rng.choice([1, 1, 1, 2]))
                    bag += [row] * count
                    changes.append((row, count))
            if ts == instants - 1:
                changes += [(row, -1) for row in bag]
            rng.shuffle(changes)
            told += [(ts, j, row, count * crowd) for row, count in changes]
    return told


def parts(rng: np.random.Generator, told: list[Told], *, within: bool) -> Iterator[list[Told]]:
    """Cut a stream between instants, or also `within` them, between inputs."""
    runs = [list(r) for _, r in itertools.groupby(told, key=lambda c: c[: 2 if within else 1])]
    while runs:
        n = int(rng.integers(1, 6))
        yield list(itertools.chain(*runs[:n]))
        runs = runs[n:]
