"""The loops of an aggregation join, and the contributions that they make, part after part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from windrow.core.schema import Field
from windrow.kernels.contributions import BEYOND, contribute, list_changes
from windrow.kernels.multi_joins import (
    AT,
    CHANGE_LOGGED,
    CHANGE_MADE,
    INSTANT_LOGGED,
    INSTANT_MADE,
    LOGGED,
    LOOKED,
    MADE,
    ORIGIN,
    PLACE,
    START,
    STOP,
)
from windrow.operators.join.aggregation.op import AggregationJoin
from windrow.operators.join.aggregation.parts import InputChanges
from windrow.operators.join.multi.arrivals import Arrivals
from windrow.operators.join.multi.inputs import SignedInputs
from windrow.operators.join.multi.stores import BagOfRows
from windrow.operators.task import Counters
from windrow.operators.vector import I64, Vector, empty_data
from windrow.physical.calls import GroupBy

ROOM = 65_536
"""Contributions that are folded at a time, unless one change makes more."""


@dataclass(frozen=True, slots=True)
class ContributionBatch:
    """Contributions of changes [start, stop) of the log: the first `count` in `lines`.

    These are as the kernel wrote them, and stay whole: kernels take them in one layout.
    """

    lines: I64
    count: int
    start: int
    stop: int
    share: float  # of the changes of the slice, up to `stop`

    def __len__(self) -> int:
        return self.count

    def entries(self, which: int) -> I64:
        """Return the entry of an input in each contribution."""
        found: I64 = self.lines[which, : self.count]
        return found

    @property
    def all_entries(self) -> I64:
        """The entry of each input in each contribution, and more that mean nothing."""
        found: I64 = self.lines[:-BEYOND]
        return found

    @property
    def change(self) -> I64:
        """The place of each contribution's change among those of the part."""
        found: I64 = self.lines[-BEYOND, : self.count]
        return found

    def only(self, chosen: I64) -> ContributionBatch:
        """Return some of the contributions."""
        lines = self.lines.take(chosen, axis=1)
        return ContributionBatch(lines, len(chosen), self.start, self.stop, self.share)


@dataclass(slots=True)
class Walk:
    """The walk of changes over the entries of other inputs.

        out   │ contributions of whole instants  │ of the last one │ of the last change, so far │
              0                            INSTANT_MADE        CHANGE_MADE                   MADE

    Where room ends, what is before the last instant is handed over, if that is anything; else
    what is before the last change; else more room is made. The rest comes first in the next part.
    `parted` says whether some instant of the last walk is in several parts.
    """

    inputs: SignedInputs
    out: I64 = field(init=False)
    log: I64 = field(init=False)
    parted: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.out = self._room(ROOM)
        self.log = np.empty(0, np.int64)

    def _room(self, contributions: int) -> I64:
        return np.empty((len(self.inputs.copies) + BEYOND, contributions), np.int64)

    def parts(self, arrivals: Arrivals, counters: Counters) -> Iterator[ContributionBatch]:
        """Let changes in; yield what they contribute. Each part is to be used before the next."""
        loops, work, total = self.inputs.loops, self.inputs.loops.work, len(arrivals.ts)
        looked = int(loops.counts[:, LOOKED].sum())
        if len(self.log) < total:
            self.log = np.empty(2 * total, np.int64)
        self.parted = False
        work[[AT, STOP, MADE, LOGGED, INSTANT_MADE, CHANGE_MADE]] = 0
        start, going = 0, True
        while going:
            work[START] = start
            self._go_on(arrivals)
            going, made = work[ORIGIN] >= 0, int(work[MADE])
            cut, stop = self._cut() if going else (made, int(work[LOGGED]))
            if going and not cut:
                self._grow()
                continue
            yield ContributionBatch(self.out, cut, start, stop, stop / total)
            self._keep(cut, made, stop - start)
            work[MADE], start = made - cut, stop
            work[INSTANT_MADE] = max(0, work[INSTANT_MADE] - cut)
            work[CHANGE_MADE] = max(0, work[CHANGE_MADE] - cut)
        if self.out.shape[1] > ROOM:  # one change made many: the next may not
            self.out = self._room(ROOM)
        counters.probes += total
        counters.comparisons += int(loops.counts[:, LOOKED].sum()) - looked

    def _keep(self, cut: int, made: int, changes: int) -> None:
        """Put what is handed over later first, the part before it having so many changes."""
        rest = made - cut
        if rest:
            self.out[:, :rest] = self.out[:, cut:made].copy()
            self.out[-BEYOND, :rest] -= changes
        self.inputs.loops.stack[PLACE, len(self.inputs.copies)] -= changes

    def _cut(self) -> tuple[int, int]:
        """Return where a part ends that has no room for more, and where its changes do."""
        work = self.inputs.loops.work
        if work[INSTANT_MADE]:
            return int(work[INSTANT_MADE]), int(work[INSTANT_LOGGED])
        self.parted |= bool(work[CHANGE_MADE])
        return int(work[CHANGE_MADE]), int(work[CHANGE_LOGGED])

    def _grow(self) -> None:
        bigger = self._room(2 * self.out.shape[1])
        bigger[:, : self.out.shape[1]] = self.out
        self.out = bigger

    def _go_on(self, arrivals: Arrivals) -> None:
        rows, loops = self.inputs.rows, self.inputs.loops
        rows.reserve_dead(len(arrivals.ts))
        contribute(
            arrivals.plain,
            arrivals.spans,
            rows.state,
            loops.program.arrays,
            loops.stack,
            loops.walks,
            self.out,
            self.log,
            loops.counts,
            loops.work,
        )

    def changes(
        self,
        part: ContributionBatch,
        arrivals: Arrivals,
        rows: I64,
        columns: tuple[dict[str, Vector], ...],
    ) -> InputChanges:
        """Return the changes of a part. `rows` says of each arrival how many rows it is."""
        lines = np.empty((5, part.stop - part.start), np.int64)
        list_changes(self.log, part.start, arrivals.first, arrivals.plain, rows, lines)
        origin, entry, row, weight, each = lines
        return InputChanges(origin, entry, row, weight, each, columns)


class ContributedColumns:
    """What the residual, late calls and computed keys read of contributions."""

    def __init__(self, op: AggregationJoin, entries: list[BagOfRows]) -> None:
        self.op = op
        self.entries = entries
        calls = tuple(fold.call for fold in op.folds if fold.early is None)
        self.late = GroupBy((), calls).read
        read = {f.name for f in self.late}
        whole, residual = op.compute is not None, op.match.residual is not None
        self.names = tuple(
            source.kept if residual else tuple(n for n in source.output if whole or n in read)
            for source in op.match.inputs
        )

    def of(self, part: ContributionBatch) -> tuple[ContributionBatch, dict[str, Vector]]:
        """Return the contributions that the residual lets pass, and their columns."""
        read: dict[str, Vector] = {}
        for i, names in enumerate(self.names):
            if names:
                read |= self.entries[i].columns(part.entries(i), names)
        if self.op.match.residual is not None and len(part):
            chosen = np.flatnonzero(self.op.match.residual(read, len(part)))
            if len(chosen) < len(part):
                part = part.only(chosen)
                read = {name: v.take(chosen) for name, v in read.items()}
        if self.op.compute is not None and len(part):
            read |= self.op.compute(read, len(part))
        return part, read


def null_columns(fields: tuple[Field, ...]) -> dict[str, Vector]:
    """Return columns of one row, all NULL."""
    return {
        f.name: Vector(f.type, np.zeros_like(empty_data(f.type, 1)), np.zeros(1, np.bool_))
        for f in fields
    }
