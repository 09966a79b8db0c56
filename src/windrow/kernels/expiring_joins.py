"""The join of two windows that emits results and their expirations, and stores none of them.

    left   ──●───────●───○──●──►   ● comes   ○ goes
    right  ────●──○────●───────►   merged by time, what goes first: each event walks the chain of
                                   its key on the other side

A result ends with the first of its rows. At that moment the other row is still in its ring, and in
the chain of the same key, and so are all others that this row is joined with: the walk that found
the results when they were made finds them again, at the same price, so that there is nothing to
store. Needs rows that expire in order of arrival, on both sides.
"""

from __future__ import annotations

from windrow.kernels.chains import LEFT, RIGHT, ROWS
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.joins import MADE, NEXT_LEFT, NEXT_RIGHT, enter
from windrow.kernels.prefetch import place

NEVER = 2**63 - 1

TAIL, COUNT, GONE, WORK_WORDS = 3, 5, 7, 8
"""Places of `work`, beside those of `joins.py`: of each side the slot of its oldest row and how
many rows there are; the codes that lost their last row."""


@inlined
def meet(me, now, sign, chain, older, made, out):
    """Add the pairs of row `me` with a chain (newest + 1, rows); -1 without room."""
    at, rows = chain
    mine, theirs, ts, weight = out
    if made + rows > len(ts):
        return -1
    for k in range(made, made + rows):
        mine[k] = me
        theirs[k] = at - 1
        ts[k] = now
        weight[k] = sign
        at = older[place(at - 1)]
    return made + rows


@inlined
def chain_of(heads, code, side):
    """Return the newest row + 1 and the number of rows of a key on a side."""
    return heads[place(code), side], heads[place(code), ROWS + side]


@inlined
def depart(slot, links, heads, side, dead, work):
    """Count out the oldest row of a ring; list its code if that loses its last row."""
    code = links.codes[slot]
    heads[code, ROWS + side] -= 1
    dead[work[GONE]] = code
    work[GONE] += 1 if heads[code, ROWS] + heads[code, ROWS + 1] == 0 else 0
    work[TAIL + side] = slot + 1 if slot + 1 < len(links.keep) else 0
    work[COUNT + side] -= 1


@kernel
def join_and_expire(left, right, llinks, rlinks, heads, clock, dead, out, work):
    """Join both inputs' new rows, and emit expirations up to `clock`; stop if `out` is full.

    `left` and `right` are `joins.NewRows`, whose rows are in the rings already; `out` gets (left
    slots, right slots, ts, weight). Of two rows that expire at one instant the left one goes
    first, so their result is emitted once. `dead` has room for a code a row and one more.
    Goes on where `work` says, as `joins.join_arrivals` does; returns whether all is done.
    """
    lefts, rights, ts, weight = out
    i, j, made = work[NEXT_LEFT], work[NEXT_RIGHT], work[MADE]
    done = False
    while True:
        # What comes next: the oldest row of either ring leaves, or an arrival enters.
        ltail, rtail = work[TAIL + LEFT], work[TAIL + RIGHT]
        lends = llinks.keep[ltail] if work[COUNT + LEFT] > 0 else NEVER
        rends = rlinks.keep[rtail] if work[COUNT + RIGHT] > 0 else NEVER
        lcomes = left.ts[i] if i < len(left.ts) else NEVER
        rcomes = right.ts[j] if j < len(right.ts) else NEVER
        comes, goes = min(lcomes, rcomes), min(lends, rends)
        if goes <= comes and (goes > clock or goes == NEVER):
            done = True
            break
        # Nothing is counted out or stored before all its pairs are written.
        if goes <= comes and lends <= rends:
            chain = chain_of(heads, llinks.codes[ltail], RIGHT)
            found = meet(ltail, lends, -1, chain, rlinks.older, made, (lefts, rights, ts, weight))
            if found < 0:
                break
            depart(ltail, llinks, heads, LEFT, dead, work)
        elif goes <= comes:
            chain = chain_of(heads, rlinks.codes[rtail], LEFT)
            found = meet(rtail, rends, -1, chain, llinks.older, made, (rights, lefts, ts, weight))
            if found < 0:
                break
            depart(rtail, rlinks, heads, RIGHT, dead, work)
        elif lcomes == comes:
            chain = chain_of(heads, left.codes[i], RIGHT)
            me = left.slots[i]
            found = meet(me, comes, 1, chain, rlinks.older, made, (lefts, rights, ts, weight))
            if found < 0:
                break
            enter(left, i, llinks, heads, LEFT)
            work[COUNT + LEFT] += 1
            i += 1
        else:
            chain = chain_of(heads, right.codes[j], LEFT)
            me = right.slots[j]
            found = meet(me, comes, 1, chain, llinks.older, made, (rights, lefts, ts, weight))
            if found < 0:
                break
            enter(right, j, rlinks, heads, RIGHT)
            work[COUNT + RIGHT] += 1
            j += 1
        made = found
    work[NEXT_LEFT], work[NEXT_RIGHT], work[MADE] = i, j, made
    return done


@kernel
def all_pairs(slots, codes, older, heads, lefts, rights):
    """List the pairs of the left rows in `slots` with the right rows of their codes.

    Returns how many there are; lists those for which there is room.
    """
    made = 0
    for n in range(len(slots)):
        at, rows = chain_of(heads, codes[n], RIGHT)
        for _ in range(rows):
            if made < len(lefts):
                lefts[made] = slots[n]
                rights[made] = at - 1
            made += 1
            at = older[at - 1]
    return made
