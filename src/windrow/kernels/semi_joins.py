"""EXISTS and NOT EXISTS over signed edges, netted per instant.

    instant τ:  all changes are applied, then each touched key is judged as before and after
                ─► its status turned: all its left rows enter or leave
                ─► it did not: only its changed left rows do, if the key lets rows pass

`heads` of a key: [newest left row + 1, copies on the right, left rows, seen]. During an instant
`seen` of a touched key is its place in the list of touched keys + 2, and `extra` of a touched
row its place in the list of touched rows + 1.
"""

from __future__ import annotations

from windrow.kernels.chains import CODE, LEFT, OLDER, RIGHT, SEEN, link, unlink
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.zset_joins import COUNT, EXTRA, TOUCHED

SEMI, ANTI, NOT_IN = 0, 1, 2
"""Kinds of rule."""

NEXT_LEFT, NEXT_RIGHT, MADE, COMPARED, OPEN, KEYS, ROWS, NOW = range(8)
"""Places of `work`: how far the merge is; the instant that is open, its touched keys and rows."""
TOTAL, NULLS, TOTAL_BEFORE, NULLS_BEFORE = range(8, 12)
"""And for NOT IN: all copies on the right, and those of NULL; now, and before the instant."""
PREMATURE = 12
"""And the results that were retracted though their left tuples are still there: copies."""
WORK_WORDS = 13


@inlined
def passes(kind, weight, code, null_code, total, nulls):
    """Return whether the left rows of a key with `weight` copies on the right are in the answer."""
    if kind == SEMI:
        return weight > 0
    if kind == ANTI:
        return weight <= 0
    return total <= 0 or (code != null_code and nulls <= 0 and weight <= 0)


@inlined
def touch_key(code, heads, touched_keys, work):
    """Note a key and its weight before this instant, once."""
    if heads[code, SEEN] < 2:
        touched_keys[work[KEYS], 0] = code
        touched_keys[work[KEYS], 1] = heads[code, RIGHT]
        heads[code, SEEN] = work[KEYS] + 2
        work[KEYS] += 1


@kernel
def apply_instant(left, right, rows, heads, touched_keys, touched_rows, null_code, work):
    """Apply all changes of the next instant, noting what it touches."""
    lts, lweight, lslots, lcodes = left
    rts, rweight, rcodes = right
    i, j = work[NEXT_LEFT], work[NEXT_RIGHT]
    now = lts[i] if j == len(rts) or (i < len(lts) and lts[i] <= rts[j]) else rts[j]
    work[TOTAL_BEFORE], work[NULLS_BEFORE] = work[TOTAL], work[NULLS]
    while i < len(lts) and lts[i] == now:
        slot, code = lslots[i], lcodes[i]
        touch_key(code, heads, touched_keys, work)
        if rows[slot, EXTRA] == 0:
            touched_rows[work[ROWS], 0] = slot
            touched_rows[work[ROWS], 1] = rows[slot, COUNT]
            touched_rows[work[ROWS], 2] = 0
            work[ROWS] += 1
            rows[slot, EXTRA] = work[ROWS]
            rows[slot, TOUCHED] = 1
            if rows[slot, CODE] == 0:
                link(rows, slot, code, heads, LEFT)
        rows[slot, COUNT] += lweight[i]
        if lweight[i] < 0:
            touched_rows[rows[slot, EXTRA] - 1, 2] -= lweight[i]
        i += 1
    while j < len(rts) and rts[j] == now:
        touch_key(rcodes[j], heads, touched_keys, work)
        heads[rcodes[j], RIGHT] += rweight[j]
        work[TOTAL] += rweight[j]
        if rcodes[j] == null_code:
            work[NULLS] += rweight[j]
        j += 1
    work[NEXT_LEFT], work[NEXT_RIGHT], work[NOW], work[OPEN] = i, j, now, 1


@kernel
def emit_row(slot, was, is_, rows, touched_rows, made, out, work):
    """Add what a left row's part in the answer changed by; return the rows made, -1 if full."""
    slots, ts, weight = out
    before, ended = rows[slot, COUNT], 0
    if rows[slot, EXTRA] > 0:
        before = touched_rows[rows[slot, EXTRA] - 1, 1]
        ended = touched_rows[rows[slot, EXTRA] - 1, 2]
    change = (rows[slot, COUNT] if is_ else 0) - (before if was else 0)
    work[COMPARED] += 1
    if change == 0:
        return made
    if made == len(ts):
        return -1
    slots[made], ts[made], weight[made] = slot, work[NOW], change
    if was and not is_ and before > ended:
        work[PREMATURE] += before - ended
    return made + 1


@kernel
def emit_all(kind, rows, heads, touched_keys, touched_rows, null_code, out, work):
    """Emit the changes of an instant that turned the rule itself: any left row may be one."""
    made = work[MADE]
    for slot in range(len(rows)):
        code = rows[slot, CODE] - 1
        if code >= 0:
            weight = before = heads[code, RIGHT]
            if heads[code, SEEN] >= 2:
                before = touched_keys[heads[code, SEEN] - 2, 1]
            was = passes(kind, before, code, null_code, work[TOTAL_BEFORE], work[NULLS_BEFORE])
            is_ = passes(kind, weight, code, null_code, work[TOTAL], work[NULLS])
            made = emit_row(slot, was, is_, rows, touched_rows, made, out, work)
            if made < 0:
                return False
    work[MADE] = made
    return True


@kernel
def emit_touched(kind, rows, heads, touched_keys, touched_rows, null_code, out, work):
    """Emit the changes of an instant; return False, with none written, if there is no room."""
    made = work[MADE]
    total, nulls = work[TOTAL], work[NULLS]
    for k in range(work[KEYS]):
        code = touched_keys[k, 0]
        was = passes(kind, touched_keys[k, 1], code, null_code, total, nulls)
        is_ = passes(kind, heads[code, RIGHT], code, null_code, total, nulls)
        if was != is_:
            at = heads[code, LEFT]
            while at > 0:
                made = emit_row(at - 1, was, is_, rows, touched_rows, made, out, work)
                if made < 0:
                    return False
                at = rows[at - 1, OLDER]
    for k in range(work[ROWS]):
        slot = touched_rows[k, 0]
        code = rows[slot, CODE] - 1
        before = touched_keys[heads[code, SEEN] - 2, 1]
        was = passes(kind, before, code, null_code, total, nulls)
        is_ = passes(kind, heads[code, RIGHT], code, null_code, total, nulls)
        if was and is_:
            made = emit_row(slot, was, is_, rows, touched_rows, made, out, work)
            if made < 0:
                return False
    work[MADE] = made
    return True


@kernel
def semi_changes(kind, left, right, rows, heads, touched_keys, touched_rows, null_code, out, work):
    """Emit how left rows enter and leave the answer, instant by instant; stop if `out` is full.

    `left` is (ts, weights, slots, codes), `right` (ts, weights, codes), `out` (slots, ts,
    weights). `touched_rows` of an instant: slot, copies before, copies that end. Goes on where
    `work` says, as `joins.join_arrivals` does: done when none is open.
    """
    while work[OPEN] == 1 or work[NEXT_LEFT] < len(left[0]) or work[NEXT_RIGHT] < len(right[0]):
        if work[OPEN] == 0:
            apply_instant(left, right, rows, heads, touched_keys, touched_rows, null_code, work)
        premature = work[PREMATURE]
        turned = kind == NOT_IN and (
            (work[TOTAL] <= 0) != (work[TOTAL_BEFORE] <= 0)
            or (work[NULLS] <= 0) != (work[NULLS_BEFORE] <= 0)
        )
        if turned:
            emitted = emit_all(kind, rows, heads, touched_keys, touched_rows, null_code, out, work)
        else:
            emitted = emit_touched(
                kind, rows, heads, touched_keys, touched_rows, null_code, out, work
            )
        if not emitted:
            work[PREMATURE] = premature
            return
        for k in range(work[ROWS]):
            slot = touched_rows[k, 0]
            rows[slot, EXTRA] = 0
            if rows[slot, COUNT] == 0:
                unlink(rows, slot, heads, LEFT)
        for k in range(work[KEYS]):
            heads[touched_keys[k, 0], SEEN] = 1
        work[KEYS], work[ROWS], work[OPEN] = 0, 0, 0


@kernel
def count_partners(kind, left, pairs, copies, partners, marks, touched, out):
    """Emit how left rows enter and leave the answer, from the changes of their pairs.

    `left` is (ts, weights, slots), `pairs` (ts, weights, left slots), both in time order;
    `copies` and `partners` are kept by slot, `marks` is 0 everywhere between instants. `out`
    (slots, ts, weights) and `touched` have room for a row a change. Returns the rows made.
    """
    lts, lweight, lslots = left
    pts, pweight, pslots = pairs
    slots, ts, weight = out
    i, j, made = 0, 0, 0
    while i < len(lts) or j < len(pts):
        now = lts[i] if j == len(pts) or (i < len(lts) and lts[i] <= pts[j]) else pts[j]
        count = 0
        while (i < len(lts) and lts[i] == now) or (j < len(pts) and pts[j] == now):
            of_left = i < len(lts) and lts[i] == now
            slot = lslots[i] if of_left else pslots[j]
            if marks[slot] == 0:
                marks[slot] = 1
                touched[count, 0] = slot
                was = (partners[slot] > 0) == (kind == SEMI)
                touched[count, 1] = copies[slot] if was else 0
                count += 1
            if of_left:
                copies[slot] += lweight[i]
                i += 1
            else:
                partners[slot] += pweight[j]
                j += 1
        for k in range(count):
            slot = touched[k, 0]
            marks[slot] = 0
            is_ = (partners[slot] > 0) == (kind == SEMI)
            change = (copies[slot] if is_ else 0) - touched[k, 1]
            if change != 0:
                slots[made], ts[made], weight[made] = slot, now, change
                made += 1
    return made
