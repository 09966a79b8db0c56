"""How the values of a type compare inside kernels: as int64s, or by their bytes."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from windrow.core.types import is_float
from windrow.kernels.extremes import BYTES, PLAIN, REAL, KeyOrder
from windrow.operators.interner import Interner
from windrow.operators.vector import is_interned


@dataclass(frozen=True, slots=True)
class Comparing:
    """How values compare: the kind, and the interner that has the bytes."""

    kind: int
    interner: Interner

    @classmethod
    def of(cls, type_: pa.DataType, interner: Interner) -> Comparing:
        """Return how values of a type compare."""
        if is_interned(type_):
            return cls(BYTES, interner)
        return cls(REAL if is_float(type_) else PLAIN, interner)

    @property
    def order(self) -> KeyOrder:
        """What kernels need: the kind, and the interner's arrays as they are now."""
        interner = self.interner
        return KeyOrder(self.kind, interner.arena, interner.starts, interner.lengths)

    @property
    def interned(self) -> bool:
        """Return whether keys are codes."""
        return self.kind == BYTES
