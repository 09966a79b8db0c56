"""The keys of a join: their codes, and the heads of the chains of their rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from windrow.core.schema import Field
from windrow.kernels.chains import HEAD_WORDS, ROWS, empty_codes
from windrow.operators.state.bag import interned_words
from windrow.operators.state.key_table import KeyTable, grown, with_room
from windrow.operators.task import Saved
from windrow.operators.vector import I64

Heads = npt.NDArray[Any]
"""See `kernels/chains.py`. Of int32, as slots fit 31 bits; of int64 where heads count copies."""


@dataclass(slots=True)
class JoinKeys:
    """Key codes and the heads of their chains. Invariant: a live code has rows, or is pinned."""

    width: int
    copies: bool = False
    pinned: tuple[int, ...] = ()
    table: KeyTable = field(init=False)
    heads: Heads = field(init=False)

    def __post_init__(self) -> None:
        self.table = KeyTable(self.width)
        shape = (self.table.capacity, HEAD_WORDS)
        self.heads = np.zeros(shape, np.int64) if self.copies else np.zeros(shape, np.int32)

    def __len__(self) -> int:
        return len(self.table)

    def encode(self, words: I64) -> I64:
        """Return the codes of keys, new ones added."""
        codes = self.table.encode(words)
        self.heads = grown(self.heads, self.table.capacity)
        return codes

    def sweep(self, *codes: I64) -> None:
        """Release those of the codes that no row is left of."""
        dead = np.concatenate(codes)
        self.table.release(dead[: empty_codes(dead, len(dead), self.heads)])

    @property
    def nbytes(self) -> int:
        """Exact size of the arrays."""
        return self.table.nbytes + self.heads.nbytes

    def save(self) -> Saved:
        """Return all that `load` needs."""
        return {"table": self.table.save(), "heads": self.table.used(self.heads)}

    def load(self, saved: object) -> None:
        """Take over saved keys."""
        assert isinstance(saved, dict)
        self.table = KeyTable.load(saved["table"])
        self.heads = with_room(saved["heads"], self.table.capacity)

    def live_codes(self, fields: tuple[Field, ...]) -> list[I64]:
        """Return the interned codes that live keys refer to; `fields` are those of the key."""
        return interned_words(fields, self.table)

    def check(self, *sides: I64) -> None:
        """Assert the invariant, and that heads count the rows of `sides`, given by their codes."""
        self.table.check()
        used = np.zeros(len(self.heads), np.bool_)
        for side, codes in enumerate(sides):
            counted = np.bincount(codes, minlength=len(used))
            assert np.array_equal(counted, self.heads[:, ROWS + side]), "rows are miscounted"
            used |= counted > 0
        live = set(self.table.live().tolist()) - set(self.pinned)
        assert live == set(np.flatnonzero(used).tolist()) - set(self.pinned), "a useless key"
