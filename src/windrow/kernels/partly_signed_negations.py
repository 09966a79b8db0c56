"""NOT EXISTS over left rows whose end is known: only early departures are emitted.

    instant τ:  the right side's changes are applied, then each touched key is judged
                ─► it became blocked:  -1 for each of its left rows that is alive, with its end
                ─► it became free:     +1 for each of them, with the same end
                then left rows arrive: +1 if their key is free

A left row is alive until its end, and nothing is emitted when that comes. `heads` of a key: [newest
left row + 1, copies on the right, uses, seen]; its uses are its left rows, and one more while
there are copies on the right, so that who forgets left rows keeps it. Chains as in `joins.py`.
"""

from __future__ import annotations

from windrow.kernels.chains import ALIVE, LEFT, RIGHT, SEEN
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.joins import KEEP, NEWER, OLDER, enter
from windrow.kernels.semi_joins import (
    COMPARED,
    KEYS,
    MADE,
    NEXT_LEFT,
    NEXT_RIGHT,
    NOW,
    OPEN,
    touch_key,
)


@kernel
def apply_right(right, now, heads, touched, work):
    """Apply all changes of the right side at an instant, noting the keys that it touches."""
    rts, rweight, rcodes = right
    j = work[NEXT_RIGHT]
    while j < len(rts) and rts[j] == now:
        touch_key(rcodes[j], heads, touched, work)
        before = heads[rcodes[j], RIGHT]
        after = before + rweight[j]
        heads[rcodes[j], RIGHT] = after
        heads[rcodes[j], ALIVE] += (1 if after != 0 else 0) - (1 if before != 0 else 0)
        j += 1
    work[NEXT_RIGHT], work[NOW], work[OPEN] = j, now, 1


@inlined
def pass_by(slot, code, walk, rows, heads):
    """Let a chain of a pool lead past a row that has ended, which is left linked to itself.

    So a walk meets it once, and whoever forgets it later unlinks it from nothing but itself.
    """
    older, newer = walk[slot, OLDER], rows[slot, NEWER]
    if older > 0:
        rows[older - 1, NEWER] = newer
    if newer > 0:
        walk[newer - 1, OLDER] = older
    else:
        heads[code, LEFT] = older
    walk[slot, OLDER] = slot + 1
    rows[slot, NEWER] = slot + 1


@kernel
def emit_turned(walk, rows, shape, heads, touched, out, work):
    """Emit the left rows of keys that turned; return the rows made, -1 if there is no room."""
    tail, mask, ordered, _ = shape
    slots, ts, exp, weight = out
    now, made = work[NOW], work[MADE]
    for k in range(work[KEYS]):
        code = touched[k, 0]
        was, is_ = touched[k, 1] <= 0, heads[code, RIGHT] <= 0
        if was != is_:
            at = heads[code, LEFT]
            while at > tail:
                slot = (at - 1) & mask
                at = walk[slot, OLDER]
                work[COMPARED] += 1
                if walk[slot, KEEP] > now:
                    if made == len(ts):
                        return -1
                    slots[made], ts[made], exp[made] = slot, now, walk[slot, KEEP]
                    weight[made] = 1 if is_ else -1
                    made += 1
                elif ordered == 1:
                    break
                else:
                    pass_by(slot, code, walk, rows, heads)
    return made


@kernel
def partly_signed_changes(left, right, walk, rows, shape, heads, touched, no_bands, out, work):
    """Emit left rows that enter the answer and those that leave it early; stop if `out` is full.

    `left` is (ts, exp, references, codes), `right` (ts, weights, codes), `out` (slots, ts, exp,
    weights); `shape` as in `joins.join_arrivals`. Goes on where `work` says: done when both
    inputs are, and no instant is open.
    """
    lts, lexp, lrefs, lcodes = left
    rts = right[0]
    slots, ts, exp, weight = out
    mask = shape[1]
    while work[OPEN] == 1 or work[NEXT_LEFT] < len(lts) or work[NEXT_RIGHT] < len(rts):
        i, j = work[NEXT_LEFT], work[NEXT_RIGHT]
        if work[OPEN] == 0 and j < len(rts) and (i == len(lts) or rts[j] <= lts[i]):
            apply_right(right, rts[j], heads, touched, work)
        if work[OPEN] == 1:
            made = emit_turned(walk, rows, shape, heads, touched, out, work)
            if made < 0:
                return
            for k in range(work[KEYS]):
                heads[touched[k, 0], SEEN] = 1
            work[MADE], work[KEYS], work[OPEN] = made, 0, 0
            continue
        if work[MADE] == len(ts):
            return
        code = lcodes[i]
        enter(lrefs[i], lexp[i], lexp[i], no_bands, i, code, walk, rows, mask, heads, LEFT)
        if heads[code, RIGHT] <= 0:
            made = work[MADE]
            slots[made], ts[made], exp[made], weight[made] = lrefs[i] & mask, lts[i], lexp[i], 1
            work[MADE] = made + 1
        work[NEXT_LEFT] = i + 1
