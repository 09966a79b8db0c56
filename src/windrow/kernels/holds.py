"""HOLD: results that wait before they are emitted; of each row, how often its count has risen.

    copies of a row    ┌──┐   ┌───────────        a rise waits for h; a fall retracts the rise
                    ───┘  └───┘                   before it, and only if none waits is emitted
                       rise   rise  ── h ──► +1

    ring:   number -> [time, row, copies, below]   rises, oldest first; `below` is the one before
    rows:   row    -> [top, waiting, net, due, emitted, open]
    marks:  [first, last, now, opened, held, suppressed]

`waiting` are the copies of a row that rose within h, `top` their newest rise. One instant, `now`,
may still go on in the next batch: of its `opened` rows, `net` is the sum of its changes, `due` the
copies that have waited for h by now, `emitted` what was emitted of both so far. `waiting` and the
ring change once the instant is over.
"""

from __future__ import annotations

from windrow.kernels.jit import force_inlined, inlined, kernel

TIME, ROW, COPIES, BELOW = 0, 1, 2, 3
TOP, WAITING, NET, DUE, EMITTED, OPEN = 0, 1, 2, 3, 4, 5
FIRST, LAST, NOW, OPENED, HELD, SUPPRESSED = 0, 1, 2, 3, 4, 5
NEVER = 2**63 - 1


@inlined
def due_after(time, length):
    """Return time + length, or NEVER beyond the last instant."""
    return time + length if time <= NEVER - length else NEVER


@inlined
def open_row(row, rows, opened, marks):
    """List a row among those that the present instant changes."""
    if rows[row, OPEN] == 0:
        rows[row, OPEN] = 1
        opened[marks[OPENED]] = row
        marks[OPENED] += 1


@inlined
def emit_row(row, rows, now, out, n):
    """Emit what the present instant changes of a row beyond `emitted`; return the next line.

    Of `waiting` copies those that are `due` are emitted; retractions take copies that wait first,
    the newest of them first: min(due, waiting + net).
    """
    change = min(rows[row, DUE], rows[row, WAITING] + rows[row, NET]) - rows[row, EMITTED]
    if change != 0:
        rows[row, EMITTED] += change
        out[0, n] = now
        out[1, n] = row
        out[2, n] = change
        return n + 1
    return n


@force_inlined
def close_instant(rows, ring, opened, marks, idle, gone):
    """End the present instant; `idle` gets the rows that no longer wait. Return how many.

    `idle` may get a row more than once, after the `gone` that it has.
    """
    mask = len(ring) - 1
    for k in range(marks[OPENED]):
        row = opened[k]
        net, due = rows[row, NET], rows[row, DUE]
        waiting = rows[row, WAITING] - due
        # Retractions cancel copies that wait, the newest rise first: these are never emitted.
        marks[SUPPRESSED] += min(max(-net, 0), waiting + due)
        back = min(max(-net, 0), waiting)
        waiting -= back
        while back > 0:
            top = rows[row, TOP] & mask
            taken = min(back, ring[top, COPIES])
            ring[top, COPIES] -= taken
            back -= taken
            if ring[top, COPIES] == 0:
                rows[row, TOP] = ring[top, BELOW]
        # A net increase is a new rise.
        if net > 0:
            last = marks[LAST] & mask
            ring[last, TIME] = marks[NOW]
            ring[last, ROW] = row
            ring[last, COPIES] = net
            ring[last, BELOW] = rows[row, TOP]
            rows[row, TOP] = marks[LAST]
            marks[LAST] += 1
            marks[HELD] += net
            waiting += net
        rows[row, WAITING] = waiting
        rows[row, NET] = rows[row, DUE] = rows[row, EMITTED] = rows[row, OPEN] = 0
        if waiting == 0:
            idle[gone] = row
            gone += 1
    marks[OPENED] = 0
    return gone


@kernel
def hold_changes(changes, clock, length, rows, ring, opened, marks, out, idle):
    """Fold changes up to and at `clock`; emit rises that have lasted for `length`, and falls.

        changes:  (ts, rows, weights), ascending in ts
        out:      [ts, row, weight]  a line each

    Needs room: in `ring` for a rise of each change and each opened row, in `out` and `idle` for a
    line of each of these and each rise. Returns how many changes are emitted, and how many rows,
    each once, are left in `idle` that neither wait nor are open.
    """
    ts, codes, weights = changes
    mask = len(ring) - 1
    i, n, gone, known = 0, 0, 0, marks[OPENED]
    while True:
        # Net the changes of the present instant, then emit what it changes so far.
        first = i
        while i < len(ts) and ts[i] == marks[NOW]:
            open_row(codes[i], rows, opened, marks)
            rows[codes[i], NET] += weights[i]
            i += 1
        for k in range(first, i):
            n = emit_row(codes[k], rows, marks[NOW], out, n)
        for k in range(known, marks[OPENED]):
            n = emit_row(opened[k], rows, marks[NOW], out, n)
        if marks[NOW] >= clock:  # more of this instant may follow
            break
        gone = close_instant(rows, ring, opened, marks, idle, gone)
        known = 0
        # The next instant: of the next change, or of the oldest rise that becomes due.
        while marks[FIRST] < marks[LAST] and ring[marks[FIRST] & mask, COPIES] == 0:
            marks[FIRST] += 1
        now = ts[i] if i < len(ts) else NEVER
        if marks[FIRST] < marks[LAST]:
            now = min(now, due_after(ring[marks[FIRST] & mask, TIME], length))
        if now > clock:
            break
        marks[NOW] = now
        # All rises that are due at it.
        while marks[FIRST] < marks[LAST]:
            rise = marks[FIRST] & mask
            if ring[rise, COPIES] > 0:
                if due_after(ring[rise, TIME], length) > now:
                    break
                open_row(ring[rise, ROW], rows, opened, marks)
                rows[ring[rise, ROW], DUE] += ring[rise, COPIES]
            marks[FIRST] += 1
    # Of `idle`, keep each row once that still neither waits nor is open: -1 marks what is listed.
    found = 0
    for k in range(gone):
        row = idle[k]
        if rows[row, OPEN] == 0 and rows[row, WAITING] == 0:
            rows[row, OPEN] = -1
            idle[found] = row
            found += 1
    for k in range(found):
        rows[idle[k], OPEN] = 0
    return n, found
