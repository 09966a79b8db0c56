"""The join of Z-sets: rows with counts, and changes of them.

    Δ(L ⋈ R):  a change of w copies of a row makes w · n copies of each pair with a row of n copies

applied change after change, in time order, so that each sees all before it: whatever the order
inside an instant, the changes of that instant add up to the change of the join.

Each side has `rows` [touched, count, extra] beside the links of `chains.py`. Rows of count 0 are in
no chain.
"""

from __future__ import annotations

from windrow.kernels.chains import LEFT, RIGHT, link, unlink, within
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.joins import COMPARED, MADE, NEXT_LEFT, NEXT_RIGHT

TOUCHED, COUNT, EXTRA, BAG_WORDS = range(4)
"""Columns of `rows`; joins put into `extra` what they need."""


@inlined
def meet(changed, counted, times, at, side, bounds, sign, made, out):
    """Add the pairs of a changed row with the chain at `at`; -1 if there is no room.

    `changed` is (number of the change, slot, ts, change), `side` (rows, links) of the other side,
    `out` (own slots, other slots, ts, weights). A pair weighs `change` times the count of the
    other row, or `change` alone if not `counted`.
    """
    i, slot, now, change = changed
    rows, links = side
    mine, theirs, ts, weight = out
    looked = 0
    while at > 0:
        other = at - 1
        looked += 1
        if within(times, i, links.times, other, bounds, sign):
            if made == len(ts):
                made = -1
                break
            mine[made] = slot
            theirs[made] = other
            ts[made] = now
            weight[made] = change * rows[other, COUNT] if counted else change
            made += 1
        at = links.older[other]
    return made, looked


@inlined
def recount(changes, i, rows, links, heads, side):
    """Apply change i, (ts, weights, slots, codes, times): count a row anew, link or unlink it."""
    _, weights, slots, codes, times = changes
    slot, change = slots[i], weights[i]
    before = rows[slot, COUNT]
    rows[slot, COUNT] = before + change
    rows[slot, TOUCHED] = 1
    if before == 0 and change != 0:
        for b in range(times.shape[1]):
            links.times[slot, b] = times[i, b]
        link(links, slot, codes[i], heads, side)
    elif before != 0 and before + change == 0:
        unlink(links, slot, heads, side)


@kernel
def join_changes(left, right, lside, rside, heads, bounds, as_set, out, work):
    """Make the pairs' changes of both inputs' changes, in time order; stop if `out` is full.

    `left` and `right` are (ts, weights, slots, codes, band times), `lside` and `rside` (rows,
    links); `out` (left slots, right slots, ts, weights). With `as_set`, a left row counts as one
    however many copies it has: then the weights of a left row's pairs add up to its number of
    partners. Goes on where `work` says, as `joins.join_arrivals` does; returns whether all is done.
    """
    lts, lweight, lslots, lcodes, lbands = left
    rts, rweight, rslots, rcodes, rbands = right
    lefts, rights, ts, weight = out
    i, j, made = work[NEXT_LEFT], work[NEXT_RIGHT], work[MADE]
    while i < len(lts) or j < len(rts):
        looked = 0
        found = made
        if j == len(rts) or (i < len(lts) and lts[i] <= rts[j]):
            slot, change = lslots[i], lweight[i]
            # As a set, only the first copy that comes and the last that goes change anything.
            if as_set:
                before = lside[0][slot, COUNT]
                change = (1 if before + change != 0 else 0) - (1 if before != 0 else 0)
            if change != 0:
                found, looked = meet(
                    (i, slot, lts[i], change), 1, lbands, heads[lcodes[i], RIGHT], rside,
                    bounds, 1, made, (lefts, rights, ts, weight),
                )  # fmt: skip
            if found < 0:
                break
            recount(left, i, lside[0], lside[1], heads, LEFT)
            i += 1
        else:
            found, looked = meet(
                (j, rslots[j], rts[j], rweight[j]), 1 - as_set, rbands, heads[rcodes[j], LEFT],
                lside, bounds, -1, made, (rights, lefts, ts, weight),
            )  # fmt: skip
            if found < 0:
                break
            recount(right, j, rside[0], rside[1], heads, RIGHT)
            j += 1
        made = found
        work[COMPARED] += looked
    work[NEXT_LEFT], work[NEXT_RIGHT], work[MADE] = i, j, made
    return i == len(lts) and j == len(rts)


@kernel
def sweep(places, table, touched, first, last, dead):
    """List once each of the `places` whose row in `table` is touched, and now of no use.

    That is, 0 in columns first to last. Takes the marks away. Returns their number.
    """
    count = 0
    for k in range(len(places)):
        at = places[k]
        if table[at, touched] != 0:
            table[at, touched] = 0
            useless = True
            for column in range(first, last + 1):
                useless = useless and table[at, column] == 0
            if useless:
                dead[count] = at
                count += 1
    return count
