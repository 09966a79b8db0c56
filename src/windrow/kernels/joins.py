"""The symmetric hash join of tuples that carry `exp`.

    left  ──●────────●───●──►   ┐ merged by ts: each arrival walks the other side's chain,
    right ─────●──●──────●──►   ┘ then becomes the newest row of its own

    heads:  code -> [newest left + 1, newest right + 1, rows alive on both sides, unused]
    walk:   slot -> [older + 1, keep]                       all that a walk reads of most rows
    rows:   slot -> [newer + 1, code + 1, exp, band times ...]              0 is none

A chain runs from the newest row of a key to the oldest. In a ring the references are absolute
row numbers, whose slot is ``number & mask``, and a row before `tail` is gone; in a pool they are
the slots themselves (mask -1, tail 0), and a row that leaves is unlinked. A row is of use until
`keep` <= exp: after it no arrival can match it.
"""

from __future__ import annotations

from windrow.kernels.chains import ALIVE, LEFT, RIGHT, within
from windrow.kernels.jit import inlined, kernel

OLDER, KEEP = 0, 1
"""Columns of `walk`: 16 bytes a row, so that a window's chains stay in the cache."""

NEWER, CODE, EXP, BANDS = 0, 1, 2, 3
"""Columns of `rows`; a code of 0 is a free slot."""

NEXT_LEFT, NEXT_RIGHT, MADE, COMPARED, SCAN_AT, SCAN_EVERY, GONE_LEFT, GONE_RIGHT = range(8)
"""Places of `work`: how far the merge is, what was made and looked at, scans and their catch."""
FIRST_LEFT, FIRST_RIGHT = 8, 9
"""Places of `work`: the first row of each ring that is still of use."""
WORK_WORDS = 10


@inlined
def probe(
    me,
    now,
    until,
    bands,
    i,
    at,
    tail,
    mask,
    ordered,
    walk,
    rows,
    low,
    high,
    sign,
    made,
    mine,
    theirs,
    ts,
    exp,
):
    """Add to the results the rows of the chain at `at` that match an arrival in slot `me`.

    Returns the results made, or -1 if there is no room, and the rows looked at. Where rows expire
    in order, the first useless row ends the walk. Without bands, `keep` is exp.
    """
    looked = 0
    while at > tail:
        other = (at - 1) & mask
        keep = walk[other, KEEP]
        looked += 1
        if keep <= now:
            if ordered == 1:
                break
        elif within(bands, i, rows, other, BANDS, low, high, sign):
            if made == len(ts):
                made = -1
                break
            mine[made] = me
            theirs[made] = other
            ts[made] = now
            exp[made] = min(until, keep if len(low) == 0 else rows[other, EXP])
            made += 1
        at = walk[other, OLDER]
    return made, looked


@inlined
def steps_back(number, older, first):
    """Return how far before row `number` the row `older` - 1 lies; 0 if it is of no use."""
    return number + 1 - older if older > first else 0


@inlined
def enter(number, exp, keep, bands, i, code, walk, rows, mask, heads, side):
    """Write an arrival into its slot and make it the newest of its key."""
    slot = number & mask
    older = heads[code, side]
    walk[slot, OLDER] = older
    walk[slot, KEEP] = keep
    rows[slot, NEWER] = 0
    rows[slot, CODE] = code + 1
    rows[slot, EXP] = exp
    for b in range(bands.shape[1]):
        rows[slot, BANDS + b] = bands[i, b]
    if mask == -1 and older > 0:
        rows[older - 1, NEWER] = number + 1
    heads[code, side] = number + 1
    heads[code, ALIVE] += 1


@inlined
def leave(slot, walk, rows, heads, side):
    """Take a row of a pool out of its chain; return its code."""
    code = rows[slot, CODE] - 1
    older = walk[slot, OLDER]
    newer = rows[slot, NEWER]
    if older > 0:
        rows[older - 1, NEWER] = newer
    if newer > 0:
        walk[newer - 1, OLDER] = older
    else:
        heads[code, side] = older
    rows[slot, CODE] = 0
    heads[code, ALIVE] -= 1
    return code


@kernel
def unlink_rows(slots, walk, rows, heads, side, dead):
    """Unlink rows of a pool; list in `dead` each code that no row is left of; return how many."""
    count = 0
    for k in range(len(slots)):
        code = leave(slots[k], walk, rows, heads, side)
        if heads[code, ALIVE] == 0:
            dead[count] = code
            count += 1
    return count


@kernel
def scan_away(walk, rows, top, now, heads, side, gone, work):
    """Look at every row of a plain list and unlink those past their time, naming their slots."""
    count = work[GONE_LEFT + side]
    for slot in range(top):
        if rows[slot, CODE] > 0 and walk[slot, KEEP] <= now:
            leave(slot, walk, rows, heads, side)
            gone[count] = slot
            count += 1
    work[GONE_LEFT + side] = count
    work[COMPARED] += top


@kernel
def join_arrivals(left, right, lstate, rstate, shapes, heads, bounds, gone, out, work):
    """Join both inputs' new rows with all that is alive, in time order; stop if `out` is full.

    `left` and `right` are (ts, exp, references, keep, codes, band times), their states (walk,
    rows); `shapes` of each (tail, mask, whether rows expire in the order they came, slots that a
    scan looks at); `bounds` (low, high); `out` (left slots, right slots, ts, exp).

    Goes on where `work` says, and leaves there how far it came: to be called again with more
    room until both inputs are done. Where `work` asks for it, plain lists are scanned for rows
    that have expired, which are named in `gone`.
    """
    lts, lexp, lrefs, lkeep, lcodes, lbands = left
    rts, rexp, rrefs, rkeep, rcodes, rbands = right
    lwalk, lrows = lstate
    rwalk, rrows = rstate
    low, high = bounds
    lefts, rights, ts, exp = out
    ltail, lmask, lordered, ltop = shapes[0]
    rtail, rmask, rordered, rtop = shapes[1]
    i, j, made = work[NEXT_LEFT], work[NEXT_RIGHT], work[MADE]
    while i < len(lts) or j < len(rts):
        from_left = j == len(rts) or (i < len(lts) and lts[i] <= rts[j])
        now = lts[i] if from_left else rts[j]
        if now >= work[SCAN_AT]:
            work[SCAN_AT] = now + work[SCAN_EVERY]
            scan_away(lwalk, lrows, ltop, now, heads, LEFT, gone[0], work)
            scan_away(rwalk, rrows, rtop, now, heads, RIGHT, gone[1], work)
        if from_left:
            found, looked = probe(
                lrefs[i] & lmask, now, lexp[i], lbands, i, heads[lcodes[i], RIGHT],
                rtail, rmask, rordered, rwalk, rrows, low, high, 1, made,
                lefts, rights, ts, exp,
            )  # fmt: skip
            if found < 0:
                break
            enter(
                lrefs[i], lexp[i], lkeep[i], lbands, i, lcodes[i], lwalk, lrows, lmask, heads, LEFT
            )
            i += 1
        else:
            found, looked = probe(
                rrefs[j] & rmask, now, rexp[j], rbands, j, heads[rcodes[j], LEFT],
                ltail, lmask, lordered, lwalk, lrows, low, high, -1, made,
                rights, lefts, ts, exp,
            )  # fmt: skip
            if found < 0:
                break
            enter(
                rrefs[j], rexp[j], rkeep[j], rbands, j, rcodes[j], rwalk, rrows, rmask, heads, RIGHT
            )
            j += 1
        made = found
        work[COMPARED] += looked
    work[NEXT_LEFT], work[NEXT_RIGHT], work[MADE] = i, j, made


@kernel
def expire_ring(walk, rows, tail, head, mask, clock, heads, dead):
    """Move the tail past the rows that are of no use after `clock`.

        rows:  │ gone │        alive        │  room  │
               0     tail                 head

    Lists in `dead` the codes that no row is left of. Returns the new tail and their number.
    """
    count = 0
    while tail < head and walk[tail & mask, KEEP] <= clock:
        code = rows[tail & mask, CODE] - 1
        heads[code, ALIVE] -= 1
        if heads[code, ALIVE] == 0:
            heads[code, LEFT] = 0
            heads[code, RIGHT] = 0
            dead[count] = code
            count += 1
        tail += 1
    return tail, count
