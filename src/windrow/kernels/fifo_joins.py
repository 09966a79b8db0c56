"""The symmetric hash join of rows that expire in order of arrival, in two passes.

    heads:  code -> [newest left + 1, newest right + 1, left rows of use, right rows of use]
    ring:   keep, exp, code, back      a row number's slot is ``number & mask``

        │ gone │          of use          │  room  │
        0     tail                      head

The first pass goes through both inputs by time. It counts rows in and out of their key, so one
look at `heads` shows with how many rows an arrival matches, and which is the newest. The second
pass follows the chains: from a row to the next older one of its key it is `back` rows.

A walk alone waits for memory at each row, and its end is a surprise to the processor: 175 ns a
row where a window does not fit the cache, against 11 ns for reads that do not depend on one
another. So many walks go on at once, a row each in turn: their places in the output are known.
"""

from __future__ import annotations

import numpy as np

from windrow.kernels.chains import LEFT, RIGHT
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.prefetch import AHEAD, place, soon

COUNT = 2
"""The first column of `heads` that counts: `COUNT + side` has the rows of that side."""

NEWEST, MATCHES, PLACE = 0, 1, 2
"""Lines of `found`: newest match + 1, how many there are, place of the first in the output."""

BLOCK = 256
"""Walks that go on at once."""


@inlined
def depart(tail, head, now, ring, heads, side, dead, gone):
    """Count out the rows that are of no use from `now` on; list codes that lose their last."""
    keep, _, codes, _ = ring
    mask = len(keep) - 1
    while tail < head and keep[place(tail & mask)] <= now:
        soon(heads, np.int64(codes[place((tail + AHEAD) & mask)]))
        code = place(codes[place(tail & mask)])
        heads[code, COUNT + side] -= 1
        dead[place(gone)] = code
        gone += 1 if heads[code, COUNT] + heads[code, COUNT + 1] == 0 else 0
        tail += 1
    return tail, gone


@inlined
def meet(i, code, heads, side, found, made):
    """Note which rows of the other side match arrival i; return the number of pairs so far."""
    matches = heads[place(code), COUNT + 1 - side]
    found[NEWEST, place(i)] = heads[place(code), 1 - side]
    found[MATCHES, place(i)] = matches
    found[PLACE, place(i)] = made
    return made + matches


@inlined
def enter(number, exp, keep, code, ring, heads, side):
    """Write an arrival into its slot and make it the newest of its key."""
    keeps, exps, codes, back = ring
    slot, key = place(number & (len(keeps) - 1)), place(code)
    if len(exps) > 0:
        exps[slot] = exp
    keeps[slot] = keep
    codes[slot] = code
    back[slot] = number + 1 - heads[key, side] if heads[key, COUNT + side] > 0 else 0
    heads[key, side] = number + 1
    heads[key, COUNT + side] += 1


@inlined
def forget(dead, gone, heads):
    """Keep in `dead` those codes that have no rows, once each; return how many."""
    count = 0
    for k in range(gone):
        code = dead[k]
        empty = heads[code, COUNT] + heads[code, COUNT + 1] == 0
        if empty and heads[code, LEFT] + heads[code, RIGHT] > 0:
            heads[code, LEFT] = 0
            heads[code, RIGHT] = 0
            dead[count] = code
            count += 1
    return count


@kernel
def enter_arrivals(left, right, lring, rring, spans, heads, clock, lfound, rfound, dead):
    """Take in both inputs by time, then let go of what is of no use after `clock`.

    `left` and `right` are (ts, exp, keep, codes); `spans` (left tail, left head, right tail,
    right head) before the arrivals. The rings have room for all arrivals, `dead` for all rows
    and one more. Returns the pairs that are to be made, the new tails, and the codes in `dead`.
    """
    lts, lexp, lkeep, lcodes = left
    rts, rexp, rkeep, rcodes = right
    ltail, lhead, rtail, rhead = spans
    i, j, made, gone = 0, 0, 0, 0
    while i < len(lts) or j < len(rts):
        if j == len(rts) or (i < len(lts) and lts[i] <= rts[j]):
            rtail, gone = depart(rtail, rhead, lts[i], rring, heads, RIGHT, dead, gone)
            soon(heads, lcodes[min(i + AHEAD, len(lts) - 1)])
            made = meet(i, lcodes[i], heads, LEFT, lfound, made)
            enter(lhead, lexp[i], lkeep[i], lcodes[i], lring, heads, LEFT)
            lhead += 1
            i += 1
        else:
            ltail, gone = depart(ltail, lhead, rts[j], lring, heads, LEFT, dead, gone)
            soon(heads, rcodes[min(j + AHEAD, len(rts) - 1)])
            made = meet(j, rcodes[j], heads, RIGHT, rfound, made)
            enter(rhead, rexp[j], rkeep[j], rcodes[j], rring, heads, RIGHT)
            rhead += 1
            j += 1
    ltail, gone = depart(ltail, lhead, clock, lring, heads, LEFT, dead, gone)
    rtail, gone = depart(rtail, rhead, clock, rring, heads, RIGHT, dead, gone)
    return made, ltail, rtail, forget(dead, gone, heads)


@kernel
def walk_block(first, stop, arrivals, number, mask, found, ring, mine, theirs, ts, exp, walks):
    """Make the pairs of arrivals [first, stop), at most `BLOCK`: a row of each walk in turn.

    Uses up `found`. Arrival i is row ``number + i`` of a ring of `mask`, the others are of `ring`.
    """
    times, ends, _, _ = arrivals
    keeps, exps, _, back = ring
    others = len(keeps) - 1
    going = 0
    for i in range(first, stop):
        soon(back, (found[NEWEST, place(i)] - 1) & others)
        walks[place(going)] = i
        going += 1 if found[MATCHES, place(i)] > 0 else 0
    while going > 0:
        more = 0
        for k in range(going):
            i = walks[k]
            at = place(i)
            to = place(found[PLACE, at])
            other = place((found[NEWEST, at] - 1) & others)
            mine[to] = (number + i) & mask
            theirs[to] = other
            ts[to] = times[at]
            if len(exps) > 0:
                exp[to] = min(ends[at], exps[other])
            found[PLACE, at] += 1
            found[NEWEST, at] -= back[other]
            soon(back, (found[NEWEST, at] - 1) & others)
            found[MATCHES, at] -= 1
            walks[place(more)] = i
            more += 1 if found[MATCHES, at] > 0 else 0
        going = more


@kernel
def make_pairs(left, right, lring, rring, numbers, lfound, rfound, out, walks):
    """Fill `out` (left slots, right slots, ts, exp) with the pairs that `enter_arrivals` found.

    `numbers` are those of the first arrivals. Both sides' walks go through the output together,
    so that what they write stays in the cache. Rings without `exp` leave that of pairs alone.
    """
    lefts, rights, ts, exp = out
    lmask, rmask = len(lring[0]) - 1, len(rring[0]) - 1
    lcount, rcount = len(left[0]), len(right[0])
    i, j = 0, 0
    while i < lcount or j < rcount:
        upto = min(i + BLOCK, lcount)
        limit = lfound[PLACE, upto] if upto < lcount else len(ts)
        walk_block(
            i, upto, left, numbers[0], lmask, lfound, rring, lefts, rights, ts, exp, walks
        )  # fmt: skip
        i = upto
        while j < rcount and (i == lcount or rfound[PLACE, j] < limit):
            upto = min(j + BLOCK, rcount)
            walk_block(
                j, upto, right, numbers[1], rmask, rfound, lring, rights, lefts, ts, exp, walks
            )  # fmt: skip
            j = upto
