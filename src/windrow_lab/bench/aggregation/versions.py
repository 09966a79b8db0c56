"""Streams that meet a NON RETROACTIVE RELATION, summed up by version or joined first."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np
import pyarrow as pa

import windrow
from windrow_lab.contest.report import Bar, verdict_of
from windrow_lab.contest.truth import answer_difference

WIDTH, BATCH, BATCHES, FULL = 5_000, 2_000, 16, 4
"""Ticks of a window, and tuples of each stream a batch; batches before windows are full are not
timed."""
KEYS, GROUPS, SEED = 100, 50, 7
WAYS = ("none", "{a,b}", "{n,a,b}")
DECLARED = """
CREATE STREAM a (t BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY t;
CREATE STREAM b (t BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY t;
CREATE NON RETROACTIVE RELATION n (k BIGINT, w BIGINT, PRIMARY KEY (k));
"""
TEXT = f"""
SELECT n.w, COUNT(*) AS c, SUM(a.v) AS s
FROM a [RANGE {WIDTH}], b [RANGE {WIDTH}], n WHERE a.k = b.k AND a.k = n.k GROUP BY n.w
"""
TRUTH = """
SELECT n.w, COUNT(*) AS c, SUM(a.v)::BIGINT AS s FROM a, b, n
WHERE a.k = b.k AND a.k = n.k AND n.since <= GREATEST(a.t, b.t) AND GREATEST(a.t, b.t) < n.until
GROUP BY n.w
"""


@dataclass(frozen=True, slots=True)
class World:
    """What is pushed: batches of both streams, and one row of the relation after each."""

    batches: list[dict[str, pa.Table]]
    updates: list[dict[str, int]]

    @classmethod
    def of(cls, *, updated: bool) -> World:
        """Return a random world; its relation changes after each batch, or never."""
        random = np.random.default_rng(SEED)
        batches = []
        for i in range(BATCHES):
            t = np.arange(i * BATCH, (i + 1) * BATCH)
            drawn = [(random.integers(0, KEYS, BATCH), random.integers(0, 9, BATCH)) for _ in "ab"]
            tables = [pa.table({"t": t, "k": k, "v": v}) for k, v in drawn]
            batches.append(dict(zip("ab", tables, strict=True)))
        rows = [{"k": i % KEYS, "w": (7 * i + 1) % GROUPS} for i in range(BATCHES)]
        return cls(batches, rows if updated else [])

    @property
    def first(self) -> list[dict[str, int]]:
        """The relation before all tuples."""
        return [{"k": k, "w": k % GROUPS} for k in range(KEYS)]

    def versions(self) -> pa.Table:
        """Return the rows of the relation with the times between which they are in it."""
        end = BATCHES * BATCH
        rows = {row["k"]: {**row, "since": -1, "until": end} for row in self.first}
        gone = []
        for i, row in enumerate(self.updates):
            at = (i + 1) * BATCH  # after all tuples of the batch
            gone.append({**rows[row["k"]], "until": at})
            rows[row["k"]] = {**row, "since": at, "until": end}
        return pa.Table.from_pylist([*gone, *rows.values()])

    def truth(self, answer: pa.Table) -> str:
        """Return how an answer after all batches differs from DuckDB's."""
        last = BATCHES * BATCH - 1 - WIDTH
        whole = {n: pa.concat_tables([b[n] for b in self.batches]) for n in "ab"}
        alive = {n: table.filter(pa.compute.field("t") > last) for n, table in whole.items()}
        return answer_difference(answer, TRUTH, {**alive, "n": self.versions()})


def measure(repeats: int) -> list[Bar]:
    """Compare placements, where the relation never changes and where it does."""
    return [_bar("early_versions", repeats, updated=False), _bar("early_updated_versions", repeats)]


def _bar(name: str, repeats: int, *, updated: bool = True) -> Bar:
    world = World.of(updated=updated)
    wrong, micros = "", dict.fromkeys(WAYS, float("inf"))
    for _ in range(repeats):
        for way in WAYS:
            took, answer = _run(world, way)
            micros[way] = min(micros[way], took)
            wrong = wrong or world.truth(answer)
    best = min((w for w in WAYS if w != "none"), key=micros.__getitem__)
    return Bar(
        name,
        micros["none"] / micros[best],
        None,
        micros[best] / 1e6,
        1e6 / micros[best],
        verdict_of(wrong),
        {},
        {
            "against": f"join, then GROUP BY, {micros['none']:.3g} µs a tuple",
            "micros_a_tuple": {w: float(f"{m:.4g}") for w, m in micros.items()},
        },
    )


def _run(world: World, way: str) -> tuple[float, pa.Table]:
    """Return what a tuple takes in the fastest batch, in µs, and the last answer."""
    db = windrow.connect()
    db.execute(DECLARED)
    query = db.query(TEXT, early_aggregation=way)
    db.push("n", world.first)
    best = float("inf")
    for i, batch in enumerate(world.batches):
        start = perf_counter()
        for name, table in batch.items():
            db.push(name, table)
        db.advance((i + 1) * BATCH - 1)
        query.changes()
        if i >= FULL:
            best = min(best, (perf_counter() - start) / (2 * BATCH) * 1e6)
        if world.updates:
            db.push("n", [world.updates[i]])
    return best, query.answer()
