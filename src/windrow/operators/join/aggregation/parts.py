"""What the loops of an aggregation join hand to the folds of its calls, a bounded part at a time.

    changes         c0: +1 of A's entry 3     c1: -1 of B's entry 0    ...   in the order of time
    contributions   c0 with B's entry 0,      c1 with A's entry 3,     ...
                    c0 with B's entry 2       c1 with A's entry 5

A fold goes through both: what a change contributes it takes from the partial values of the entries
of other inputs as they are then, and a change of its own input changes those.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from windrow.operators.state.fields import State
from windrow.operators.vector import I64, Bools, Vector


@dataclass(frozen=True, slots=True)
class InputChanges:
    """Tuples that came or went, of all inputs, as the loops took them: by time, then by input.

    `origin` is the input of each, `entry` the code of its entry, `row` its place in the columns of
    its input. `weight` is how many copies come (+) or go (-); `rows` how many rows of the input
    that is: the same, unless a row stands for several tuples and says how many.
    """

    origin: I64
    entry: I64
    row: I64
    weight: I64
    rows: I64
    columns: tuple[dict[str, Vector], ...]

    def __len__(self) -> int:
        return len(self.origin)


@dataclass(frozen=True, slots=True)
class Contributions:
    """What changes add to groups. Every change of the part is in `changes`, also those of no use.

    `events` are as in `kernels/groups.py`: GROUP, WEIGHT (results that come or go: the change's
    weight times the copies of the other entries), EMISSION, CLOSES, TIME. `entries` has for each
    input and contribution the code of its entry, the change's own for its origin, and may be longer
    than there are contributions; `change` is the contribution's place in `changes`.

    Contributions stand in the order of their changes, and all of a change are in its part, though
    the instant may go on in the next. Those of a change of input i never depend on partial values
    of i. `columns` are those of contributions that late calls and keys read.

    Without keys there is a row before any tuple is: the first part then has one change, of weight
    0, of a row of NULLs of input 0 and entry 0, and one contribution of weight 0 to group 0.
    """

    changes: InputChanges
    events: I64
    entries: I64
    change: I64
    columns: dict[str, Vector]
    emissions: int
    rows_after: I64

    def __len__(self) -> int:
        return int(self.events.shape[1])

    @property
    def met(self) -> tuple[I64, I64, I64]:
        """Contributions as kernels take them: events, entries, change."""
        return self.events, self.entries, self.change


class EarlyFold(State, ABC):
    """An early call: partial values by entry of its input, values by group."""

    @property
    def comparisons(self) -> int:
        """Return how many values have been compared."""
        return 0

    @property
    @abstractmethod
    def copies(self) -> I64:
        """The copies of each entry."""

    @property
    def entries_used(self) -> int:
        """Behind which entry none has copies: the others' partial values are nothing."""
        found = np.flatnonzero(self.copies)
        return int(found[-1]) + 1 if len(found) else 0

    @abstractmethod
    def reserve(self, entries: int, groups: int) -> None:
        """Make room for codes of entries and of groups below these."""

    @abstractmethod
    def fold(self, part: Contributions, out: I64, valid: Bools) -> None:
        """Fold a part; fill in the word of each emission, and whether it is not NULL.

        `valid` comes as true everywhere; words that are not valid may be anything.
        """

    @abstractmethod
    def release_entries(self, entries: I64) -> None:
        """Forget entries, each of which has no copies."""

    def release_groups(self, groups: I64) -> None:
        """Forget groups, each of which has no results."""

    def entries(self) -> int:
        """Return how many values are stored, besides sums and counts."""
        return 0

    @abstractmethod
    def check_live(self, entries: I64, groups: I64) -> None:
        """Assert what is true of live entries and groups, and of all others."""
