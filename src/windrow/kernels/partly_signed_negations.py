"""NOT EXISTS over left rows whose end is known: only early departures are emitted.

    instant τ:  the right side's changes are applied, then each touched key is judged
                ─► it became blocked:  -1 for each of its left rows that is alive, with its end
                ─► it became free:     +1 for each of them, with the same end
                then left rows arrive: +1 if their key is free

A left row is alive until its end, and nothing is emitted when that comes. `copies` has the rows on
the right of each key, `heads` (see `chains.py`) its left rows, and 1 for its right side while there
are copies, so that who forgets left rows keeps it; where the newest right row would stand, `SEEN`
marks a key that an instant touches.
"""

from __future__ import annotations

from windrow.kernels.chains import LEFT, RIGHT, ROWS
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.joins import enter
from windrow.kernels.semi_joins import COMPARED, KEYS, MADE, NEXT_LEFT, NEXT_RIGHT, NOW, OPEN, SEEN


@kernel
def apply_right(right, now, heads, copies, touched, work):
    """Apply all changes of the right side at an instant, noting the keys that it touches."""
    rts, rweight, rcodes = right
    j = work[NEXT_RIGHT]
    while j < len(rts) and rts[j] == now:
        code = rcodes[j]
        # A key is noted once an instant, with its copies before it.
        if heads[code, SEEN] == 0:
            touched[work[KEYS], 0], touched[work[KEYS], 1] = code, copies[code]
            heads[code, SEEN] = 1
            work[KEYS] += 1
        copies[code] += rweight[j]
        heads[code, ROWS + RIGHT] = 1 if copies[code] != 0 else 0
        j += 1
    work[NEXT_RIGHT], work[NOW], work[OPEN] = j, now, 1


@inlined
def pass_by(slot, code, links, heads):
    """Let a chain of a pool lead past a row that has ended, which is left linked to itself.

    So a walk meets it once, and whoever forgets it later unlinks it from nothing but itself.
    """
    older, newer = links.older[slot], links.newer[slot]
    if older > 0:
        links.newer[older - 1] = newer
    if newer > 0:
        links.older[newer - 1] = older
    else:
        heads[code, LEFT] = older
    links.older[slot] = slot + 1
    links.newer[slot] = slot + 1


@kernel
def emit_turned(links, heads, copies, touched, out, work):
    """Emit the left rows of keys that turned; return the rows made, -1 if there is no room."""
    slots, exp, ts, weight = out
    now, made, ordered = work[NOW], work[MADE], len(links.newer) == 0
    for k in range(work[KEYS]):
        code = touched[k, 0]
        was, is_ = touched[k, 1] <= 0, copies[code] <= 0
        if was == is_:
            continue
        at, left = heads[code, LEFT], heads[code, ROWS + LEFT]
        while at > 0 and left > 0:
            slot = at - 1
            at = links.older[slot]
            left -= 1
            work[COMPARED] += 1
            if links.keep[slot] > now:
                if made == len(ts):
                    return -1
                slots[made], ts[made], exp[made] = slot, now, links.keep[slot]
                weight[made] = 1 if is_ else -1
                made += 1
            elif ordered:
                # In a ring all older rows have ended too.
                break
            else:
                pass_by(slot, code, links, heads)
    return made


@kernel
def partly_signed_changes(left, right, links, heads, copies, touched, out, work):
    """Emit left rows that enter the answer and those that leave it early; stop if `out` is full.

    `left` is `joins.NewRows`, `right` (ts, weights, codes), `out` (slots, exp, ts, weights).
    Goes on where `work` says; returns whether both inputs are done, and no instant is open.
    """
    rts = right[0]
    slots, exp, ts, weight = out
    while work[OPEN] == 1 or work[NEXT_LEFT] < len(left.ts) or work[NEXT_RIGHT] < len(rts):
        i, j = work[NEXT_LEFT], work[NEXT_RIGHT]
        # Right rows come before left ones of their instant: it is open until all is emitted.
        if work[OPEN] == 0 and j < len(rts) and (i == len(left.ts) or rts[j] <= left.ts[i]):
            apply_right(right, rts[j], heads, copies, touched, work)
        if work[OPEN] == 1:
            made = emit_turned(links, heads, copies, touched, out, work)
            if made < 0:
                return False
            for k in range(work[KEYS]):
                heads[touched[k, 0], SEEN] = 0
            work[MADE], work[KEYS], work[OPEN] = made, 0, 0
            continue
        if work[MADE] == len(ts):
            return False
        enter(left, i, links, heads, LEFT)
        if copies[left.codes[i]] <= 0:
            made = work[MADE]
            slots[made], exp[made] = left.slots[i], left.exp[i]
            ts[made], weight[made] = left.ts[i], 1
            work[MADE] = made + 1
        work[NEXT_LEFT] = i + 1
    return True
