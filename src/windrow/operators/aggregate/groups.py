"""Groups of tuples and the rows that they show: common to all that aggregates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from windrow.core.types import is_float
from windrow.kernels.groups import ShownRows, changed_rows, empty_groups, name_emissions
from windrow.operators.buffers import room_for
from windrow.operators.delta import Delta
from windrow.operators.state.fields import OF_OWNER, ArrayField, ScratchField, State, StateLayout
from windrow.operators.state.key_table import grown
from windrow.operators.task import Counters
from windrow.operators.vector import I64, Bools, Vector, is_interned
from windrow.physical.calls import GroupBy

Keys = Callable[[I64], list[Vector]]
"""Takes codes of groups; returns their keys."""

FORESIGHT = 4
"""Times the rows so far for which room is made ahead, at most."""

MOST = 1 << 25
"""Words for which room is made before there is any row, at most."""


@dataclass(frozen=True, slots=True)
class Emissions:
    """The (instant, group)s of a batch: of each its time, group, and the group's tuples after."""

    lines: I64
    count: int

    @property
    def rows_after(self) -> I64:
        """The tuples of the group after each."""
        after: I64 = self.lines[2]
        return after

    def room(self, calls: int) -> tuple[I64, Bools]:
        """Return room for what calls give, all valid so far."""
        return np.empty((calls, self.count), np.int64), np.ones((calls, self.count), np.bool_)


@dataclass(slots=True)
class RowChanges:
    """Changes of groups' rows, growing: a line each of times, weights, groups and calls.

    Room is made for as many as are expected, then in proportion to how many there are so far.
    """

    calls: int
    expected: int = 0
    made: int = 0
    removed: int = 0  # rows that are retracted
    words: I64 = field(init=False)
    valid: Bools = field(init=False)

    def __post_init__(self) -> None:
        self.words = np.empty((3 + self.calls, 0), np.int64)
        self.valid = np.empty((self.calls, 0), np.bool_)

    def reserve(self, emissions: int, share: float = 1.0) -> None:
        """Make room for the rows of more emissions, after which `share` of all are there."""
        needed = self.made + 2 * emissions
        if needed > self.words.shape[1]:
            guess = min(1.1 * self.made / share, FORESIGHT * self.made)
            size = max(needed, int(guess), min(self.expected, MOST // len(self.words)))
            words, valid = room_for(len(self.words), size), np.empty((self.calls, size), np.bool_)
            words[:, : self.made] = self.words[:, : self.made]
            valid[:, : self.made] = self.valid[:, : self.made]
            self.words, self.valid = words, valid


@dataclass(slots=True)
class GroupRows(State):
    """How many tuples each group has, and the row that it showed last, by group code.

    A group shows a row while it has tuples; without keys the one group always does.
    Invariants, asserted by `check`:
      1. groups with tuples, and no others, show a row (without keys: the one group does);
      2. `recent` is scratch, -1 everywhere;
      3. `showing` counts the groups that show a row.
    """

    stored_as = StateLayout("group-rows")
    state_fields = (
        ArrayField("rows", length=OF_OWNER),
        ArrayField("shown", length=OF_OWNER),
        ArrayField("last", length=OF_OWNER),
        ArrayField("last_valid", length=OF_OWNER),
        ScratchField("recent"),
    )

    op: GroupBy
    rows: I64 = field(init=False)
    shown: Bools = field(init=False)
    last: I64 = field(init=False)
    last_valid: Bools = field(init=False)
    recent: I64 = field(init=False)
    real: list[bool] = field(init=False)
    showing: int = 0  # groups that show a row

    def __post_init__(self) -> None:
        calls = len(self.op.calls)
        self.rows = np.zeros(0, np.int64)
        self.shown = np.zeros(0, np.bool_)
        self.last = np.zeros((0, calls), np.int64)
        self.last_valid = np.zeros((0, calls), np.bool_)
        self.recent = np.zeros(0, np.int64)
        self.real = [is_float(call.type) for call in self.op.calls]

    def __len__(self) -> int:
        """For how many codes there is room."""
        return len(self.rows)

    def reserve(self, groups: int) -> None:
        """Make room for group codes below `groups`."""
        known = len(self.rows)
        if groups <= known:
            return
        for name in ("rows", "shown", "last", "last_valid", "recent"):
            setattr(self, name, grown(getattr(self, name), groups))
        self.recent[known:] = -1

    def emissions(self, events: I64) -> Emissions:
        """Count the tuples of events into their groups; return when which groups are to be read."""
        lines = np.empty((3, events.shape[1]), np.int64)
        return Emissions(lines, name_emissions(events, self.rows, self.recent, lines))

    def emit_changes(
        self, found: Emissions, values: I64, valid: Bools, changes: RowChanges
    ) -> None:
        """Add the changes of groups' rows, given the calls' values for each emission."""
        count, before = found.count, changes.made
        rows, always = ShownRows(self.shown, self.last, self.last_valid), not self.op.keys
        changes.made, removed = changed_rows(
            found.lines, count, values, valid, rows, always, changes.words, changes.valid, before
        )
        changes.removed += removed
        self.showing += changes.made - before - 2 * removed

    def delta(self, changes: RowChanges, keys: Keys, counters: Counters) -> Delta:
        """Return the changes as a batch, with the keys of their groups."""
        counters.tuples_out += changes.made
        counters.negatives_out += changes.removed
        return self._delta(changes.words[:, : changes.made], changes.valid[:, : changes.made], keys)

    def _delta(self, out: I64, out_valid: Bools, keys: Keys) -> Delta:
        columns: dict[str, Vector] = {}
        if self.op.keys:
            columns = {f.name: key for f, key in zip(self.op.keys, keys(out[2]), strict=True)}
        rows = out.shape[1]
        for c, call in enumerate(self.op.calls):
            data = out[3 + c].view(np.float64) if self.real[c] else out[3 + c]
            shown = Vector(call.type, data)
            if call.nullable and np.count_nonzero(out_valid[c]) < rows:
                shown.valid = out_valid[c]
            columns[call.output] = shown
        return Delta(out[0], columns, weight=out[1])

    def emptied(self, found: Emissions) -> I64:
        """Return those of the groups that have no tuples left, each once. Uses the lines up."""
        count = empty_groups(found.lines, found.count, self.rows, self.recent)
        gone: I64 = found.lines[2, :count]
        return gone

    def current(self, live: I64, keys: Keys) -> Delta:
        """Return the rows that are shown now, of live groups."""
        live = live[self.shown[live]]
        out = np.zeros((3 + len(self.op.calls), len(live)), np.int64)
        out[1], out[2] = 1, live
        out[3:] = self.last[live].T
        return self._delta(out, self.last_valid[live].T, keys)

    def shown_codes(self, live: I64) -> list[I64]:
        """Return the codes of interned values that live groups show."""
        return [
            self.last[live, c][self.last_valid[live, c]]
            for c, call in enumerate(self.op.calls)
            if is_interned(call.type)
        ]

    def occupied(self) -> I64:
        """Return the groups with tuples."""
        return np.flatnonzero(self.rows)

    def invariants(self) -> None:
        """Assert the invariants."""
        assert (self.recent == -1).all(), "invariant 2: scratch is left over"
        assert np.count_nonzero(self.shown) == self.showing, "invariant 3: miscounted"
        held = self.occupied()
        assert (self.rows[held] > 0).all(), "a group has less than no tuples"
        if self.op.keys:
            assert np.array_equal(np.flatnonzero(self.shown), held), "invariant 1: a row is amiss"

    def rebuild(self) -> None:
        """Count the rows that are shown."""
        self.recent = np.full(len(self.rows), -1, np.int64)
        self.showing = int(np.count_nonzero(self.shown))
