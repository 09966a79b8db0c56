"""Events as files that Spark reads batch by batch: the n-th file of each input is batch n."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random

import pyarrow as pa

from tests.reference.drive import read
from tests.reference.histories import Change
from windrow.core.time import BEGINNING
from windrow.generate.files import write_piece
from windrow.plan.catalog import Relation, Stream
from windrow.plan.nodes import Scan, nodes_of
from windrow.plan.session import Session
from windrow.runtime.local.database import Database


@dataclass(frozen=True, slots=True)
class Event:
    """A tuple of a stream, or a change of a relation, at a time."""

    ts: int
    name: str
    row: tuple[object, ...]
    sign: int = 1


@dataclass(frozen=True, slots=True)
class Scene:
    """Declarations, named queries, and what happens, in time order."""

    declarations: tuple[str, ...]
    queries: dict[str, str]
    events: tuple[Event, ...]

    def entries(self) -> dict[str, Stream | Relation]:
        """The declared inputs by name."""
        session = Session()
        session.execute("; ".join(self.declarations))
        return {entry.name: entry for entry in session.catalog.entries.values()}

    def reads_stream(self, text: str) -> bool:
        """Whether a query reads a stream, and not relations alone."""
        session = Session()
        session.execute("; ".join(self.declarations))
        return any(isinstance(n, Scan) for n in nodes_of(session.bind_text(text, "q").root))

    def first(self) -> int:
        """The time of the first event: before it, only rows that were always there are known."""
        return min(event.ts for event in self.events if event.ts > BEGINNING)

    def last(self) -> int:
        """The time of the last tuple. What relations do after it is told at the end or not."""
        streams = {n for n, entry in self.entries().items() if isinstance(entry, Stream)}
        return max(event.ts for event in self.events if event.name in streams)

    def split(self, random: Random, most: int) -> list[tuple[Event, ...]]:
        """Cut what happens into at most so many batches; what was always there comes first."""
        first = sum(1 for event in self.events if event.ts == BEGINNING)
        places = range(first + 1, len(self.events))
        cuts = random.sample(places, min(len(places), random.randrange(most)))
        bounds = sorted({0, *cuts, len(self.events)})
        return [self.events[low:high] for low, high in pairwise(bounds)]


def table_of(entry: Stream | Relation, events: Sequence[Event]) -> pa.Table:
    """Return what happens to one input as a table; a relation's has `_ts` and `_sign`.

    What was always there has no time.
    """
    schema = entry.schema.arrow()
    columns = list(zip(*(e.row for e in events), strict=True)) or [()] * len(schema)
    made = pa.table([pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)], schema)
    if isinstance(entry, Stream):
        return made
    times = [None if e.ts == BEGINNING else e.ts for e in events]
    made = made.append_column("_ts", pa.array(times, pa.int64()))
    return made.append_column("_sign", pa.array([e.sign for e in events], pa.int64()))


def written(scene: Scene, batches: Sequence[Sequence[Event]], folder: Path) -> list[str]:
    """Write every batch of every input; return the declarations with their sources."""
    entries = scene.entries()
    for name, entry in entries.items():
        for n, batch in enumerate(batches):
            table = table_of(entry, [event for event in batch if event.name == name])
            write_piece(folder / name / f"{n:05}.parquet", table, 1_700_000_000 + n)
    inputs = iter(entries.values())
    return [
        sourced(text, next(inputs), folder) if text.startswith("CREATE") else text
        for text in scene.declarations
    ]


def sourced(text: str, entry: Stream | Relation, folder: Path) -> str:
    """Return a declaration that reads the files of its input, one a batch."""
    updates = ", updates 'stream'" if isinstance(entry, Relation) else ""
    options = f"path '{folder / entry.name}', maxFilesPerTrigger '1'{updates}"
    using = f") USING parquet OPTIONS ({options})"
    return re.sub(r"\)(?=\s*(TIMESTAMP BY \w+)?\s*$)", using.replace("\\", r"\\"), text, count=1)


def told_locally(scene: Scene, batches: Sequence[Sequence[Event]]) -> dict[str, list[Change]]:
    """Return each query's changes in the engine of this process, by the same batches."""
    entries = scene.entries()
    with Database() as db:
        db.execute("; ".join(scene.declarations))
        handles = {name: db.query(text, name=name) for name, text in scene.queries.items()}
        for batch in batches:
            for name, entry in sorted(entries.items(), key=lambda e: isinstance(e[1], Stream)):
                table = table_of(entry, [event for event in batch if event.name == name])
                if len(table):
                    db.push(name, table)
        db.drain()
        return {name: read(handle.changes()) for name, handle in handles.items()}
