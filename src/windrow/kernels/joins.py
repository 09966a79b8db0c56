"""The symmetric hash join of tuples that say when they will leave.

    left  ──●────────●───●──►   ┐ merged by ts: each arrival walks the other side's chain,
    right ─────●──●──────●──►   ┘ then becomes the newest row of its own

`rows` of a side: [older, newer, code, exp, keep, band times ...] (see `chains.py`). A row is of
use until `keep` <= exp: after it no arrival can match it. Results take exp from `exp`.
"""

from __future__ import annotations

from windrow.kernels.chains import ALIVE, CODE, LEFT, OLDER, RIGHT, link, unlink, within
from windrow.kernels.jit import kernel

EXP, KEEP, BANDS = 3, 4, 5
"""Further columns of `rows`."""

TAIL, MASK, ORDERED, TOP = 0, 1, 2, 3
"""What `shape` says of a side: first number and mask of its ring; whether rows leave in the order
they came; how many slots a scan must look at."""

NEXT_LEFT, NEXT_RIGHT, MADE, COMPARED, SCAN_AT, SCAN_EVERY, GONE_LEFT, GONE_RIGHT = range(8)
"""Places of `work`: how far the merge is, what was made and looked at, scans and their catch."""
WORK_WORDS = 8


@kernel
def probe(arrival, bands, i, first, shape, rows, low, high, sign, made, mine, theirs, ts, exp):
    """Add to the results the rows of the chain at `first` that match an arrival.

    `arrival` is (slot, ts, exp). Returns the results made, or -1 if there is no room, and the
    rows looked at. Where rows leave in order, the first useless row ends the walk.
    """
    slot, now, until = arrival
    tail, mask = shape[TAIL], shape[MASK]
    looked = 0
    at = first
    while at > tail:
        other = (at - 1) & mask
        looked += 1
        if rows[other, KEEP] <= now:
            if shape[ORDERED] == 1:
                break
        elif within(bands, i, rows, other, BANDS, low, high, sign):
            if made == len(ts):
                return -1, looked
            mine[made] = slot
            theirs[made] = other
            ts[made] = now
            exp[made] = min(until, rows[other, EXP])
            made += 1
        at = rows[other, OLDER]
    return made, looked


@kernel
def enter(arrived, i, rows, shape, heads, side):
    """Write an arrival into its slot and link it."""
    _, exp, refs, keep, codes, bands = arrived
    number = refs[i]
    slot = number & shape[MASK]
    rows[slot, EXP] = exp[i]
    rows[slot, KEEP] = keep[i]
    for b in range(bands.shape[1]):
        rows[slot, BANDS + b] = bands[i, b]
    link(rows, slot, number, codes[i], heads, side, shape[MASK])


@kernel
def scan_away(rows, top, now, heads, side, gone, work):
    """Look at every row of a plain list and unlink those past their time, naming their slots."""
    count = work[GONE_LEFT + side]
    for slot in range(top):
        if rows[slot, CODE] > 0 and rows[slot, KEEP] <= now:
            unlink(rows, slot, heads, side)
            gone[count] = slot
            count += 1
    work[GONE_LEFT + side] = count
    work[COMPARED] += top


@kernel
def join_arrivals(left, right, lrows, rrows, shapes, heads, bounds, gone, out, work):
    """Join both inputs' new rows with all that is alive, in time order; stop if `out` is full.

    `left` and `right` are (ts, exp, references, keep, codes, band times); `bounds` (low, high);
    `out` (left slots, right slots, ts, exp). Goes on where `work` says, and leaves there how
    far it came: to be called again with more room until both inputs are done. Where `work` asks
    for it, plain lists are scanned for rows that have left, which are named in `gone`.
    """
    lts, lexp, lrefs, _, lcodes, lbands = left
    rts, rexp, rrefs, _, rcodes, rbands = right
    low, high = bounds
    lefts, rights, ts, exp = out
    lshape, rshape = shapes
    i, j, made = work[NEXT_LEFT], work[NEXT_RIGHT], work[MADE]
    while i < len(lts) or j < len(rts):
        from_left = j == len(rts) or (i < len(lts) and lts[i] <= rts[j])
        now = lts[i] if from_left else rts[j]
        if now >= work[SCAN_AT]:
            work[SCAN_AT] = now + work[SCAN_EVERY]
            scan_away(lrows, lshape[TOP], now, heads, LEFT, gone[0], work)
            scan_away(rrows, rshape[TOP], now, heads, RIGHT, gone[1], work)
        if from_left:
            arrival = (lrefs[i] & lshape[MASK], now, lexp[i])
            found, looked = probe(
                arrival, lbands, i, heads[lcodes[i], RIGHT], rshape, rrows, low, high, 1,
                made, lefts, rights, ts, exp,
            )  # fmt: skip
            if found < 0:
                break
            enter(left, i, lrows, lshape, heads, LEFT)
            i += 1
        else:
            arrival = (rrefs[j] & rshape[MASK], now, rexp[j])
            found, looked = probe(
                arrival, rbands, j, heads[rcodes[j], LEFT], lshape, lrows, low, high, -1,
                made, rights, lefts, ts, exp,
            )  # fmt: skip
            if found < 0:
                break
            enter(right, j, rrows, rshape, heads, RIGHT)
            j += 1
        made = found
        work[COMPARED] += looked
    work[NEXT_LEFT], work[NEXT_RIGHT], work[MADE] = i, j, made


@kernel
def expire_ring(rows, tail, head, mask, clock, heads, dead, count):
    """Move the tail past the rows that are of no use after `clock`.

        rows:  │ gone │        alive        │  room  │
               0     tail                 head

    Lists in `dead` the codes that no row is left of. Returns the new tail and their number.
    """
    while tail < head and rows[tail & mask, KEEP] <= clock:
        code = rows[tail & mask, CODE] - 1
        heads[code, ALIVE] -= 1
        if heads[code, ALIVE] == 0:
            heads[code, LEFT] = 0
            heads[code, RIGHT] = 0
            dead[count] = code
            count += 1
        tail += 1
    return tail, count
