"""The keys of a join: their codes, and the heads of the chains of their rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from windrow.kernels.chains import HEAD_WORDS, ROWS, empty_codes
from windrow.operators.codec import RowCodec
from windrow.operators.state.fields import ArrayField, State, StateLayout
from windrow.operators.state.key_table import KeyTable, TableField, grown
from windrow.operators.vector import I64

Heads = npt.NDArray[Any]
"""See `kernels/chains.py`. Of int32, as slots fit 31 bits; of int64 where heads count copies."""


@dataclass(slots=True)
class JoinKeys(State):
    """Key codes and the heads of their chains. Invariant: a live code has rows, or is pinned."""

    stored_as = StateLayout("join-keys")
    state_fields = (
        TableField("table", fields="codec.fields"),
        ArrayField("heads", length="table.entries", room="table.capacity"),
    )

    codec: RowCodec
    copies: bool = False
    pinned: tuple[int, ...] = ()
    table: KeyTable = field(init=False)
    heads: Heads = field(init=False)

    def __post_init__(self) -> None:
        self.table = KeyTable(self.codec.width)
        # Heads of counted rows add up copies, which may be more than 31 bits.
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

    def check_rows(self, *sides: I64) -> None:
        """Assert the invariant, and that heads count the rows of `sides`, given by their codes."""
        used = np.zeros(len(self.heads), np.bool_)
        for side, codes in enumerate(sides):
            counted = np.bincount(codes, minlength=len(used))
            assert np.array_equal(counted, self.heads[:, ROWS + side]), "rows are miscounted"
            used |= counted > 0
        # Pinned codes may or may not have rows.
        live = set(self.table.live().tolist()) - set(self.pinned)
        assert live == set(np.flatnonzero(used).tolist()) - set(self.pinned), "a useless key"
