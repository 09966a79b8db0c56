"""What lies in a checkpoint, for people who look into one: `windrow state DIR`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from windrow.core.errors import StateError
from windrow.core.time import Clock
from windrow.operators.state.saved import arrow_table
from windrow.plan.catalog import Stream
from windrow.runtime.shards.checkpoint import read_checkpoint
from windrow.runtime.shards.clocks import BatchClock
from windrow.runtime.shards.entry import INGEST, STEP, Footer, LogStep, read_footer
from windrow.runtime.shards.files import open_files
from windrow.runtime.shards.layout import layout_of, wired
from windrow.runtime.shards.lease import holder_of, named, shown_time
from windrow.runtime.shards.store import Store

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The whole state after a version. `damage` is "" unless it was looked for and found."""

    version: int
    size: int
    damage: str = ""


@dataclass(frozen=True, slots=True)
class ShardState:
    """One shard: what its log holds, and from where it can be rebuilt.

    `whole` is the newest version that is complete, `begun` the newest of which there is anything.
    `rows` are those of the log. `newest` are the newest times of its newest batches.
    """

    number: int
    whole: int
    begun: int
    log_files: int
    log_bytes: int
    rows: int
    newest: dict[str, int]
    snapshots: tuple[Snapshot, ...]
    damage: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CheckpointState:
    """All of a checkpoint."""

    where: str
    fingerprint: str
    strategy: str
    queries: tuple[str, ...]
    levels: int
    clocks: dict[str, Clock]
    shards: tuple[ShardState, ...]
    held_by: str = ""

    @property
    def is_sound(self) -> bool:
        """Return whether no damage was found."""
        return not any(s.damage or any(n.damage for n in s.snapshots) for s in self.shards)


def describe(where: str, *, verify: bool = False) -> CheckpointState:
    """Return what a checkpoint holds; `verify` reads every byte and lists damaged files."""
    checkpoint = read_checkpoint(where)
    program, layout = checkpoint.program, layout_of(checkpoint.program)
    levels, files = layout.levels, open_files(where)
    streams = [port.entry for port in layout.ports if isinstance(port.entry, Stream)]
    stores = [Store(files, n, levels, checkpoint.fingerprint) for n in range(program.shards)]
    return CheckpointState(
        where,
        checkpoint.fingerprint,
        program.strategy,
        program.queries,
        levels,
        {stream.name: stream.clock for stream in streams},
        tuple(_shard(store, verify=verify) for store in stores),
        _holder(where),
    )


def export_state(where: str, folder: Path) -> int:
    """Write what each operator stored at the newest snapshot of each shard; return how many files.

    `<shard>-<query>-<number of the operator>.arrow`, whose metadata has the operator; and
    `<shard>-<query>-text.arrow` with the text that codes stand for.
    """
    checkpoint = read_checkpoint(where)
    program, files = checkpoint.program, open_files(where)
    layout, wirings = wired(program)
    count = 0
    for number in range(program.shards):
        store = Store(files, number, layout.levels, checkpoint.fingerprint)
        if not store.kept():
            continue
        saved: Any = store.read_snapshot(max(store.kept()))
        for output, wiring, query in zip(layout.outputs, wirings, saved["queries"], strict=True):
            labels = [s.label for s in wiring.physical.stages if s.task is not None]
            states = dict(enumerate(query["flow"]["flow"]["tasks"])) | {"text": query["interner"]}
            for at, state in states.items():
                label = labels[at] if isinstance(at, int) else "interned text"
                table = arrow_table(state).replace_schema_metadata({"operator": label})
                path = folder / f"{number:04}-{output.query}-{at}.arrow"
                with pa.ipc.new_file(path, table.schema) as writer:
                    writer.write_table(table)
            count += len(states)
    return count


def _holder(where: str) -> str:
    """Return who works on a checkpoint, and since when; "" if nobody does."""
    held = holder_of(where)
    return "" if held is None else f"{named(held.holder)} since {shown_time(held.since)}"


def _shard(store: Store, *, verify: bool) -> ShardState:
    logged = store.logged()
    read = [_tried(partial(_footer, store, step, verify=verify)) for step in logged]
    footers = [footer for footer, _ in read if footer is not None]
    whole = [s.version for s in logged if s == LogStep(s.version, store.levels - 1, STEP)]
    return ShardState(
        store.shard,
        max(whole, default=0),
        max((s.version for s in logged), default=0),
        len(logged),
        sum(logged.values()),
        sum(f.rows for f in footers if f.step.kind == INGEST),
        _newest(
            [f.batch_clock for f in footers if f.batch_clock is not None and f.step.level == 0]
        ),
        tuple(_snapshot(store, v, size, verify=verify) for v, size in store.kept().items()),
        tuple(damage for _, damage in read if damage),
    )


def _footer(store: Store, step: LogStep, *, verify: bool) -> Footer:
    if verify:
        return store.read(step).footer
    return read_footer(store.files, f"{store.log}/{step}")


def _snapshot(store: Store, version: int, size: int, *, verify: bool) -> Snapshot:
    damage = _tried(partial(store.read_snapshot, version))[1] if verify else ""
    return Snapshot(version, size, damage)


def _tried(read: Callable[[], T]) -> tuple[T | None, str]:
    """Return what was read, or why it could not be."""
    try:
        return read(), ""
    except FileNotFoundError:
        return None, ""  # removed just now, by a run that goes on
    except StateError as error:
        return None, f"{error.message}: {error.detail}"


def _newest(batch_clocks: list[BatchClock]) -> dict[str, int]:
    newest: dict[str, int] = {}
    for batch_clock in batch_clocks:
        for name, times in batch_clock.times.items():
            newest[name] = max(newest.get(name, times.newest), times.newest)
    return newest
