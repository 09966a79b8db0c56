"""The join of Z-sets: rows with counts, and changes of them.

    Δ(L ⋈ R):  a change of w copies of a row makes w · n copies of each pair with a row of n copies

applied change after change, in time order, so that each sees all before it: whatever the order
inside an instant, the changes of that instant add up to the change of the join.

`rows` of a side: [older, newer, code, count, seen, extra, band times ...] (see `chains.py`). Rows
of count 0 are in no chain.
"""

from __future__ import annotations

from windrow.kernels.chains import LEFT, OLDER, RIGHT, SEEN, link, unlink, within
from windrow.kernels.jit import inlined, kernel

COUNT, TOUCHED, EXTRA, BANDS = 3, 4, 5, 6
"""Further columns of `rows`; joins put into `extra` what they need."""

NEXT_LEFT, NEXT_RIGHT, MADE, COMPARED = range(4)
"""Places of `work`: how far the merge is, what was made and looked at."""
WORK_WORDS = 4


@inlined
def meet(changed, counted, bands, i, at, rows, low, high, sign, made, mine, theirs, ts, weight):
    """Add the pairs of a changed row with the chain at `at`; -1 if there is no room.

    `changed` is (slot, ts, change). A pair weighs `change` times the count of the other row, or
    `change` alone if not `counted`.
    """
    slot, now, change = changed
    looked = 0
    while at > 0:
        other = at - 1
        looked += 1
        if within(bands, i, rows, other, BANDS, low, high, sign):
            if made == len(ts):
                made = -1
                break
            mine[made] = slot
            theirs[made] = other
            ts[made] = now
            weight[made] = change * rows[other, COUNT] if counted else change
            made += 1
        at = rows[other, OLDER]
    return made, looked


@inlined
def recount(rows, slot, change, code, bands, i, heads, side):
    """Change the count of a row, which links or unlinks it."""
    before = rows[slot, COUNT]
    rows[slot, COUNT] = before + change
    rows[slot, TOUCHED] = 1
    heads[code, SEEN] = 1
    if before == 0 and change != 0:
        for b in range(bands.shape[1]):
            rows[slot, BANDS + b] = bands[i, b]
        link(rows, slot, code, heads, side)
    elif before != 0 and before + change == 0:
        unlink(rows, slot, heads, side)


@kernel
def join_changes(left, right, lrows, rrows, heads, bounds, as_set, out, work):
    """Make the pairs' changes of both inputs' changes, in time order; stop if `out` is full.

    `left` and `right` are (ts, weights, slots, codes, band times); `out` (left slots, right
    slots, ts, weights). With `as_set`, a left row counts as one however many copies it has:
    then the weights of a left row's pairs add up to its number of partners.
    Goes on where `work` says, as `joins.join_arrivals` does.
    """
    lts, lweight, lslots, lcodes, lbands = left
    rts, rweight, rslots, rcodes, rbands = right
    low, high = bounds
    lefts, rights, ts, weight = out
    i, j, made = work[NEXT_LEFT], work[NEXT_RIGHT], work[MADE]
    while i < len(lts) or j < len(rts):
        looked = 0
        found = made
        if j == len(rts) or (i < len(lts) and lts[i] <= rts[j]):
            slot, code, change = lslots[i], lcodes[i], lweight[i]
            if as_set:
                before = lrows[slot, COUNT]
                change = (1 if before + change != 0 else 0) - (1 if before != 0 else 0)
            if change != 0:
                found, looked = meet(
                    (slot, lts[i], change), 1, lbands, i, heads[code, RIGHT], rrows,
                    low, high, 1, made, lefts, rights, ts, weight,
                )  # fmt: skip
            if found < 0:
                break
            recount(lrows, slot, lweight[i], code, lbands, i, heads, LEFT)
            i += 1
        else:
            slot, code = rslots[j], rcodes[j]
            found, looked = meet(
                (slot, rts[j], rweight[j]), 1 - as_set, rbands, j, heads[code, LEFT], lrows,
                low, high, -1, made, rights, lefts, ts, weight,
            )  # fmt: skip
            if found < 0:
                break
            recount(rrows, slot, rweight[j], code, rbands, j, heads, RIGHT)
            j += 1
        made = found
        work[COMPARED] += looked
    work[NEXT_LEFT], work[NEXT_RIGHT], work[MADE] = i, j, made


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
