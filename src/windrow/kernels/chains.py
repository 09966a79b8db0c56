"""Chains of rows by key: the part that joins share.

    heads:  code -> [newest left + 1, newest right + 1, rows alive on both sides, seen]
    rows:   slot -> [older + 1, newer + 1, code + 1, ...]         0 is none, code 0 a free slot

A chain runs from the newest row of a key to the oldest, both ways.
"""

from __future__ import annotations

from windrow.kernels.jit import inlined

LEFT, RIGHT, ALIVE, SEEN = 0, 1, 2, 3
"""Columns of `heads`; the first two are also the numbers of the sides."""
HEAD_WORDS = 4

OLDER, NEWER, CODE = 0, 1, 2
"""The first columns of `rows`."""


@inlined
def link(rows, slot, code, heads, side):
    """Make a row the newest of its key."""
    older = heads[code, side]
    rows[slot, OLDER] = older
    rows[slot, NEWER] = 0
    rows[slot, CODE] = code + 1
    if older > 0:
        rows[older - 1, NEWER] = slot + 1
    heads[code, side] = slot + 1
    heads[code, ALIVE] += 1


@inlined
def unlink(rows, slot, heads, side):
    """Take a row out of its chain."""
    code = rows[slot, CODE] - 1
    older = rows[slot, OLDER]
    newer = rows[slot, NEWER]
    if older > 0:
        rows[older - 1, NEWER] = newer
    if newer > 0:
        rows[newer - 1, OLDER] = older
    else:
        heads[code, side] = older
    rows[slot, CODE] = 0
    heads[code, ALIVE] -= 1


@inlined
def within(bands, i, rows, slot, first, low, high, sign):
    """Return whether low <= right - left <= high in every band.

    `bands` of row i are on the one side, those of `rows[slot]` from column `first` on the other;
    `sign` is +1 if the former is the left side.
    """
    for b in range(len(low)):
        apart = sign * (rows[slot, first + b] - bands[i, b])
        if apart < low[b] or apart > high[b]:
            return False
    return True
