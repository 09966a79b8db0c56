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
