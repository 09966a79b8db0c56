"""Chains of rows by key: the layout that joins share.

    heads:  code -> [newest left + 1, newest right + 1, left rows, right rows]        0 is none
    links:  slot -> keep, exp, code (-1: free), older + 1, newer + 1, band times

A chain runs from the newest row of a key to the oldest. In a *ring* rows leave at the far end, and
nothing is rewritten: the last link of a chain may lead to a slot that is someone else's by now, so
a walk takes as many steps as the key has rows. In a *pool* rows leave from anywhere and are
unlinked: only pools have `newer`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from windrow.kernels.jit import inlined, kernel
from windrow.kernels.prefetch import place

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]

LEFT, RIGHT, ROWS = 0, 1, 2
"""Columns of `heads`: the first two are also the numbers of the sides, `ROWS + side` counts."""
HEAD_WORDS = 4


class Links(NamedTuple):
    """What loops read and write of stored rows: one place a slot in each array.

    `keep` says until when a row is of use, `exp` until when it is there: one array where these
    are the same; empty if rows never end.
    """

    keep: I64
    exp: I64
    codes: I32
    older: I32
    newer: I32
    times: I64  # what bands compare, shape (slots, bands)


@inlined
def link(links, slot, code, heads, side):
    """Make a row the newest of its key."""
    at, key = place(slot), place(code)
    older = heads[key, side]
    links.codes[at] = code
    links.older[at] = older
    if len(links.newer) > 0:
        links.newer[at] = 0
        if older > 0:
            links.newer[place(older - 1)] = slot + 1
    heads[key, side] = slot + 1
    heads[key, ROWS + side] += 1


@inlined
def unlink(links, slot, heads, side):
    """Take a row of a pool out of its chain; return its code."""
    code, older, newer = links.codes[slot], links.older[slot], links.newer[slot]
    if older > 0:
        links.newer[older - 1] = newer
    if newer > 0:
        links.older[newer - 1] = older
    else:
        heads[code, side] = older
    links.codes[slot] = -1
    heads[code, ROWS + side] -= 1
    return code


@inlined
def within(mine, i, theirs, slot, bounds, sign):
    """Return whether low <= right - left <= high in every band.

    `mine` has the times of row i of the one side, `theirs` those of the other side's slots;
    `sign` is +1 if the former is the left side.
    """
    low, high = bounds
    for b in range(len(low)):
        apart = sign * (theirs[slot, b] - mine[i, b])
        if apart < low[b] or apart > high[b]:
            return False
    return True


@kernel
def empty_codes(codes, count, heads):
    """Keep of the first `count` codes those that have no rows, once each; return how many."""
    kept = 0
    for k in range(count):
        code = codes[k]
        if heads[code, ROWS] + heads[code, ROWS + 1] == 0 and heads[code, LEFT] >= 0:
            heads[code, LEFT] = -1  # a mark: the code is not taken twice
            heads[code, RIGHT] = 0
            codes[kept] = code
            kept += 1
    for k in range(kept):
        heads[codes[k], LEFT] = 0
    return kept
