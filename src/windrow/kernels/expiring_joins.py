"""The join of two windows that emits results and their expirations, and stores none of them.

    left   ──●───────●───○──●──►   ● comes   ○ goes
    right  ────●──○────●───────►   merged by time, what goes first: each event walks the chain of
                                   its key on the other side

A result ends with the first of its rows. At that moment the other row is still in its ring, and in
the chain of the same key, and so are all others that this row is joined with: the walk that found
the results when they were made finds them again, at the same price, so that there is nothing to
store. Needs rows that expire in order of arrival, on both sides.

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


@inlined
def leave(first, mask, rows, now, head, others, made, mine, theirs, ts, weight, heads):
    """Emit the expirations of the results of the oldest row of a side; -1 without room.

    `head` is the other side's column of `heads`, `others` its first row, mask and chains.
    """
    slot = first & mask
    at, (start, bits, back) = heads[rows[slot, CODE] - 1, head], others
    return meet(slot, now, -1, at, start, bits, back, made, mine, theirs, ts, weight)


@inlined
def come(
    k, arrivals, state, mask, first, now, side, head, others, made, mine, theirs, ts, weight, heads
):  # fmt: skip
    """Emit the results of a new row of a side, and store it; -1, and nothing, without room."""
    _, exp, refs, codes, bands = arrivals
    walk, rows, back = state
    code, slot = codes[k], refs[k] & mask
    at, (start, bits, chain) = heads[code, head], others
    made = meet(slot, now, 1, at, start, bits, chain, made, mine, theirs, ts, weight)
    if made >= 0:
        back[slot] = steps_back(refs[k], heads[code, side], first)
        enter(refs[k], exp[k], exp[k], bands, k, code, walk, rows, mask, heads, side)
    return made


@kernel
def join_and_expire(left, right, lstate, rstate, masks, heads, clock, out, work):
    """Join both inputs' new rows, and emit expirations up to `clock`; stop if `out` is full.

        ring:  │ gone │ gone in this step │     alive     │ room │
               0     tail               first           entered

    `left` and `right` are (ts, exp, references, codes, band times); references have one more,
    where the next row would go. `out` gets (left slots, right slots, ts, weight).
    Of two rows that expire at one instant the left one goes first, so their result is emitted once.
    Goes on where `work` says, as `joins.join_arrivals` does; returns whether all is done.
    """
    lts, rts, lrefs, rrefs = left[0], right[0], left[2], right[2]
    lmask, rmask = masks
    lefts, rights, ts, weight = out
    i, j, made = work[NEXT_LEFT], work[NEXT_RIGHT], work[MADE]
    lfirst, rfirst = work[FIRST_LEFT], work[FIRST_RIGHT]
    before, done = made, False
    while True:
        lends = next_end(lfirst, lrefs[i], lstate[0], lmask)
        rends = next_end(rfirst, rrefs[j], rstate[0], rmask)
        comes = min(lts[i] if i < len(lts) else NEVER, rts[j] if j < len(rts) else NEVER)
        goes = min(lends, rends)
        if goes <= comes and (goes > clock or goes == NEVER):
            done = True
            break
        lothers, rothers = (rfirst, rmask, rstate[2]), (lfirst, lmask, lstate[2])
        if goes <= comes and lends <= rends:
            found = leave(
                lfirst, lmask, lstate[1], lends, RIGHT, lothers, made, lefts, rights, ts, weight,
                heads,
            )  # fmt: skip
            lfirst += 1 if found >= 0 else 0
        elif goes <= comes:
            found = leave(
                rfirst, rmask, rstate[1], rends, LEFT, rothers, made, rights, lefts, ts, weight,
                heads,
            )  # fmt: skip
            rfirst += 1 if found >= 0 else 0
        elif i < len(lts) and lts[i] == comes:
            found = come(
                i, left, lstate, lmask, lfirst, comes, LEFT, RIGHT, lothers, made, lefts, rights,
                ts, weight, heads,
            )  # fmt: skip
            i += 1 if found >= 0 else 0
        else:
            found = come(
                j, right, rstate, rmask, rfirst, comes, RIGHT, LEFT, rothers, made, rights, lefts,
                ts, weight, heads,
            )  # fmt: skip
            j += 1 if found >= 0 else 0
        if found < 0:
            break
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
