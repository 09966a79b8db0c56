"""Checkpoints as this windrow writes them, kept for later ones: ``python -m tests.checkpoints``.

    fixtures/checkpoints/format-8/median/checkpoint/    a snapshot, and the log of a batch after it
    fixtures/checkpoints/format-8/median/expected.json  the answer then, and later changes

A shard is fed `BEFORE` batches, and then lost. Who continues from its checkpoint is fed `AFTER`
more, and must emit what is expected. The rows follow from the number of the batch alone.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from windrow.runtime.shards.checkpoint import open_checkpoint, placed_by
from windrow.runtime.shards.clocks import BatchClock
from windrow.runtime.shards.entry import INGEST, STEP, LogStep
from windrow.runtime.shards.files import LocalFiles
from windrow.runtime.shards.keeper import Keeper
from windrow.runtime.shards.layout import layout_of
from windrow.runtime.shards.program import FORMAT, Program
from windrow.runtime.shards.receipt import Receipt
from windrow.runtime.shards.store import Store, version_of
from windrow.runtime.shards.wire import joined

FIXTURES = Path(__file__).parent / "fixtures" / "checkpoints"
BEFORE, AFTER = 4, 3
"""Batches until the checkpoint, and from there on; the last of the former is in its log only."""
TIMED = ["_ts", "k", "x", "v"]
"""The columns of a stream as its port has them."""
INSTANTS = 10
"""Instants of a batch: each brings a tuple of every stream."""

Rows = list[list[object]]
"""Changes: ts, sign, and the columns of the query."""

STREAMS = """
CREATE STREAM a (ts BIGINT, k BIGINT, x BIGINT, v STRING) TIMESTAMP BY ts;
CREATE STREAM b (ts BIGINT, k BIGINT, x BIGINT, v STRING) TIMESTAMP BY ts;
CREATE STREAM c (ts BIGINT, k BIGINT, x BIGINT, v STRING) TIMESTAMP BY ts;
"""

QUERIES = {
    "join": "SELECT a.k, a.x, b.v FROM a [RANGE 9], b [RANGE 15] WHERE a.k = b.k",
    "join_of_many": "SELECT a.k, a.x, b.v, c.x AS y FROM a [RANGE 7], b [RANGE 9], c [RANGE 12]"
    " WHERE a.k = b.k AND b.k = c.k",
    "median": "SELECT k, MEDIAN(x) AS m, COUNT(*) AS n, MAX(v) AS v FROM a [RANGE 25] GROUP BY k",
    "distinct": "SELECT DISTINCT k, v FROM a [RANGE 15]",
    "negation": "SELECT k, v FROM a [RANGE 20] WHERE k NOT IN (SELECT k FROM b [RANGE 3])",
    "count_window": "SELECT k, SUM(x) AS s FROM a [ROWS 12] GROUP BY k",
    "count_window_by_key": "SELECT k, x, v FROM a [PARTITION BY k ROWS 2]",
}


def program_of(query: str) -> Program:
    """Return a query as the program of one shard."""
    settings = "SET join_algorithm = 'hash'; " if query == "join_of_many" else ""
    return Program(f"{settings}{STREAMS}CREATE QUERY q AS {QUERIES[query]};", ("q",), shards=1)


def rows(stream: str, batch: int) -> pa.Table:
    """Return the tuples of a stream in a batch. All streams reach the same instants."""
    times = range(INSTANTS * batch, INSTANTS * (batch + 1))
    seed = "abc".index(stream) + 3
    keys = [(t * t * seed + t // 4) % 6 for t in times]
    texts = [f"{stream}{(t * seed) % 11}" for t in times]
    return pa.table({"ts": list(times), "k": keys, "x": [t * 37 % 101 for t in times], "v": texts})


class Continued:
    """A shard on the folder of its checkpoint, new or continued."""

    def __init__(self, folder: Path, query: str) -> None:
        program = placed_by(str(folder), program_of(query))
        fingerprint = open_checkpoint(str(folder), program).fingerprint
        self.layout = layout_of(program)
        self.store = Store(LocalFiles(str(folder)), 0, self.layout.levels, fingerprint)
        self.keeper = Keeper(program, 0, self.store, 1 << 40)

    def run(self, batch: int, *, drain: bool = False) -> Rows:
        """Run a batch, or the drain after it; return the changes of the answer, ordered."""
        version = version_of(batch, drain=drain)
        entries = [(p.number, p.entry.name) for p in self.layout.ports if p.entry is not None]
        given = {} if drain else {n: rows(s, batch).rename_columns(TIMED) for n, s in entries}
        times = self.keeper.ingest(version, self._receipt(LogStep(version, 0, INGEST), given))
        given, made = {}, []
        for level in range(self.layout.levels):
            receipt = self._receipt(LogStep(version, level, STEP), given)
            clock = BatchClock(times, batch, drain) if level == 0 else None
            stepped = joined(list(self.keeper.step(version, level, receipt, clock)))
            given = stepped.forwarded
            made += [row for table in stepped.changes.values() for row in plain(table)]
        return sorted(made)

    def snapshot(self) -> int:
        """Write a snapshot; return its version."""
        assert self.keeper.shard is not None
        version = self.keeper.at[0]
        self.keeper.ledger.write_snapshot(version, self.keeper.shard.save)
        self.keeper.ledger.wait_for_snapshot()
        return version

    def _receipt(self, step: LogStep, given: dict[int, pa.Table]) -> Receipt:
        receipt = Receipt(self.store.writer(step))
        for port, table in given.items():
            receipt.schema(port, table.schema.serialize())
            for batch in table.to_batches():
                receipt.batch(port, batch.serialize())
        return receipt


def plain(table: pa.Table) -> Rows:
    """Return rows as what JSON has."""
    return [list(row.values()) for row in table.to_pylist()]


def answer(changes: Rows) -> Rows:
    """Return the rows that are there after changes, ordered."""
    copies: dict[str, int] = {}
    for _, sign, *row in changes:
        copies[json.dumps(row)] = copies.get(json.dumps(row), 0) + int(str(sign))
    return sorted(json.loads(row) for row, n in copies.items() for _ in range(n))


def write(query: str, folder: Path) -> None:
    """Write a checkpoint, and what is expected of those who continue from it."""
    made = Continued(folder / "checkpoint", query)
    before = [row for batch in range(BEFORE - 1) for row in made.run(batch)]
    version = made.snapshot()
    before += made.run(BEFORE - 1)
    made.keeper.close()
    made.store.remove_before(version)  # so the snapshot must be read
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(folder / "checkpoint", copy, dirs_exist_ok=True)
        after = continued(Path(copy), query)
    expected = {"answer": answer(before), "changes": after}
    parts = (f'"{name}": [\n{_lines(found)}\n]' for name, found in expected.items())
    (folder / "expected.json").write_text(f"{{{', '.join(parts)}}}\n")


def _lines(found: Rows) -> str:
    return ",\n".join(map(json.dumps, found))


def continued(folder: Path, query: str) -> Rows:
    """Continue from a checkpoint; return all changes from then on."""
    shard = Continued(folder, query)
    last = BEFORE + AFTER - 1
    made = [row for batch in range(BEFORE, last + 1) for row in shard.run(batch)]
    made += shard.run(last, drain=True)
    shard.keeper.close()
    return made


def fixtures() -> Iterator[tuple[int, Path]]:
    """Yield the format and the folder of each checkpoint that is kept."""
    for folder in sorted(FIXTURES.glob("format-*/*")):
        yield int(folder.parent.name.removeprefix("format-")), folder


def main() -> None:
    """Write the checkpoints of this format, those that are not there yet. None is replaced."""
    for query in QUERIES:
        folder = FIXTURES / f"format-{FORMAT}" / query
        if not folder.exists():
            write(query, folder)


if __name__ == "__main__":
    main()
