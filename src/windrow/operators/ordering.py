"""The order of rows by value, as kernels read it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.core.schema import Schema
from windrow.core.types import is_float
from windrow.kernels.merging import FLOAT, INTEGER, TEXT, sort_instants
from windrow.operators.codec import RowCodec
from windrow.operators.delta import Delta
from windrow.operators.interner import U8, Interner
from windrow.operators.vector import I64, is_interned

Key = tuple[str, bool, bool]
"""A column, whether it descends, whether NULLs come first."""

Text = tuple[U8, I64, I64]


class RowOrder:
    """Rows by `keys`, then by all columns in schema order, ascending, NULLs first.

    Numbers as numbers with NaN last, text and binary by bytes.
    """

    def __init__(self, schema: Schema, keys: tuple[Key, ...], interner: Interner) -> None:
        self.codec = RowCodec(schema.fields)
        self.names = schema.names
        self.null_word = len(schema) if self.codec.nullable else -1
        self._interner = interner
        named = {name for name, _, _ in keys}
        rest = [(name, False, True) for name in schema.names if name not in named]
        terms = [
            [schema.index(name), _kind(schema[name].type), int(down), int(nulls_first)]
            for name, down, nulls_first in (*keys, *rest)
        ]
        self.how: I64 = np.array(terms, np.int64).reshape(len(terms), 4)

    @property
    def text(self) -> Text:
        """Where kernels find the bytes of interned values; to be read anew for each call."""
        return self._interner.arena, self._interner.starts, self._interner.lengths

    def sorted_instants(self, delta: Delta) -> Delta:
        """Return the changes with the rows of each instant in this order."""
        ts = delta.ts
        if len(ts) < 2 or not (ts[1:] == ts[:-1]).any():
            return delta
        words = self.codec.words([delta.columns[n] for n in self.names], len(ts))
        order = np.arange(len(ts))
        spare = np.empty(len(ts), np.int64)
        sort_instants(ts, words, self.how, self.null_word, self.text, order, spare)
        return delta.take(order)


def _kind(type_: pa.DataType) -> int:
    if is_interned(type_):
        return TEXT
    return FLOAT if is_float(type_) else INTEGER
