"""Chains of rows by key: the part that all joins share.

    heads:  code -> [newest left + 1, newest right + 1, rows alive on both sides, seen]
    rows:   slot -> [older + 1, newer + 1, code + 1, ...]         0 is none, code 0 a free slot

A chain runs from the newest row of a key to the oldest. In a ring the references are absolute
row numbers, whose slot is ``number & mask``, and a row before `tail` is gone; in a pool they are
the slots themselves (mask -1, tail 0), and a row that leaves is unlinked.
"""

from __future__ import annotations

from windrow.kernels.jit import inlined, kernel

LEFT, RIGHT, ALIVE, SEEN = 0, 1, 2, 3
"""Columns of `heads`; the first two are also the numbers of the sides."""
HEAD_WORDS = 4

OLDER, NEWER, CODE = 0, 1, 2
"""The first columns of `rows` in every join."""


@inlined
def link(rows, slot, reference, code, heads, side, mask):
    """Make a row the newest of its key. Rings need no way back to newer rows."""
    older = heads[code, side]
    rows[slot, OLDER] = older
    rows[slot, NEWER] = 0
    rows[slot, CODE] = code + 1
    if mask == -1 and older > 0:
        rows[older - 1, NEWER] = reference + 1
    heads[code, side] = reference + 1
    heads[code, ALIVE] += 1


@inlined
def unlink(rows, slot, heads, side):
    """Take a row of a pool out of its chain; return its code."""
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
    return code


@inlined
def within(bands, i, rows, slot, first, low, high, sign):
    """Tell whether low <= right - left <= high in every band.

    `bands` of row i are on the one side, those of `rows[slot]` from column `first` on the other;
    `sign` is +1 if the former is the left side.
    """
    for b in range(len(low)):
        apart = sign * (rows[slot, first + b] - bands[i, b])
        if apart < low[b] or apart > high[b]:
            return False
    return True


@kernel
def unlink_rows(slots, rows, heads, side, dead, count):
    """Unlink rows of a pool; list in `dead` each code that no row is left of; return how many."""
    for k in range(len(slots)):
        code = unlink(rows, slots[k], heads, side)
        if heads[code, ALIVE] == 0:
            dead[count] = code
            count += 1
    return count
