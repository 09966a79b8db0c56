"""All contestants must emit the same: the first one's output is kept for the others."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import pyarrow as pa

from windrow.cli.calibrate.digest import Digest
from windrow_lab.contest.truth import net_difference


@dataclass(slots=True)
class Agreement:
    """What the first contestant emitted: changes by turn, and digests of what is too large to keep.

    Contestants that run over the same tuples share one.
    """

    changes: dict[int, pa.Table] = field(default_factory=dict)
    digests: dict[Hashable, Digest] = field(default_factory=dict)

    def changes_differ(self, turn: int, changes: pa.Table) -> str:
        """Return how the changes of a turn differ from the first contestant's; empty if not."""
        first = self.changes.setdefault(turn, changes)
        wrong = net_difference(changes, first) if first is not changes else ""
        return f"the changes differ from those of the first contestant: {wrong}" if wrong else ""

    def first_digest(self, key: Hashable, mine: Digest) -> Digest | None:
        """Return the digest that the first contestant left under a key.

        Return None to the first contestant itself, and keep its digest.
        """
        first = self.digests.get(key)
        if first is None:
            self.digests[key] = mine
        return first
