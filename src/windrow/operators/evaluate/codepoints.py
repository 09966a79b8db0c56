"""Texts as one array of code points, for what Arrow has no kernel for.

    values   "né" "x"   ─►   codes [ 110 233 | 120 ]    offsets [ 0 2 3 ]

Decoding and encoding run over the whole batch at once, in C.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.core.types import STRING
from windrow.operators.evaluate.arrays import (
    Kernel,
    Raw,
    arrow,
    bitmap,
    build,
    raw,
    validity,
)
from windrow.operators.few import scalar_of

_length = arrow("utf8_length")
_coalesce = arrow("coalesce")
_EMPTY = scalar_of("", STRING)


def explode(array: pa.Array) -> tuple[Raw, Raw]:
    """Return all code points and where each text begins, and the last one ends."""
    filled = _coalesce(array, _EMPTY) if array.null_count else array
    ends = np.cumsum(raw(_length(filled)), dtype=np.int64)
    data = filled.buffers()[2]
    if len(filled) == 0 or data is None:
        return np.empty(0, np.uint32), np.zeros(len(filled) + 1, np.int64)
    starts = np.frombuffer(filled.buffers()[1], np.int32, len(filled) + 1, filled.offset * 4)
    text = data[int(starts[0]) : int(starts[-1])].to_pybytes().decode()
    codes = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    return codes, np.concatenate([np.zeros(1, np.int64), ends])


def implode(codes: Raw, offsets: Raw, like: pa.Array) -> pa.Array:
    """Return the texts of exploded code points, NULL where `like` is."""
    widths = 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
    byte_ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(widths)])
    data = codes.astype(np.uint32).tobytes().decode("utf-32-le").encode()
    buffers = [
        bitmap(validity(like)),
        pa.py_buffer(byte_ends[offsets].astype(np.int32)),
        pa.py_buffer(data),
    ]
    return pa.Array.from_buffers(STRING, len(like), buffers)


def ascii_(value: pa.Array) -> pa.Array:
    """Return the first code point of each text; 0 of the empty one."""
    codes, offsets = explode(value)
    filled = np.append(codes, 0)
    first = np.where(np.diff(offsets) > 0, filled[offsets[:-1]], 0)
    return build(pa.int32(), first.astype(np.int32), validity(value))


def translate(source: str, target: str) -> Kernel:
    """Return the replacement of each character of `source` by its counterpart in `target`.

    Characters without a counterpart are removed; of doubles in `source` the first counts.
    """
    first = {ord(c): i for i, c in reversed(list(enumerate(source)))}
    keys = np.array(sorted(first), np.uint32)
    at = np.array([first[int(key)] for key in keys], np.int64)
    goals = np.array([ord(c) for c in target] or [0], np.uint32)

    def kernel(value: pa.Array) -> pa.Array:
        if not len(keys):
            return value
        # All characters of the batch at once: search each among the keys.
        codes, offsets = explode(value)
        place = np.minimum(np.searchsorted(keys, codes), len(keys) - 1)
        hit = keys[place] == codes
        removed = hit & (at[place] >= len(target))
        goal = goals[np.minimum(at[place], len(goals) - 1)]
        # A text begins behind the characters that are kept of those before it.
        kept_before = np.concatenate([np.zeros(1, np.int64), np.cumsum(~removed)])
        return implode(np.where(hit, goal, codes)[~removed], kept_before[offsets], value)

    return kernel
