"""Results of a join as columns that grow: of pairs, or of rows of many inputs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from windrow.core.schema import Schema
from windrow.operators.buffers import room_for
from windrow.operators.delta import Delta
from windrow.operators.join.match import Residual
from windrow.operators.state.row_records import RowRecords
from windrow.operators.vector import I64, Bools, Vector


class ResultCondition(Protocol):
    """What holds of a result besides keys and times, and which columns it has."""

    @property
    def residual(self) -> Residual | None:
        """Return which candidates hold."""

    @property
    def output(self) -> Schema:
        """The columns as emitted."""


@dataclass(slots=True)
class Growing:
    """Columns of results, growing: what is gathered is not copied again, but to make room.

    The columns of the inputs stand one input after the other.
    """

    match: ResultCondition
    payloads: tuple[RowRecords, ...]
    made: int = field(default=0, init=False)
    times: I64 = field(init=False)
    words: I64 = field(init=False)
    valid: Bools = field(init=False)

    def __post_init__(self) -> None:
        self.resize(0)

    @property
    def room(self) -> int:
        """For how many results there is room."""
        return len(self.times[0])

    def resize(self, room: int) -> None:
        """Make room, and keep what there is."""
        columns = sum(len(p.fields) for p in self.payloads)
        nullable = sum(len(p.nullable) for p in self.payloads)
        times, words = room_for(2, room), room_for(columns, room)
        valid = np.empty((nullable, room), np.bool_)
        if self.made:
            for new, old in ((times, self.times), (words, self.words), (valid, self.valid)):
                new[:, : self.made] = old[:, : self.made]
        self.times, self.words, self.valid = times, words, valid

    def gather(self, places: Iterable[I64], count: int) -> None:
        """Gather the rows of results whose times are written; drop what the residual drops."""
        self.copy(places, count, self.made)
        start, stop = self.made, self.made + count
        self.made = stop
        if self.match.residual is None:
            return
        held = self.match.residual(self._columns(start, stop), count)
        kept = start + np.flatnonzero(held)
        self.made = start + len(kept)
        for lines in (self.times, self.words, self.valid):
            lines[:, start : self.made] = lines[:, kept]

    def copy(self, places: Iterable[I64], count: int, start: int) -> None:
        """Gather the rows of results from place `start` on. Several threads may, each its own."""
        line = bits = 0
        for payload, at in zip(self.payloads, places, strict=True):
            payload.gather(at[:count], self.words, self.valid, line, bits, start)
            line, bits = line + len(payload.fields), bits + len(payload.nullable)

    def _columns(self, start: int, stop: int) -> dict[str, Vector]:
        read: dict[str, Vector] = {}
        line = bits = 0
        for payload in self.payloads:
            lines = self.words[line : line + len(payload.fields), start:stop]
            nulls = self.valid[bits : bits + len(payload.nullable), start:stop]
            read |= payload.vectors(lines, nulls)
            line, bits = line + len(payload.fields), bits + len(payload.nullable)
        return read

    def delta(self) -> Delta:
        """Return all that was gathered."""
        read = self._columns(0, self.made)
        ts, exp = self.times[:, : self.made]
        return Delta(ts, {name: read[name] for name in self.match.output.names}, exp)
