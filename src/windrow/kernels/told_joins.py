"""The join of two windows that tells results and their ends, and keeps none of them.

    left   ──●───────●───○──●──►   ● comes   ○ goes
    right  ────●──○────●───────►   merged by time, what goes first: each event walks the chain of
                                   its key on the other side

A result ends with the first of its rows. At that moment the other row is still in its ring, and in
the chain of the same key, and so are all others that this row is joined with: the walk that found
the results when they were born finds them again, at the same price, so that there is nothing to
remember. Needs rows that leave in the order in which they came, on both sides.

The layout is that of `joins.py`.
"""

from __future__ import annotations

from windrow.kernels.chains import LEFT, RIGHT
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.joins import (
    CODE,
    COMPARED,
    FIRST_LEFT,
    FIRST_RIGHT,
    KEEP,
    MADE,
    NEXT_LEFT,
    NEXT_RIGHT,
    enter,
    steps_back,
)

NEVER = 2**63 - 1


@inlined
def meet(me, now, sign, at, first, mask, back, made, mine, theirs, ts, weight):
    """Add the pairs of row `me` with the chain at `at`, down to row `first`; -1 without room."""
    while at > first:
        if made == len(ts):
            return -1
        other = (at - 1) & mask
        mine[made] = me
        theirs[made] = other
        ts[made] = now
        weight[made] = sign
        made += 1
        at = at - back[other] if back[other] > 0 else 0
    return made


@inlined
def next_end(first, stop, walk, mask):
    """Return when the oldest of the rows [first, stop) of a ring leaves; NEVER if there is none."""
    return walk[first & mask, KEEP] if first < stop else NEVER


@kernel
def join_told(left, right, lstate, rstate, masks, heads, clock, out, work):
    """Join both inputs' new rows, and tell the ends up to `clock`; stop if `out` is full.

        ring:  │ gone │ gone in this step │     alive     │ room │
               0     tail               first           entered

    `left` and `right` are (ts, exp, references, codes, band times); references have one more,
    where the next row would go. `out` gets (left slots, right slots, ts, weight).
    Of two rows that leave at one instant the left one goes first, so their result is told once.
    Goes on where `work` says, as `joins.join_arrivals` does; tells whether all is done.
    """
    lts, lexp, lrefs, lcodes, lbands = left
    rts, rexp, rrefs, rcodes, rbands = right
    lwalk, lrows, lback = lstate
    rwalk, rrows, rback = rstate
    lmask, rmask = masks
    lefts, rights, ts, weight = out
    i, j, made = work[NEXT_LEFT], work[NEXT_RIGHT], work[MADE]
    lfirst, rfirst = work[FIRST_LEFT], work[FIRST_RIGHT]
    before, done = made, False
    while True:
        lends = next_end(lfirst, lrefs[i], lwalk, lmask)
        rends = next_end(rfirst, rrefs[j], rwalk, rmask)
        comes = min(lts[i] if i < len(lts) else NEVER, rts[j] if j < len(rts) else NEVER)
        goes = min(lends, rends)
        if goes <= comes and (goes > clock or goes == NEVER):
            done = True
            break
        if goes <= comes and lends <= rends:
            slot = lfirst & lmask
            found = meet(
                slot, lends, -1, heads[lrows[slot, CODE] - 1, RIGHT], rfirst, rmask, rback,
                made, lefts, rights, ts, weight,
            )  # fmt: skip
            if found < 0:
                break
            lfirst += 1
        elif goes <= comes:
            slot = rfirst & rmask
            found = meet(
                slot, rends, -1, heads[rrows[slot, CODE] - 1, LEFT], lfirst, lmask, lback,
                made, rights, lefts, ts, weight,
            )  # fmt: skip
            if found < 0:
                break
            rfirst += 1
        elif i < len(lts) and lts[i] == comes:
            code = lcodes[i]
            slot = lrefs[i] & lmask
            found = meet(
                slot, comes, 1, heads[code, RIGHT], rfirst, rmask, rback,
                made, lefts, rights, ts, weight,
            )  # fmt: skip
            if found < 0:
                break
            lback[slot] = steps_back(lrefs[i], heads[code, LEFT], lfirst)
            enter(lrefs[i], lexp[i], lexp[i], lbands, i, code, lwalk, lrows, lmask, heads, LEFT)
            i += 1
        else:
            code = rcodes[j]
            slot = rrefs[j] & rmask
            found = meet(
                slot, comes, 1, heads[code, LEFT], lfirst, lmask, lback,
                made, rights, lefts, ts, weight,
            )  # fmt: skip
            if found < 0:
                break
            rback[slot] = steps_back(rrefs[j], heads[code, RIGHT], rfirst)
            enter(rrefs[j], rexp[j], rexp[j], rbands, j, code, rwalk, rrows, rmask, heads, RIGHT)
            j += 1
        made = found
    work[COMPARED] += made - before
    work[NEXT_LEFT], work[NEXT_RIGHT], work[MADE] = i, j, made
    work[FIRST_LEFT], work[FIRST_RIGHT] = lfirst, rfirst
    return done


@kernel
def all_pairs(numbers, codes, lmask, tail, mask, back, heads, lefts, rights):
    """List the pairs of the left rows `numbers` with the right rows of their codes.

    Returns how many there are; lists those for which there is room.
    """
    made = 0
    for n in range(len(numbers)):
        at = heads[codes[n], RIGHT]
        while at > tail:
            other = (at - 1) & mask
            if made < len(lefts):
                lefts[made] = numbers[n] & lmask
                rights[made] = other
            made += 1
            at = at - back[other] if back[other] > 0 else 0
    return made
