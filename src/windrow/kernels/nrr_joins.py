"""Joins with a table that does not reach back: each row meets the version of its own time.

A row that is retracted retracts what it made, whatever the table is by then:

    left row ─► top ─► making ─► making ─► ...        one making a copy, newest first
                         │
                         └─► result ─► result ─► ...  (table row, copies)

Makings retracted during an instant wait beside the stack (`redo`) until the instant is over: if
the instant also brings the row, they return. So only the net of an instant counts, in any order.

`nodes` hold makings [below, first result, 0] and results [next, table slot, copies]; references
are + 1, 0 is none. `left` rows: [top, redo, debt, next row with redo, touched]. `extra` of a
table row counts the results that name it.
"""

from __future__ import annotations

from windrow.kernels.chains import RIGHT, ROWS
from windrow.kernels.jit import kernel
from windrow.kernels.zset_joins import COUNT, EXTRA, TOUCHED, meet, recount

NEXT_LEFT, NEXT_TABLE, MADE, COMPARED, UNITS, LACKS = range(6)
"""Places of `work`: how far the merge is, what was made and looked at, copies of the present row
that are done, and what there was no room for."""
WORK_WORDS = 6
NO_OUTPUT, NO_NODES = -1, -2

TOP, REDO, DEBT, NEXT_REDO, MARK, LEFT_WORDS = range(6)
"""Columns of left rows. A debt is a copy retracted before it came, inside an instant."""

FREE_HEAD, FREE_NODES, USED, REDO_HEAD, INSTANT = range(5)
"""Places of `meta`: the free nodes, how many nodes were ever used, rows with redo, their time."""
META_WORDS = 5

LAST = -1
"""Ends the list of rows with redo; 0 there is a row that is not in the list."""

NEXT, FIRST, COPIES = 0, 1, 2
"""Columns of nodes. A result's table slot stands where a making has its first result."""
SLOT = 1
NODE_WORDS = 3


@kernel
def look_up(left, table, side, heads, bounds, out, work):
    """Pair left rows with the table as of their ts, updates of that instant included.

    `left` is (ts, codes, no bands), codes -1 for keys that no table row has; `table` is (ts,
    weights, slots, codes, no bands), `side` its (rows, links). Goes on where `work` says, as
    `join_arrivals` does; returns whether all is done.
    """
    lts, lcodes, bands = left
    tts = table[0]
    i, j, made = work[NEXT_LEFT], work[NEXT_TABLE], work[MADE]
    while i < len(lts) or j < len(tts):
        if j < len(tts) and (i == len(lts) or tts[j] <= lts[i]):
            recount(table, j, side[0], side[1], heads, RIGHT)
            j += 1
            continue
        if lcodes[i] >= 0:
            found, looked = meet(
                (i, i, lts[i], 1), 1, bands, heads[lcodes[i], RIGHT], side, bounds, 1, made, out
            )
            if found < 0:
                break
            made = found
            work[COMPARED] += looked
        i += 1
    work[NEXT_LEFT], work[NEXT_TABLE], work[MADE] = i, j, made
    return i == len(lts) and j == len(tts)


@kernel
def new_node(nodes, meta):
    """Return a node's number; there is room."""
    if meta[FREE_NODES] > 0:
        node = meta[FREE_HEAD] - 1
        meta[FREE_HEAD] = nodes[node, NEXT]
        meta[FREE_NODES] -= 1
        return node
    meta[USED] += 1
    return meta[USED] - 1


@kernel
def free_node(node, nodes, meta):
    """Take a node back."""
    nodes[node, NEXT] = meta[FREE_HEAD]
    meta[FREE_HEAD] = node + 1
    meta[FREE_NODES] += 1


@kernel
def forget_redo(lefts, rows, nodes, meta):
    """Forget what was retracted for good: the instant is over."""
    at = meta[REDO_HEAD]
    while at > 0:
        slot = at - 1
        making = lefts[slot, REDO]
        while making > 0:
            result = nodes[making - 1, FIRST]
            while result > 0:
                after = nodes[result - 1, NEXT]
                rows[nodes[result - 1, SLOT], EXTRA] -= 1
                rows[nodes[result - 1, SLOT], TOUCHED] = 1
                free_node(result - 1, nodes, meta)
                result = after
            below = nodes[making - 1, NEXT]
            free_node(making - 1, nodes, meta)
            making = below
        lefts[slot, REDO] = 0
        lefts[slot, MARK] = 1
        at = lefts[slot, NEXT_REDO]
        lefts[slot, NEXT_REDO] = 0
    meta[REDO_HEAD] = LAST


@kernel
def emit_making(making, slot, now, sign, nodes, made, out):
    """Add the results of a making, or their end; return the results made, or what is lacking."""
    lefts, slots, ts, weight = out
    result = nodes[making - 1, FIRST]
    while result > 0:
        if made == len(ts):
            return NO_OUTPUT
        lefts[made] = slot
        slots[made] = nodes[result - 1, SLOT]
        ts[made] = now
        weight[made] = sign * nodes[result - 1, COPIES]
        made += 1
        result = nodes[result - 1, NEXT]
    return made


@kernel
def move_making(slot, source, target, lefts, nodes, meta):
    """Move the uppermost making of a left row between its stack and its redo."""
    making = lefts[slot, source]
    lefts[slot, source] = nodes[making - 1, NEXT]
    if target == REDO and lefts[slot, NEXT_REDO] == 0:
        lefts[slot, NEXT_REDO] = meta[REDO_HEAD]
        meta[REDO_HEAD] = slot + 1
    nodes[making - 1, NEXT] = lefts[slot, target]
    lefts[slot, target] = making


@kernel
def make(slot, now, code, lefts, side, heads, nodes, meta, made, out):
    """Make the results of one more copy of a row; return the results made, or what is lacking."""
    rows, links = side
    needed = heads[code, ROWS + RIGHT] if code >= 0 else 0
    if made + needed > len(out[0]):
        return NO_OUTPUT
    if needed + 1 > meta[FREE_NODES] + len(nodes) - meta[USED]:
        return NO_NODES
    making = new_node(nodes, meta)
    nodes[making, NEXT] = lefts[slot, TOP]
    nodes[making, FIRST] = 0
    lefts[slot, TOP] = making + 1
    at = heads[code, RIGHT] if code >= 0 else 0
    while at > 0:
        result = new_node(nodes, meta)
        nodes[result, NEXT] = nodes[making, FIRST]
        nodes[result, SLOT] = at - 1
        nodes[result, COPIES] = rows[at - 1, COUNT]
        nodes[making, FIRST] = result + 1
        rows[at - 1, EXTRA] += 1
        at = links.older[at - 1]
    return emit_making(making + 1, slot, now, 1, nodes, made, out)


@kernel
def store_and_join(left, table, lefts, side, heads, nodes, meta, out, work):
    """Join changes of left rows with the table as of their ts; retract what each made.

    `left` and `table` are (ts, weights, slots, codes, no bands), `side` the table's (rows, links).
    Stops if `out` or `nodes` is full, to be called again with more room, and goes on where `work`
    says; returns whether all is done.
    """
    lts, lweight, lslots, lcodes, _ = left
    tts = table[0]
    i, j, made = work[NEXT_LEFT], work[NEXT_TABLE], work[MADE]
    while i < len(lts) or j < len(tts):
        if j < len(tts) and (i == len(lts) or tts[j] <= lts[i]):
            recount(table, j, side[0], side[1], heads, RIGHT)
            j += 1
            continue
        now, slot = lts[i], lslots[i]
        # What the last instant retracted and did not bring again is gone for good.
        if meta[INSTANT] < now:
            forget_redo(lefts, side[0], nodes, meta)
            meta[INSTANT] = now
        lefts[slot, MARK] = 1
        found = made
        # Copy by copy: a departure retracts the newest making, or is a debt until its row comes;
        # an arrival pays a debt, brings a making back, or makes results anew.
        while work[UNITS] < abs(lweight[i]):
            if lweight[i] < 0 and lefts[slot, TOP] > 0:
                found = emit_making(lefts[slot, TOP], slot, now, -1, nodes, made, out)
                if found >= 0:
                    move_making(slot, TOP, REDO, lefts, nodes, meta)
            elif lweight[i] < 0:
                lefts[slot, DEBT] += 1
            elif lefts[slot, DEBT] > 0:
                lefts[slot, DEBT] -= 1
            elif lefts[slot, REDO] > 0:
                found = emit_making(lefts[slot, REDO], slot, now, 1, nodes, made, out)
                if found >= 0:
                    move_making(slot, REDO, TOP, lefts, nodes, meta)
            else:
                found = make(slot, now, lcodes[i], lefts, side, heads, nodes, meta, made, out)
            if found < 0:
                break
            made = found
            work[UNITS] += 1
        if found < 0:
            work[LACKS] = found
            break
        work[UNITS] = 0
        i += 1
    work[NEXT_LEFT], work[NEXT_TABLE], work[MADE] = i, j, made
    return i == len(lts) and j == len(tts)
