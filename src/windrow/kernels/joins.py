"""The symmetric hash join of tuples that carry `exp`.

    left  ──●────────●───●──►   ┐ merged by ts: each arrival walks the other side's chain,
    right ─────●──●──────●──►   ┘ then becomes the newest row of its own

Rows and chains as in `chains.py`. A row is of use until `keep` <= exp: after it no arrival can
match it.
"""

from __future__ import annotations

from typing import NamedTuple

from windrow.kernels.chains import I64, LEFT, RIGHT, ROWS, link, unlink, within
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.prefetch import place

NEXT_LEFT, NEXT_RIGHT, MADE, COMPARED, SCAN_AT, SCAN_EVERY, GONE_LEFT, GONE_RIGHT = range(8)
"""Places of `work`: how far the merge is, what was made and looked at, scans and their catch."""
WORK_WORDS = 8


class NewRows(NamedTuple):
    """New rows of a side: their slots are given, everything else of them is stored by loops."""

    ts: I64
    exp: I64
    keep: I64
    slots: I64
    codes: I64
    times: I64  # what bands compare, shape (rows, bands)


@inlined
def probe(arrivals, i, chain, ordered, links, bounds, sign, made, out):
    """Add to the results the rows of a chain (newest + 1, rows) that match arrival i.

    Returns the results made, or -1 if there is no room, and the rows looked at. `out` is (own
    slots, other slots, ts, exp). Where rows expire in order, the first useless row ends the walk.
    """
    at, left = chain
    mine, theirs, ts, exp = out
    now, until, looked = arrivals.ts[i], arrivals.exp[i], 0
    while at > 0 and left > 0:
        other = place(at - 1)
        keep = links.keep[other]
        looked += 1
        left -= 1
        if keep <= now:
            # In a ring all older rows are of no use either.
            if ordered == 1:
                break
        elif within(arrivals.times, i, links.times, other, bounds, sign):
            if made == len(ts):
                made = -1
                break
            mine[made] = arrivals.slots[i]
            theirs[made] = at - 1
            ts[made] = now
            exp[made] = min(until, links.exp[other])
            made += 1
        at = links.older[other]
    return made, looked


@inlined
def enter(arrivals, i, links, heads, side):
    """Write an arrival into its slot and make it the newest of its key."""
    slot = arrivals.slots[i]
    links.exp[slot] = arrivals.exp[i]
    links.keep[slot] = arrivals.keep[i]
    link(links, slot, arrivals.codes[i], heads, side)


@kernel
def unlink_rows(slots, links, heads, side, dead):
    """Unlink rows of a pool; list in `dead` each code that no row is left of; return how many."""
    count = 0
    for k in range(len(slots)):
        code = unlink(links, slots[k], heads, side)
        if heads[code, ROWS] + heads[code, ROWS + 1] == 0:
            dead[count] = code
            count += 1
    return count


@kernel
def scan_away(links, top, now, heads, side, gone, work):
    """Look at every row of a plain list and unlink those past their time, naming their slots."""
    count = work[GONE_LEFT + side]
    for slot in range(top):
        if links.codes[slot] >= 0 and links.keep[slot] <= now:
            unlink(links, slot, heads, side)
            gone[count] = slot
            count += 1
    work[GONE_LEFT + side] = count
    work[COMPARED] += top


@kernel
def join_arrivals(left, right, llinks, rlinks, shapes, heads, bounds, gone, out, work):
    """Join both inputs' new rows with all that is alive, in time order; stop if `out` is full.

    `shapes` has of each side whether rows expire in the order they came, and the slots that a
    scan looks at; `bounds` (low, high); `out` (left slots, right slots, ts, exp).

    Goes on where `work` says, and leaves there how far it came; returns whether both inputs are
    done: else to be called again with more room. Where `work` asks for it, plain lists are
    scanned for rows that have expired, which are named in `gone`.
    """
    lefts, rights, ts, exp = out
    (lordered, ltop), (rordered, rtop) = shapes
    i, j, made = work[NEXT_LEFT], work[NEXT_RIGHT], work[MADE]
    while i < len(left.ts) or j < len(right.ts):
        # Of one instant the left row comes first: so each pair is found once, by the later one.
        from_left = j == len(right.ts) or (i < len(left.ts) and left.ts[i] <= right.ts[j])
        now = left.ts[i] if from_left else right.ts[j]
        if now >= work[SCAN_AT]:
            work[SCAN_AT] = now + work[SCAN_EVERY]
            scan_away(llinks, ltop, now, heads, LEFT, gone[0], work)
            scan_away(rlinks, rtop, now, heads, RIGHT, gone[1], work)
        # An arrival is stored only after all its results are: who stops finds it again.
        if from_left:
            code = left.codes[i]
            chain = (heads[code, RIGHT], heads[code, ROWS + RIGHT])
            found, looked = probe(
                left, i, chain, rordered, rlinks, bounds, 1, made, (lefts, rights, ts, exp)
            )
            if found < 0:
                break
            enter(left, i, llinks, heads, LEFT)
            i += 1
        else:
            code = right.codes[j]
            chain = (heads[code, LEFT], heads[code, ROWS + LEFT])
            found, looked = probe(
                right, j, chain, lordered, llinks, bounds, -1, made, (rights, lefts, ts, exp)
            )
            if found < 0:
                break
            enter(right, j, rlinks, heads, RIGHT)
            j += 1
        made = found
        work[COMPARED] += looked
    work[NEXT_LEFT], work[NEXT_RIGHT], work[MADE] = i, j, made
    return i == len(left.ts) and j == len(right.ts)


@kernel
def expire_ring(links, tail, count, clock, heads, side, dead):
    """Count out the rows of a ring that are of no use after `clock`, from its tail on.

        slots:  │ room │        alive        │  room  │
                     tail               tail + count

    Lists in `dead` the codes that no row is left of. Returns how many rows went, and the codes.
    """
    went, gone = 0, 0
    while went < count and links.keep[tail] <= clock:
        code = links.codes[tail]
        heads[code, ROWS + side] -= 1
        if heads[code, ROWS] + heads[code, ROWS + 1] == 0:
            dead[gone] = code
            gone += 1
        went += 1
        tail = tail + 1 if tail + 1 < len(links.keep) else 0
    return went, gone
