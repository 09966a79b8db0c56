"""FIRST, COLLECT_LIST and STRING_AGG: rows in an order, as one sorted bag of keys a group.

    (x, key, ...)  ─►  bytes that sort as (key, ..., x)  ─►  a code  ─►  `SortedBags`

The value is the last part of its key, and is read from there: the bag is all that is stored. So
an expired row is found by its key, and what is read does not depend on the order of arrival.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.core.types import BINARY, is_float
from windrow.kernels.extremes import BYTES, MAGNITUDE
from windrow.kernels.in_order import (
    VALUE,
    WIDTH,
    list_bags,
    measure_texts,
    read_texts,
    read_words,
    skip_part,
    write_texts,
    write_words,
)
from windrow.kernels.sorted_bags import COMPARISONS
from windrow.kernels.text import SPARE
from windrow.operators.aggregate.batch import ALL_TAKEN, Accumulator, EventBatch, column_bits
from windrow.operators.aggregate.comparing import Comparing
from windrow.operators.aggregate.quantile import Quantile, SortedBags
from windrow.operators.arrow import vector_from_arrow, vector_to_arrow
from windrow.operators.interner import Interner
from windrow.operators.state.fields import NestedField, StateLayout
from windrow.operators.state.key_table import grown
from windrow.operators.vector import I64, Bools, Vector, is_interned
from windrow.physical.calls import AccumulatorCall

KEY = "#key"


class SortKeys:
    """Keys of the rows of a call: ``call.args`` are the value, then what orders it."""

    def __init__(self, call: AccumulatorCall, interner: Interner) -> None:
        self.interner = interner
        self.type = call.args[0].type
        letters = str(call.parameters[0])
        self.parts = [
            (field.name, is_interned(field.type), 0xFF * (letter in "dD"), letter in "aD")
            for field, letter in zip((*call.args[1:], call.args[0]), letters, strict=True)
        ]

    def encode(self, columns: dict[str, Vector]) -> I64:
        """Return the code of each row's key."""
        rows = len(columns[self.parts[-1][0]])
        lengths = np.zeros(rows, np.int64)
        contents = [self._content(columns[name], lengths) for name, *_ in self.parts]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        out, at = np.empty(int(offsets[-1]) + SPARE, np.uint8), offsets[:-1].copy()
        for (name, is_text, flip, nulls_first), content in zip(self.parts, contents, strict=True):
            write = write_texts if is_text else write_words
            write(content, _mask(columns[name]), VALUE + (-1 if nulls_first else 1), flip, out, at)
        return self.interner.encode_strings(out, offsets)

    def _content(self, column: Vector, lengths: I64) -> object:
        """Return words, or bytes and offsets; add the sizes of the parts to `lengths`."""
        if is_interned(column.type):
            texts = self.interner.decode_strings(column.data)  # type: ignore[arg-type]
            measure_texts(*texts, _mask(column), lengths)
            return texts
        lengths += 1 + (WIDTH if column.valid is None else WIDTH * column.valid)
        bits = column_bits(column)
        if not is_float(column.type):
            return bits
        reals = column.data + 0.0  # of -0.0 it is 0.0
        bits = np.where(np.isnan(reals), np.nan, reals).view(np.int64)
        return np.where(bits < 0, -(bits & MAGNITUDE), bits)  # as `order_key`

    def values(self, codes: I64) -> Vector:
        """Return the values of keys."""
        data, offsets = self.interner.decode_strings(codes)
        at = offsets[:-1].copy()
        for _, is_text, flip, _ in self.parts[:-1]:
            skip_part(data, is_text, flip, at)
        _, is_text, flip, _ = self.parts[-1]
        valid = np.empty(len(codes), np.bool_)
        if is_text:
            starts, nothing = np.empty(len(codes) + 1, np.int64), np.empty(0, np.uint8)
            size = read_texts(data, flip, at, valid, (nothing, starts))
            texts = np.empty(size + SPARE, np.uint8), starts
            read_texts(data, flip, at, valid, texts)
            return Vector(self.type, self.interner.encode_strings(*texts), valid)
        words = np.empty(len(codes), np.int64)
        read_words(data, flip, at, words, valid)
        if not is_float(self.type):
            return Vector(self.type, words, valid)
        bits = np.where(words < 0, -words | ~MAGNITUDE, words)
        return Vector(self.type, bits.view(np.float64), valid)


def _mask(column: Vector) -> Bools:
    return ALL_TAKEN if column.valid is None else column.valid


class First(Accumulator):
    """FIRST, LAST, ARG_MIN, ARG_MAX: the value of the least key."""

    stored_as = StateLayout("first-in-order")
    state_fields = (NestedField("keys"),)

    def __init__(self, call: AccumulatorCall, interner: Interner) -> None:
        self.call = call
        self.encoding = SortKeys(call, interner)
        least = replace(call, name="min", args=(replace(call.args[0], name=KEY, type=BINARY),))
        self.keys = Quantile(replace(least, type=BINARY), interner)

    @property
    def comparisons(self) -> int:
        """Values compared so far."""
        return self.keys.comparisons

    def reserve(self, groups: int) -> None:
        """Make room."""
        self.keys.reserve(groups)

    def fold(self, batch: EventBatch, out: I64, valid: Bools) -> None:
        """Keep the keys; read the value of the least."""
        codes = self.encoding.encode(batch.columns)
        columns = {**batch.columns, KEY: Vector(BINARY, codes)}
        self.keys.fold(replace(batch, columns=columns), out, valid)
        shown = np.flatnonzero(valid[: batch.emissions])
        values = self.encoding.values(out[shown])
        out[shown] = column_bits(values)
        valid[shown] = values.valid

    def entries(self) -> int:
        """Return how many different keys are stored."""
        return self.keys.entries()

    def check_groups(self, live: I64) -> None:
        """Assert the invariants of the bags."""
        self.keys.check_groups(live)


class Listing(Accumulator):
    """COLLECT_LIST and STRING_AGG: all values, by their keys."""

    stored_as = StateLayout("lists-in-order")
    state_fields = (NestedField("bags"),)

    def __init__(self, call: AccumulatorCall, interner: Interner) -> None:
        self.call = call
        self.interner = interner
        self.encoding = SortKeys(call, interner)
        self.comparing = Comparing(BYTES, interner)
        self.bags = SortedBags()

    def reserve(self, groups: int) -> None:
        """Make room."""
        self.bags.reserve(groups)

    def fold(self, batch: EventBatch, out: I64, valid: Bools) -> None:
        """Keep the keys; list the values of each emission's group."""
        n = batch.emissions
        listed, spans = self._listed(batch)
        values = vector_to_arrow(self.encoding.values(listed), self.interner)
        order = np.lexsort(spans[::-1, :n])  # by where they begin; of equal ones the empty first
        ends = np.append(spans[0, order], len(listed))
        lists = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values)
        if self.call.name == "string_agg":
            lists = pc.binary_join(lists, str(self.call.parameters[1]))
            valid[:n] = spans[1, :n] > spans[0, :n]
        out[order] = vector_from_arrow(lists, self.call.type, self.interner).data

    def _listed(self, batch: EventBatch) -> tuple[I64, I64]:
        """Return the keys of all emissions, and where those of each begin and end."""
        takes, codes = batch.takes(self.call), self.encoding.encode(batch.columns)
        order = self.comparing.order
        listed, spans = np.empty(len(batch), np.int64), np.zeros((2, batch.emissions + 1), np.int64)
        start = 0
        while True:
            bags = self.bags.arrays
            start = list_bags(batch.events, takes, codes, order, bags, listed, spans, start)
            end, need = spans[:, -1].tolist()
            if start == len(batch):
                return listed[:end], spans
            if end + need > len(listed):
                listed = grown(listed, end + need)  # type: ignore[assignment]
            else:
                self.bags.grow()

    @property
    def comparisons(self) -> int:
        """Keys compared so far."""
        return int(self.bags.meta[COMPARISONS])

    def entries(self) -> int:
        """Return how many different keys are stored."""
        return len(self.bags)

    def live_codes(self) -> list[I64]:
        """Return the codes of the keys."""
        return [self.bags.keys()]

    def check_groups(self, live: I64) -> None:
        """Assert the invariants of the bags."""
        self.bags.check_groups(live, BYTES)
