"""The join of many inputs: loops over chains or over all rows, with no results between.

    arrivals of all inputs by time; those of one input and instant are a *group*:

      group ──► enter its rows ──► for each run of equal rows in it:
                                     loop 1   rows of order[1] that match
                                       loop 2   rows of order[2] that match
                                         ...      a result for each row of the run

A loop's rows come from the chain of a code that an outer loop's row has, newest first, or are
all rows of its input. The loops are one walk with a cursor a depth, so that one kernel serves
any number of inputs, and a walk can stop where the output is full and go on later.

Rows of a group are alike where they have equal codes and values: one walk serves all of them
[THESIS, Algorithm 4]. Where the order does not begin with the new rows, the group is walked
once, and its input's loop looks only at rows of the group [MULTI 3.3].
"""

from __future__ import annotations

from windrow.kernels.jit import inlined, kernel
from windrow.kernels.multi_ahead import (
    BLOCK,
    CLASS,
    FIRST_CHECK,
    FRESH,
    INPUT,
    LAST_CHECK,
    LINK,
    SOURCE,
    SOURCE_CODE,
    look_ahead,
)
from windrow.kernels.multi_rows import (
    BASE,
    CODE,
    HEAD,
    KEEP,
    MASK,
    PORT_WORDS,
    RING,
    TAIL,
    link,
    pass_tail,
    pass_tails,
    slot_of,
    unlink,
)
from windrow.kernels.prefetch import place

OP, MINE, OTHER, THEIRS, LOW, HIGH = range(6)
"""A check: mine OP theirs, or for a band LOW <= mine - theirs <= HIGH."""
CHECK_WORDS = 6
EQ, NE, LT, LE, GT, GE, BAND = range(7)

CURSOR, SLOT, PLACE, FOUND = range(4)
"""Lines of `stack`: by depth, the next row + 1; by input, the row's slot in all rows and in its
input; by depth, the end or weight of the rows so far."""
STACK_LINES = 4

MADE, ORIGIN, AT, STOP, NOW, DEPTH, GROUP, EXPIRE_AT, EXPIRE_EVERY, GONE, START = range(11)
"""Places of `work`: results made; the group, run and depth; when tails move, every so long or, if
0, once a block; dead codes; where times go."""
OFFSET, LOGGED, INSTANT_MADE, INSTANT_LOGGED, CHANGE_MADE, CHANGE_LOGGED = range(11, 17)
"""More, for `contributions.py`: from an arrival to its place in the log, and how many are in it;
where the instant and the change that are walked begin, among what is made and in the log."""
WORK_WORDS = 17

STARTED, LOOKED = 0, 1
"""Columns of `counts`, by loop as `steps`: how often a loop began, and rows it looked at."""

FOREVER = 2**63 - 1


@inlined
def earliest(ts, spans):
    """Return the input whose next arrival comes first, the first of them on a tie; -1 if none."""
    best, now = -1, FOREVER
    for i in range(spans.shape[1]):
        at = spans[0, i]
        if at < spans[1, i] and (best < 0 or ts[place(at)] < now):
            best, now = i, ts[place(at)]
    return best


@inlined
def store(k, slot, keep, arrivals, state):
    """Write an arrival into its slot; its links are written by `link`."""
    _, last, _, _, codes, values, _ = arrivals
    rows = state.rows
    rows[slot, place(state.exp)] = last[place(k)]
    rows[slot, place(KEEP)] = keep
    for p in range(codes.shape[0]):
        rows[slot, place(state.first + PORT_WORDS * p + CODE)] = codes[place(p), place(k)]
    after = state.first + PORT_WORDS * codes.shape[0]
    for v in range(values.shape[0]):
        rows[slot, place(after + v)] = values[place(v), place(k)]


@inlined
def enter(k, which, arrivals, state, group):
    """Take in an arrival that carries `exp`."""
    _, _, keep, refs, _, _, _ = arrivals
    number = refs[place(k)]
    slot = slot_of(state, which, number)
    store(k, slot, keep[place(k)], arrivals, state)
    state.born[slot] = group
    link(number, slot, which, state)
    if state.shapes[which, RING] == 1:
        state.shapes[which, HEAD] = number + 1


@kernel
def change(k, which, arrivals, state, gone):
    """Take in a change of a row's copies.

    In a ring an arrival is a row of its own, and a departure that of the row at the tail.
    """
    _, weight, _, refs, _, _, _ = arrivals
    rows, shapes = state.rows, state.shapes
    number, more = refs[place(k)], weight[place(k)]
    slot = slot_of(state, which, number)
    ring = shapes[which, RING] == 1
    before = 0 if ring and more > 0 else rows[slot, KEEP]
    # The first copy is stored and linked, the last one to go is unlinked; else copies are counted.
    if before == 0 and more != 0:
        store(k, slot, more, arrivals, state)
        link(number, slot, which, state)
        if ring:
            shapes[which, HEAD] = number + 1
    elif ring:
        gone = pass_tail(slot, which, state, gone)
    else:
        rows[slot, KEEP] = before + more
        if before + more == 0 and more != 0:
            gone = unlink(slot, which, state, gone)
    return gone


@inlined
def alike(j, k, codes, values):
    """Return whether two arrivals have equal codes and values."""
    for p in range(codes.shape[0]):
        if codes[place(p), place(j)] != codes[place(p), place(k)]:
            return False
    for v in range(values.shape[0]):
        if values[place(v), place(j)] != values[place(v), place(k)]:
            return False
    return True


@inlined
def promising(origin, slot, steps, state):
    """Return whether each loop that is led to by the new row's own codes has a row."""
    rows, heads, bases, inputs = state.rows, state.heads, state.bases, len(state.shapes)
    for d in range(1, inputs):
        step = place(origin * inputs + d)
        if steps[step, LINK] >= 0 and steps[step, SOURCE] == origin:
            code = rows[slot, place(steps[step, SOURCE_CODE])]
            at = place(bases[place(steps[step, CLASS])] + code)
            if heads[at, place(inputs + steps[step, INPUT])] <= 0:
                return False
    return True


@inlined
def begin(origin, depth, steps, state, stack, counts):
    """Set the cursor of the loop at `depth` to its first row."""
    rows, heads, shapes, bases = state.rows, state.heads, state.shapes, state.bases
    step = place(origin * len(shapes) + depth)
    which = place(steps[step, INPUT])
    if steps[step, LINK] < 0:
        row = shapes[which, HEAD]
    else:
        slot = place(stack[SLOT, place(steps[step, SOURCE])])
        code = rows[slot, place(steps[step, SOURCE_CODE])]
        row = heads[place(bases[place(steps[step, CLASS])] + code), which]
    stack[CURSOR, place(depth)] = row
    counts[step, STARTED] += 1


@inlined
def passes(slot, rows, checks, start, stop, stack):
    """Return whether a row passes checks against those of the outer loops."""
    for c in range(start, stop):
        check = place(c)
        mine = rows[slot, place(checks[check, MINE])]
        other = place(stack[SLOT, place(checks[check, OTHER])])
        theirs = rows[other, place(checks[check, THEIRS])]
        op = checks[check, OP]
        if op == EQ:
            fine = mine == theirs
        elif op == BAND:
            fine = checks[check, LOW] <= mine - theirs and mine - theirs <= checks[check, HIGH]
        elif op == NE:
            fine = mine != theirs
        elif op == LT:
            fine = mine < theirs
        elif op == LE:
            fine = mine <= theirs
        elif op == GT:
            fine = mine > theirs
        else:
            fine = mine >= theirs
        if not fine:
            return False
    return True


@inlined
def emit(run, total, arrivals, state, stack, out, start, made):
    """Write a result for each row of the run; `run` as in `walk`."""
    origin, lowest, at, rows, now, _ = run
    _, last, _, refs, _, _, order = arrivals
    places, times = out
    mask = state.shapes[origin, MASK]
    for r in range(rows):
        end = total
        if lowest == 1:
            k = place(order[place(at + r)])
            stack[PLACE, place(origin)] = refs[k] & mask
            end = total * last[k] if state.signed == 1 else min(total, last[k])
        for i in range(places.shape[0]):
            places[place(i), place(made + r)] = stack[PLACE, place(i)]
        times[0, place(start + made + r)] = now
        times[1, place(start + made + r)] = end


@inlined
def fill(chain, which, link, now, limit, state, stack, out, start, made):
    """Make the results of the innermost loop where nothing is to be checked, of one new row.

    `chain` is (next row + 1, tail, base, mask, whether it is a ring's). Returns the next row + 1,
    rows looked at and results made. The plain twin of what `walk` does for all other loops: 20 ns
    a result instead of 33.
    """
    row, tail, base, mask, ring = chain
    rows, exp_column = state.rows, place(state.exp)
    places, times = out
    looked, room = 0, places.shape[1]
    while row > tail and made < room:
        spot = (row - 1) & mask
        slot = place(base + spot)
        looked += 1
        row = rows[slot, link]
        if rows[slot, KEEP] > now:
            to, at = place(made), place(start + made)
            for i in range(places.shape[0]):
                places[place(i), to] = stack[PLACE, place(i)]
            places[which, to] = spot
            times[0, at] = now
            times[1, at] = min(limit, rows[slot, exp_column])
            made += 1
        elif ring:
            # In a ring all older rows are of no use either.
            row = 0
    return row, looked, made


@inlined
def look_at(slot, row, column, now, group, ring, fresh, state):
    """Return whether a row is there, and new where only new ones count; return the next row + 1.

    Behind a row of a ring that is gone there are only such; behind an old one of a chain, old ones.
    """
    keep = state.rows[slot, KEEP]
    older = state.rows[slot, place(column)] if column >= 0 else row - 1
    fits = keep != 0 if state.signed == 1 else keep > now
    if not fits:
        older = 0 if ring else older
    elif fresh and state.born[slot] != group:
        fits = False
        older = 0 if ring or column >= 0 else older
    return fits, older


@inlined
def bind(which, slot, spot, depth, state, so_far, stack):
    """Take a row into what the loops have so far; return the end or weight of it all."""
    end = state.rows[slot, place(state.exp)]
    total = so_far * end if state.signed == 1 else min(so_far, end)
    stack[PLACE, which] = spot
    stack[SLOT, which] = slot
    stack[FOUND, place(depth + 1)] = total
    return total


@inlined
def walk(run, depth, arrivals, state, program, stack, out, start, counts, made):
    """Go on with the loops from `depth` on; return the results made, and the depth if they stop.

    `run` is (input, first depth, first of the equal arrivals, how many, instant, group). The loops
    stop where there is no room for the next result, and are done at a depth below the first.
    """
    origin, lowest, at, equal, now, group = run
    rows, shapes = state.rows, state.shapes
    steps, checks, _ = program
    _, last, _, _, _, _, order = arrivals
    deepest, room = len(shapes) - 1, out[0].shape[1]
    going, plain = True, equal == 1 and lowest == 1 and state.signed == 0
    while going and depth >= lowest:
        step = place(origin * len(shapes) + depth)
        which, column = place(steps[step, INPUT]), steps[step, LINK]
        first_check, last_check = steps[step, FIRST_CHECK], steps[step, LAST_CHECK]
        fresh = steps[step, FRESH] == 1
        base, mask = shapes[which, BASE], shapes[which, MASK]
        tail, ring = shapes[which, TAIL], shapes[which, RING] == 1
        row, so_far = stack[CURSOR, place(depth)], stack[FOUND, place(depth)]
        looked, deeper = 0, False
        # The innermost loop of one row with nothing to check: a plain walk down the chain.
        if depth == deepest and plain and column >= 0 and first_check == last_check:
            limit = min(so_far, last[place(order[place(at)])])
            row, looked, made = fill(
                (row, tail, base, mask, ring), which, place(column), now, limit, state, stack, out,
                start, made,
            )  # fmt: skip
            going = row <= tail
        # Any other: look at rows until one matches that a deeper loop can go on from.
        while going and row > tail and not deeper:
            slot = place(base + ((row - 1) & mask))
            fits, older = look_at(slot, row, column, now, group, ring, fresh, state)
            looked += 1
            if fits and passes(slot, rows, checks, first_check, last_check, stack):
                if depth == deepest and made + equal > room:
                    going, looked = False, looked - 1
                    break
                deeper = depth < deepest
                total = bind(which, slot, (row - 1) & mask, depth, state, so_far, stack)
                if not deeper:
                    emit(run, total, arrivals, state, stack, out, start, made)
                    made += equal
            row = older
        # Deeper after a match; back to the loop outside when this one has no row left.
        stack[CURSOR, place(depth)] = row
        counts[step, LOOKED] += looked
        if deeper:
            depth += 1
            begin(origin, depth, steps, state, stack, counts)
        elif going:
            depth -= 1
    return made, depth


@inlined
def take_in(origin, moment, gone, arrivals, spans, state, program, walks, work):
    """Enter the rows of the next group, `origin`'s of this instant; return where it ends.

    `moment` is (first of the group, instant, number of the group). Before it, what has expired is
    let go of if that is due, and the heads of a block of arrivals are fetched.
    """
    at, now, group = moment
    ts, _, _, _, codes, _, _ = arrivals
    steps, _, general = program
    due = now >= work[EXPIRE_AT]
    if at >= spans[2, origin]:
        due = due or work[EXPIRE_EVERY] == 0
        spans[2, origin] = min(at + BLOCK, spans[1, origin])
        if general[origin] == 0:
            look_ahead(origin, at, spans[2, origin], codes, state, steps, walks)
    if due:
        work[EXPIRE_AT] = now + work[EXPIRE_EVERY] if work[EXPIRE_EVERY] > 0 else FOREVER
        gone = pass_tails(now, state, gone)
    stop = at
    while stop < spans[1, origin] and ts[place(stop)] == now:
        if state.signed == 1:
            gone = change(stop, origin, arrivals, state, gone)
        else:
            enter(stop, origin, arrivals, state, group)
        stop += 1
    spans[0, origin] = stop
    return stop, gone


@kernel
def join_groups(arrivals, spans, state, program, stack, walks, out, counts, work):
    """Join all inputs' new rows with all that is alive, in time order; stop if `out` is full.

    `arrivals` are (ts, exp or weight, keep, numbers, codes of each port, values, order of walks),
    one input after the other; `spans` the first and last of each that are still to come, and how
    far was looked ahead; `out` (places, times and ends or weights).

    Goes on where `work` says, and leaves there how far it came: to be called again with an
    empty `out` until it says that nothing is left; times go to where `work` says.
    """
    ts, _, _, refs, codes, values, order = arrivals
    shapes = state.shapes
    steps, _, general = program
    made, depth = work[MADE], work[DEPTH]
    origin, at, stop, now = work[ORIGIN], work[AT], work[STOP], work[NOW]
    group, gone, equal = work[GROUP], work[GONE], 1
    while True:
        # The group is done: enter the next one, the rows of one input at one instant.
        if at == stop and depth < 0:
            origin = earliest(ts, spans)
            if origin < 0:
                break
            at, now, group = spans[0, origin], ts[place(spans[0, origin])], group + 1
            stop, gone = take_in(
                origin, (at, now, group), gone, arrivals, spans, state, program, walks, work
            )
        # One walk serves all arrivals that are alike.
        lowest, equal = 1 - general[origin], stop - at
        if lowest == 1:
            k, equal = order[place(at)], 1
            most = min(stop - at, out[0].shape[1])
            while equal < most and alike(order[place(at + equal)], k, codes, values):
                equal += 1
        # Begin it, unless some input surely has no match.
        if depth < 0:
            number = refs[place(order[place(at)])]
            slot = slot_of(state, origin, number)
            if lowest == 0 or promising(origin, slot, steps, state):
                depth = lowest
                stack[SLOT, origin] = slot
                stack[PLACE, origin] = number & shapes[origin, MASK]
                stack[FOUND, depth] = 1 if state.signed == 1 else FOREVER
                begin(origin, depth, steps, state, stack, counts)
        # Go on with it; it stops at a depth if `out` is full.
        if depth >= 0:
            run = (origin, lowest, at, equal if lowest == 1 else 1, now, group)
            made, depth = walk(
                run, depth, arrivals, state, program, stack, out, work[START], counts, made
            )
            if depth >= lowest:
                break
            depth = -1
        at += equal
    work[MADE], work[DEPTH], work[GROUP], work[GONE] = made, depth, group, gone
    work[ORIGIN], work[AT], work[STOP], work[NOW] = origin, at, stop, now
