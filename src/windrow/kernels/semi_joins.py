"""EXISTS and NOT EXISTS over signed edges, netted per instant.

    instant τ:  all changes are applied, then each touched key is judged as before and after
                ─► its status turned: all its left rows enter or leave
                ─► it did not: only its changed left rows do, if the key lets rows pass

`heads` of a key (see `chains.py`): its left rows, and in place of right rows their copies. Where
the newest right row would stand, `SEEN` of a touched key is its place in the list of touched keys
+ 2 during an instant, and 1 after it; `extra` of a touched row is its place in the list of touched
rows + 1.
"""

from __future__ import annotations

from typing import NamedTuple

from windrow.kernels.chains import I64, LEFT, RIGHT, ROWS, Links, link, unlink
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.zset_joins import COUNT, EXTRA, TOUCHED

SEEN, COPIES = RIGHT, ROWS + RIGHT
"""Columns of `heads` that have another meaning here."""

SEMI, ANTI, NOT_IN = 0, 1, 2
"""Kinds of rule."""

NEXT_LEFT, NEXT_RIGHT, MADE, COMPARED, OPEN, KEYS, ROWS_TOUCHED, NOW = range(8)
"""Places of `work`: how far the merge is; the instant that is open, its touched keys and rows."""
TOTAL, NULLS, TOTAL_BEFORE, NULLS_BEFORE = range(8, 12)
"""And for NOT IN: all copies on the right, and those of NULL; now, and before the instant."""
PREMATURE = 12
"""And the results that were retracted though their left tuples are still there: copies."""
WORK_WORDS = 13


class HalfState(NamedTuple):
    """What the loops read and write: the left rows, the keys, and what an instant touches.

    `touched_keys` [code, copies before the instant], `touched_rows` [slot, copies before, copies
    that end]; `null_code` is that of NULL, -1 if it has none.
    """

    rows: I64
    links: Links
    heads: I64
    touched_keys: I64
    touched_rows: I64
    null_code: int


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
        touched_keys[work[KEYS], 1] = heads[code, COPIES]
        heads[code, SEEN] = work[KEYS] + 2
        work[KEYS] += 1


@kernel
def apply_instant(left, right, state, work):
    """Apply all changes of the next instant, noting what it touches."""
    lts, lweight, lslots, lcodes = left
    rts, rweight, rcodes = right
    rows, heads, touched_rows = state.rows, state.heads, state.touched_rows
    i, j = work[NEXT_LEFT], work[NEXT_RIGHT]
    now = lts[i] if j == len(rts) or (i < len(lts) and lts[i] <= rts[j]) else rts[j]
    work[TOTAL_BEFORE], work[NULLS_BEFORE] = work[TOTAL], work[NULLS]
    while i < len(lts) and lts[i] == now:
        slot, code = lslots[i], lcodes[i]
        touch_key(code, heads, state.touched_keys, work)
        # The first change of a row in an instant notes what it was; a row that is new is linked.
        if rows[slot, EXTRA] == 0:
            touched_rows[work[ROWS_TOUCHED], 0] = slot
            touched_rows[work[ROWS_TOUCHED], 1] = rows[slot, COUNT]
            touched_rows[work[ROWS_TOUCHED], 2] = 0
            work[ROWS_TOUCHED] += 1
            rows[slot, EXTRA] = work[ROWS_TOUCHED]
            rows[slot, TOUCHED] = 1
            if state.links.codes[slot] < 0:
                link(state.links, slot, code, heads, LEFT)
        rows[slot, COUNT] += lweight[i]
        if lweight[i] < 0:
            touched_rows[rows[slot, EXTRA] - 1, 2] -= lweight[i]
        i += 1
    while j < len(rts) and rts[j] == now:
        touch_key(rcodes[j], heads, state.touched_keys, work)
        heads[rcodes[j], COPIES] += rweight[j]
        work[TOTAL] += rweight[j]
        if rcodes[j] == state.null_code:
            work[NULLS] += rweight[j]
        j += 1
    work[NEXT_LEFT], work[NEXT_RIGHT], work[NOW], work[OPEN] = i, j, now, 1


@kernel
def emit_row(slot, was, is_, state, made, out, work):
    """Add what a left row's part in the answer changed by; return the rows made, -1 if full."""
    slots, _, ts, weight = out
    rows, touched_rows = state.rows, state.touched_rows
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
    # Copies that left the answer, though they are still there: a right row came before their end.
    if was and not is_ and before > ended:
        work[PREMATURE] += before - ended
    return made + 1


@kernel
def emit_all(kind, state, out, work):
    """Emit the changes of an instant that turned the rule itself: any left row may be one."""
    made, heads = work[MADE], state.heads
    for slot in range(len(state.rows)):
        code = state.links.codes[slot]
        if code >= 0:
            weight = before = heads[code, COPIES]
            if heads[code, SEEN] >= 2:
                before = state.touched_keys[heads[code, SEEN] - 2, 1]
            null_code = state.null_code
            was = passes(kind, before, code, null_code, work[TOTAL_BEFORE], work[NULLS_BEFORE])
            is_ = passes(kind, weight, code, null_code, work[TOTAL], work[NULLS])
            made = emit_row(slot, was, is_, state, made, out, work)
            if made < 0:
                return False
    work[MADE] = made
    return True


@kernel
def emit_touched(kind, state, out, work):
    """Emit the changes of an instant; return False, with none written, if there is no room."""
    made, heads, links = work[MADE], state.heads, state.links
    total, nulls, null_code = work[TOTAL], work[NULLS], state.null_code
    # Keys that turned: all their left rows.
    for k in range(work[KEYS]):
        code = state.touched_keys[k, 0]
        was = passes(kind, state.touched_keys[k, 1], code, null_code, total, nulls)
        is_ = passes(kind, heads[code, COPIES], code, null_code, total, nulls)
        if was != is_:
            at = heads[code, LEFT]
            while at > 0:
                made = emit_row(at - 1, was, is_, state, made, out, work)
                if made < 0:
                    return False
                at = links.older[at - 1]
    # Rows that changed, of keys that let rows pass before and after.
    for k in range(work[ROWS_TOUCHED]):
        slot = state.touched_rows[k, 0]
        code = links.codes[slot]
        before = state.touched_keys[heads[code, SEEN] - 2, 1]
        was = passes(kind, before, code, null_code, total, nulls)
        is_ = passes(kind, heads[code, COPIES], code, null_code, total, nulls)
        if was and is_:
            made = emit_row(slot, was, is_, state, made, out, work)
            if made < 0:
                return False
    work[MADE] = made
    return True


@kernel
def semi_changes(kind, left, right, state, out, work):
    """Emit how left rows enter and leave the answer, instant by instant; stop if `out` is full.

    `left` is (ts, weights, slots, codes), `right` (ts, weights, codes), `out` (slots, unused, ts,
    weights). Goes on where `work` says, as `joins.join_arrivals` does; returns whether all is done.
    """
    heads = state.heads
    while work[OPEN] == 1 or work[NEXT_LEFT] < len(left[0]) or work[NEXT_RIGHT] < len(right[0]):
        if work[OPEN] == 0:
            apply_instant(left, right, state, work)
        premature = work[PREMATURE]
        # NOT IN turns as a whole when the right side becomes empty or not, or has NULLs or not.
        turned = kind == NOT_IN and (
            (work[TOTAL] <= 0) != (work[TOTAL_BEFORE] <= 0)
            or (work[NULLS] <= 0) != (work[NULLS_BEFORE] <= 0)
        )
        if turned:
            emitted = emit_all(kind, state, out, work)
        else:
            emitted = emit_touched(kind, state, out, work)
        if not emitted:
            work[PREMATURE] = premature
            return False
        # The instant is over: its marks go, and so do rows without copies.
        for k in range(work[ROWS_TOUCHED]):
            slot = state.touched_rows[k, 0]
            state.rows[slot, EXTRA] = 0
            if state.rows[slot, COUNT] == 0:
                unlink(state.links, slot, heads, LEFT)
        for k in range(work[KEYS]):
            heads[state.touched_keys[k, 0], SEEN] = 1
        work[KEYS], work[ROWS_TOUCHED], work[OPEN] = 0, 0, 0
    return True


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
