"""The symmetric hash join of rows that expire in order of arrival, in two passes.

The first pass goes through both inputs by time. It counts rows in and out of their key, so one
look at `heads` shows with how many rows an arrival matches, and which is the newest. The second
pass follows the chains (see `chains.py`).

A walk alone waits for memory at each row, and its end is a surprise to the processor: 175 ns a
row where a window does not fit the cache, against 11 ns for reads that do not depend on one
another. So many walks go on at once, a row each in turn: their places in the output are known.
"""

from __future__ import annotations

import numpy as np

from windrow.kernels.chains import LEFT, RIGHT, ROWS, empty_codes, link
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.prefetch import AHEAD, place, soon

NEWEST, MATCHES, PLACE = 0, 1, 2
"""Lines of `found`: newest match + 1, how many there are, place of the first in the output."""

BLOCK = 256
"""Walks that go on at once."""


@inlined
def wrapped(slot, capacity):
    """Return the slot that a number below twice the capacity stands for."""
    return slot - capacity if slot >= capacity else slot


@inlined
def depart(ring, now, links, heads, side, dead, gone):
    """Count out the rows of a ring that are of no use from `now` on; return what is left of it.

    `ring` is (slot of the oldest row, rows). Codes that lose their last row are listed.
    """
    tail, rows = ring
    keep, codes = links.keep, links.codes
    while rows > 0 and keep[place(tail)] <= now:
        # The key of a row further on is announced: its counters are seldom in the cache.
        soon(heads, np.int64(codes[place(wrapped(tail + AHEAD, len(keep)))]))
        code = place(codes[place(tail)])
        heads[code, ROWS + side] -= 1
        # No branch: the code is written always, and counts if its rows are gone.
        dead[place(gone)] = code
        gone += 1 if heads[code, ROWS] + heads[code, ROWS + 1] == 0 else 0
        tail = wrapped(tail + 1, len(keep))
        rows -= 1
    return (tail, rows), gone


@inlined
def meet(i, code, heads, side, found, made):
    """Note which rows of the other side match arrival i; return the number of pairs so far."""
    matches = heads[place(code), ROWS + 1 - side]
    found[NEWEST, place(i)] = heads[place(code), 1 - side]
    found[MATCHES, place(i)] = matches
    found[PLACE, place(i)] = made
    return made + matches


@inlined
def enter(arrivals, i, slot, links, heads, side):
    """Write arrival i into its slot and make it the newest of its key."""
    if len(links.exp) > 0:
        links.exp[place(slot)] = arrivals.exp[i]
    links.keep[place(slot)] = arrivals.keep[i]
    link(links, slot, arrivals.codes[i], heads, side)


@kernel
def enter_arrivals(left, right, llinks, rlinks, rings, heads, clock, found, dead):
    """Take in both inputs by time, then let go of what is of no use after `clock`.

    `left` and `right` are `joins.NewRows`; `rings` has of each side the slot of the oldest row,
    and the rows before the arrivals. The rings have room for all arrivals, `dead` for all rows
    and one more. Returns the pairs that are to be made, what is left of the rings, and the codes
    in `dead`.
    """
    lring, rring = rings
    lfound, rfound = found
    i, j, made, gone = 0, 0, 0, 0
    while i < len(left.ts) or j < len(right.ts):
        if j == len(right.ts) or (i < len(left.ts) and left.ts[i] <= right.ts[j]):
            # Only the other side must be exact: counts of the own side are not looked at now.
            rring, gone = depart(rring, left.ts[i], rlinks, heads, RIGHT, dead, gone)
            soon(heads, left.codes[min(i + AHEAD, len(left.ts) - 1)])
            made = meet(i, left.codes[i], heads, LEFT, lfound, made)
            enter(left, i, wrapped(lring[0] + lring[1], len(llinks.keep)), llinks, heads, LEFT)
            lring = (lring[0], lring[1] + 1)
            i += 1
        else:
            lring, gone = depart(lring, right.ts[j], llinks, heads, LEFT, dead, gone)
            soon(heads, right.codes[min(j + AHEAD, len(right.ts) - 1)])
            made = meet(j, right.codes[j], heads, RIGHT, rfound, made)
            enter(right, j, wrapped(rring[0] + rring[1], len(rlinks.keep)), rlinks, heads, RIGHT)
            rring = (rring[0], rring[1] + 1)
            j += 1
    lring, gone = depart(lring, clock, llinks, heads, LEFT, dead, gone)
    rring, gone = depart(rring, clock, rlinks, heads, RIGHT, dead, gone)
    return made, lring, rring, empty_codes(dead, gone, heads)


@kernel
def walk_block(first, stop, arrivals, found, links, out, walks):
    """Make the pairs of arrivals [first, stop), at most `BLOCK`: a row of each walk in turn.

    Uses up `found`. `links` are those of the other side; `out` is (own slots, other slots, ts,
    exp).
    """
    mine, theirs, ts, exp = out
    older, exps = links.older, links.exp
    # Begin all walks that find anything.
    going = 0
    for i in range(first, stop):
        soon(older, found[NEWEST, place(i)] - 1)
        walks[place(going)] = i
        going += 1 if found[MATCHES, place(i)] > 0 else 0
    # A step of each; those that have more to go move up in the list.
    while going > 0:
        more = 0
        for k in range(going):
            i = walks[k]
            at = place(i)
            to = place(found[PLACE, at])
            other = place(found[NEWEST, at] - 1)
            mine[to] = arrivals.slots[at]
            theirs[to] = other
            ts[to] = arrivals.ts[at]
            if len(exps) > 0:
                exp[to] = min(arrivals.exp[at], exps[other])
            following = np.int64(older[other])
            soon(older, following - 1)
            found[PLACE, at] += 1
            found[NEWEST, at] = following
            found[MATCHES, at] -= 1
            walks[place(more)] = i
            more += 1 if found[MATCHES, at] > 0 else 0
        going = more


@kernel
def make_pairs(left, right, llinks, rlinks, found, out, walks):
    """Fill `out` (left slots, right slots, ts, exp) with the pairs that `enter_arrivals` found.

    Both sides' walks go through the output together, so that what they write stays in the cache.
    Rings without `exp` leave that of pairs alone.
    """
    lefts, rights, ts, exp = out
    lfound, rfound = found
    lcount, rcount = len(left.ts), len(right.ts)
    i, j = 0, 0
    while i < lcount or j < rcount:
        upto = min(i + BLOCK, lcount)
        limit = lfound[PLACE, upto] if upto < lcount else len(ts)
        walk_block(i, upto, left, lfound, rlinks, (lefts, rights, ts, exp), walks)
        i = upto
        while j < rcount and (i == lcount or rfound[PLACE, j] < limit):
            upto = min(j + BLOCK, rcount)
            walk_block(j, upto, right, rfound, llinks, (rights, lefts, ts, exp), walks)
            j = upto
