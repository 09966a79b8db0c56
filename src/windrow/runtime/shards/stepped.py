"""What a level gives."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa


@dataclass(slots=True)
class Stepped:
    """What a level gave: rows for ports of the next, changes by output, and what came too late."""

    forwarded: dict[int, pa.Table] = field(default_factory=dict)
    changes: dict[int, pa.Table] = field(default_factory=dict)
    late: dict[str, pa.Table] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """The size of all tables."""
        parts = (self.forwarded, self.changes, self.late)
        return sum(table.nbytes for part in parts for table in part.values())


def joined(pieces: list[Stepped]) -> Stepped:
    """Return what was given bit by bit as one."""
    whole = Stepped()
    for name in ("forwarded", "changes", "late"):
        tables: dict[int | str, list[pa.Table]] = {}
        for piece in pieces:
            for key, table in getattr(piece, name).items():
                tables.setdefault(key, []).append(table)
        getattr(whole, name).update({key: pa.concat_tables(t) for key, t in tables.items()})
    return whole
