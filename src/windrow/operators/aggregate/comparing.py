"""How the values of a type compare inside kernels: as int64s, or by their bytes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from windrow.core.types import is_float
from windrow.kernels.extremes import BYTES, PLAIN, REAL
from windrow.operators.interner import Interner
from windrow.operators.vector import I64, is_interned


@dataclass(frozen=True, slots=True)
class Comparing:
    """What `extremes.compare` needs to know: the kind, and where the bytes are."""

    kind: int
    interner: Interner

    @classmethod
    def of(cls, type_: pa.DataType, interner: Interner) -> Comparing:
        """Return how values of a type compare."""
        if is_interned(type_):
            return cls(BYTES, interner)
        return cls(REAL if is_float(type_) else PLAIN, interner)

    @property
    def bytes(self) -> tuple[np.ndarray, I64, I64]:
        """The interner's arena, starts and lengths, as they are now."""
        return self.interner.arena, self.interner.starts, self.interner.lengths

    @property
    def interned(self) -> bool:
        """Return whether keys are codes."""
        return self.kind == BYTES
