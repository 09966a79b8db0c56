"""What changes of signed inputs contribute to groups: the loops of an aggregation join.

    changes of all inputs, by time, then by input:   log:  [ c0  c1  c2 ... ]

      change ──► loop 1   entries of order[1] that match
                   loop 2   entries of order[2] that match
                     ...      a contribution: the change, an entry of each input, a weight

    out:   a line of entries for each input │ CHANGE, from START on in `log` │ WEIGHT

As `multi_joins.py`, whose steps these are, where inputs are signed and changes stand first. The
weight of a contribution is the change's, times the copies of each other entry. Contributions
stand in the order of their changes.
"""

from __future__ import annotations

from windrow.kernels.groups import GROUP, TIME, WEIGHT
from windrow.kernels.jit import force_inlined, inlined, kernel
from windrow.kernels.multi_ahead import FIRST_CHECK, INPUT, LAST_CHECK, LINK, SILENT
from windrow.kernels.multi_joins import (
    AT,
    CHANGE_LOGGED,
    CHANGE_MADE,
    CURSOR,
    DEPTH,
    FOUND,
    GONE,
    INSTANT_LOGGED,
    INSTANT_MADE,
    LOGGED,
    LOOKED,
    MADE,
    NOW,
    OFFSET,
    ORIGIN,
    PLACE,
    SLOT,
    START,
    STOP,
    begin,
    earliest,
    passes,
    promising,
    take_in,
)
from windrow.kernels.multi_rows import BASE, KEEP, MASK, TAIL
from windrow.kernels.prefetch import place

BEYOND = 2
"""Lines of `out` besides those of the inputs."""


@inlined
def spread(out, start, made, which, stack):
    """Write what all contributions [start, made) of a change have in common."""
    inputs = out.shape[0] - BEYOND
    for i in range(inputs + 1):
        if i != which:
            value = stack[PLACE, place(i)]
            for k in range(start, made):
                out[place(i), place(k)] = value


# A `chain` is (next entry + 1, the end, base and mask of the input's rows): what a loop goes along.


@force_inlined
def fill(chain, which, column, weight, rows, stack, out, made):
    """Make the contributions of the innermost loop where nothing is to be checked.

    Returns the next entry + 1 and contributions made. The plain twin of `sift`: entries of a chain
    have copies. What does not differ is written after the walk, a line at a time.
    """
    row, tail, base, mask = chain
    start, room, last = made, out.shape[1], place(out.shape[0] - 1)
    while row > tail and made < room:
        spot = (row - 1) & mask
        slot = place(base + spot)
        row = rows[slot, column]
        out[which, place(made)] = spot
        out[last, place(made)] = weight * rows[slot, KEEP]
        made += 1
    spread(out, start, made, which, stack)
    return row, made


@force_inlined
def sift(chain, step, weight, rows, steps, checks, stack, out, made):
    """Make the contributions of the innermost loop; also return the entries looked at."""
    row, tail, base, mask = chain
    which, column = place(steps[step, INPUT]), steps[step, LINK]
    first_check, last_check = steps[step, FIRST_CHECK], steps[step, LAST_CHECK]
    start, room, last, looked = made, out.shape[1], place(out.shape[0] - 1), 0
    while row > tail and made < room:
        spot = (row - 1) & mask
        slot = place(base + spot)
        looked += 1
        row = rows[slot, place(column)] if column >= 0 else row - 1
        copies = rows[slot, KEEP]
        if copies != 0 and passes(slot, rows, checks, first_check, last_check, stack):
            out[which, place(made)] = spot
            out[last, place(made)] = weight * copies
            made += 1
    spread(out, start, made, which, stack)
    return row, looked, made


@force_inlined
def descend(chain, step, depth, rows, steps, checks, stack):
    """Go on with an outer loop to its next entry that matches; return the next one + 1, and looks.

    The last says whether there was one.
    """
    row, tail, base, mask = chain
    which, column = place(steps[step, INPUT]), steps[step, LINK]
    first_check, last_check = steps[step, FIRST_CHECK], steps[step, LAST_CHECK]
    looked, found = 0, False
    while row > tail and not found:
        spot = (row - 1) & mask
        slot = place(base + spot)
        looked += 1
        row = rows[slot, place(column)] if column >= 0 else row - 1
        copies = rows[slot, KEEP]
        if copies != 0 and passes(slot, rows, checks, first_check, last_check, stack):
            stack[PLACE, which], stack[SLOT, which] = spot, slot
            stack[FOUND, place(depth + 1)] = stack[FOUND, place(depth)] * copies
            found = True
    return row, looked, found


@inlined
def walk(origin, depth, state, program, stack, out, counts, made):
    """Go on with the loops of a change; return the contributions made, and the depth.

    They stop where there is no room for the next one, and are done at depth 0.
    """
    rows, shapes = state.rows, state.shapes
    steps, checks, _ = program
    deepest, going = len(shapes) - 1, True
    while going and depth >= 1:
        step = place(origin * len(shapes) + depth)
        which = place(steps[step, INPUT])
        base, mask, tail = shapes[which, BASE], shapes[which, MASK], shapes[which, TAIL]
        row, so_far, deeper = stack[CURSOR, place(depth)], stack[FOUND, place(depth)], False
        chain = (row, tail, base, mask)
        # An outer loop finds its next match; the innermost one writes contributions.
        if depth < deepest:
            row, looked, deeper = descend(chain, step, depth, rows, steps, checks, stack)
        elif steps[step, LINK] >= 0 and steps[step, FIRST_CHECK] == steps[step, LAST_CHECK]:
            looked = -made
            column = place(steps[step, LINK])
            row, made = fill(chain, which, column, so_far, rows, stack, out, made)
            looked += made
            going = row <= tail
        else:
            row, looked, made = sift(chain, step, so_far, rows, steps, checks, stack, out, made)
            going = row <= tail
        # Deeper after a match; back to the loop outside when this one has no entry left.
        stack[CURSOR, place(depth)] = row
        counts[step, LOOKED] += looked
        if deeper:
            depth += 1
            begin(origin, depth, steps, state, stack, counts)
        elif going:
            depth -= 1
    return made, depth


@kernel
def contribute(arrivals, spans, state, program, stack, walks, out, log, counts, work):
    """Store changes in time order, and write what they contribute; stop if `out` is full.

    Arguments are those of `join_groups`; `log` has room for all changes, and gets the row of each
    as they are stored. Goes on where `work` says: to be called again, with room in `out` from MADE
    on, until ORIGIN is -1. A line of `stack` beyond the inputs holds the change.
    """
    ts, weight, _, refs, _, _, _ = arrivals
    shapes = state.shapes
    steps, _, _ = program
    inputs, made, depth, gone = len(shapes), work[MADE], work[DEPTH], work[GONE]
    start = work[START]
    origin, at, stop, now = work[ORIGIN], work[AT], work[STOP], work[NOW]
    offset, logged = work[OFFSET], work[LOGGED]
    while True:
        # The group of changes is done: store the next one, of one input at one instant.
        if at == stop and depth < 0:
            origin = earliest(ts, spans)
            if origin < 0:
                break
            at = spans[0, origin]
            if ts[place(at)] != now:
                work[INSTANT_MADE], work[INSTANT_LOGGED] = made, logged
            now = ts[place(at)]
            stop, gone = take_in(
                origin, (at, now, 0), gone, arrivals, spans, state, program, walks, work
            )
            offset = logged - at
            for k in range(at, stop):
                log[place(offset + k)] = k
            logged += stop - at
        # Begin the loops of a change, unless some input surely has no match.
        if depth < 0:
            work[CHANGE_MADE], work[CHANGE_LOGGED] = made, offset + at
            spot = refs[place(at)] & shapes[origin, MASK]
            slot = place(shapes[origin, BASE] + spot)
            emits = steps[place(origin * inputs), LINK] != SILENT
            if emits and promising(origin, slot, steps, state):
                depth = 1
                stack[SLOT, origin], stack[PLACE, origin] = slot, spot
                stack[PLACE, inputs] = offset + at - start
                stack[FOUND, depth] = weight[place(at)]
                begin(origin, depth, steps, state, stack, counts)
        # Go on with its loops; they stop at a depth if `out` is full.
        if depth >= 0:
            made, depth = walk(origin, depth, state, program, stack, out, counts, made)
            if depth >= 1:
                break
            depth = -1
        at += 1
    work[MADE], work[DEPTH], work[GONE], work[ORIGIN] = made, depth, gone, origin
    work[AT], work[STOP], work[NOW], work[OFFSET], work[LOGGED] = at, stop, now, offset, logged


@kernel
def list_changes(log, start, first, arrivals, rows, changes):
    """Fill `changes` with those from `start` on in `log`: origin, entry, row, weight, rows.

    `first` has the first row of each input among the arrivals, `rows` how many rows each is.
    """
    _, weight, _, refs, _, _, _ = arrivals
    for c in range(changes.shape[1]):
        # Rows of inputs stand one after the other: the last that begins at or before k.
        k = log[place(start + c)]
        origin = len(first) - 1
        while first[origin] > k:
            origin -= 1
        changes[0, c] = origin
        changes[1, c] = refs[place(k)]
        changes[2, c] = k - first[origin]
        changes[3, c] = weight[place(k)]
        changes[4, c] = rows[place(k)]


@kernel
def make_events(out, start, line, parts, log, ts, events):
    """Fill GROUP, WEIGHT and TIME of the first contributions in `out`.

    The group is that which `parts` has for the entry in a line; with no such line it is 0.
    """
    of, weights = place(out.shape[0] - BEYOND), place(out.shape[0] - 1)
    last, now = -1, 0
    for k in range(events.shape[1]):
        # Contributions of a change stand together: its time is read once.
        change = out[of, k]
        if change != last:
            last, now = change, ts[place(log[place(start + change)])]
        events[GROUP, k] = parts[place(out[place(line), k])] if line >= 0 else 0
        events[WEIGHT, k] = out[weights, k]
        events[TIME, k] = now


@kernel
def combine_parts(entries, parts, line, words):
    """Write the part of each entry into a line of words."""
    for k in range(len(entries)):
        words[k, line] = parts[place(entries[k])]


@kernel
def unnamed(entries, parts, fresh):
    """List the places, in `entries`, of those that have no part yet, each once; return how many.

    Marks them: they are to be named.
    """
    n = 0
    for k in range(len(entries)):
        if parts[entries[k]] == -1:
            parts[entries[k]] = -2
            fresh[n] = k
            n += 1
    return n


@kernel
def name_parts(entries, codes, parts, counts):
    """Give entries their parts, and count these."""
    for k in range(len(entries)):
        parts[entries[k]] = codes[k]
        counts[codes[k]] += 1


@kernel
def drop_parts(entries, parts, counts, idle):
    """Remove the parts of entries; list in `idle` the parts of no entry; return how many."""
    n = 0
    for k in range(len(entries)):
        part = parts[entries[k]]
        parts[entries[k]] = -1
        counts[part] -= 1
        if counts[part] == 0:
            idle[n] = part
            n += 1
    return n
