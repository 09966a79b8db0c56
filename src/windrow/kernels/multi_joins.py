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
def store(k, slot, keep, arrivals, rows, exp_column, first):
    """Write an arrival into its slot; its links are written by `link`."""
    _, last, _, _, codes, values, _ = arrivals
    rows[slot, place(exp_column)] = last[place(k)]
    rows[slot, place(KEEP)] = keep
    for p in range(codes.shape[0]):
        rows[slot, place(first + PORT_WORDS * p + CODE)] = codes[place(p), place(k)]
    after = first + PORT_WORDS * codes.shape[0]
    for v in range(values.shape[0]):
        rows[slot, place(after + v)] = values[place(v), place(k)]


@inlined
def enter(k, which, arrivals, state, exp_column, first, live, group):
    """Take in an arrival that carries `exp`."""
    _, _, keep, refs, _, _, _ = arrivals
    rows, born, heads, shapes, classes, bases = state
    number = refs[place(k)]
    slot = place(shapes[which, BASE] + (number & shapes[which, MASK]))
    store(k, slot, keep[place(k)], arrivals, rows, exp_column, first)
    born[slot] = group
    link(number, slot, which, rows, first, heads, shapes, classes, bases, len(shapes), live)
    if shapes[which, RING] == 1:
        shapes[which, HEAD] = number + 1


@kernel
def change(k, which, arrivals, state, first, live, dead, gone):
    """Take in a change of a row's copies.

    In a ring an arrival is a row of its own, and a departure that of the row at the tail.
    """
    _, weight, _, refs, _, _, _ = arrivals
    rows, _, heads, shapes, classes, bases = state
    number, more, inputs = refs[place(k)], weight[place(k)], len(shapes)
    slot = place(shapes[which, BASE] + (number & shapes[which, MASK]))
    ring = shapes[which, RING] == 1
    before = 0 if ring and more > 0 else rows[slot, KEEP]
    if before == 0 and more != 0:
        store(k, slot, more, arrivals, rows, KEEP, first)
        link(number, slot, which, rows, first, heads, shapes, classes, bases, inputs, live)
        if ring:
            shapes[which, HEAD] = number + 1
    elif ring:
        gone = pass_tail(
            slot, which, rows, first, heads, shapes, classes, bases, inputs, live, dead, gone
        )  # fmt: skip
    else:
        rows[slot, KEEP] = before + more
        if before + more == 0 and more != 0:
            gone = unlink(
                slot, which, rows, first, heads, shapes, classes, bases, inputs, live, dead, gone
            )  # fmt: skip
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
def promising(origin, slot, steps, rows, heads, bases, inputs):
    """Return whether each loop that is led to by the new row's own codes has a row."""
    for d in range(1, inputs):
        step = place(origin * inputs + d)
        if steps[step, LINK] >= 0 and steps[step, SOURCE] == origin:
            code = rows[slot, place(steps[step, SOURCE_CODE])]
            at = place(bases[place(steps[step, CLASS])] + code)
            if heads[at, place(inputs + steps[step, INPUT])] <= 0:
                return False
    return True


@inlined
def begin(origin, depth, steps, rows, heads, shapes, bases, stack, counts):
    """Set the cursor of the loop at `depth` to its first row."""
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
def emit(
    origin, lowest, at, run, total, signed, arrivals, mask, stack, now, out, start, made
):  # fmt: skip
    """Write a result for each row of the run; `mask` is that of the run's input."""
    _, last, _, refs, _, _, order = arrivals
    places, times = out
    for r in range(run):
        end = total
        if lowest == 1:
            k = place(order[place(at + r)])
            stack[PLACE, place(origin)] = refs[k] & mask
            end = total * last[k] if signed else min(total, last[k])
        for i in range(places.shape[0]):
            places[place(i), place(made + r)] = stack[PLACE, place(i)]
        times[0, place(start + made + r)] = now
        times[1, place(start + made + r)] = end


@inlined
def fill(
    row, tail, base, mask, ring, which, link, now, exp_column, limit, rows, stack, out, start, made
):  # fmt: skip
    """Make the results of the innermost loop where nothing is to be checked, of one new row.

    Returns the next row + 1, rows looked at and results made. The plain twin of what `walk` does
    for all other loops: 20 ns a result instead of 33.
    """
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
            times[1, at] = min(limit, rows[slot, place(exp_column)])
            made += 1
        elif ring:
            row = 0
    return row, looked, made


@inlined
def look_at(slot, row, column, now, group, signed, ring, fresh, rows, born):
    """Return whether a row is there, and new where only new ones count; return the next row + 1.

    Behind a row of a ring that is gone there are only such; behind an old one of a chain, old ones.
    """
    keep = rows[slot, KEEP]
    older = rows[slot, place(column)] if column >= 0 else row - 1
    fits = keep != 0 if signed else keep > now
    if not fits:
        older = 0 if ring else older
    elif fresh and born[slot] != group:
        fits = False
        older = 0 if ring or column >= 0 else older
    return fits, older


@inlined
def bind(which, slot, spot, depth, rows, exp_column, so_far, signed, stack):
    """Take a row into what the loops have so far; return the end or weight of it all."""
    end = rows[slot, place(exp_column)]
    total = so_far * end if signed else min(so_far, end)
    stack[PLACE, which] = spot
    stack[SLOT, which] = slot
    stack[FOUND, place(depth + 1)] = total
    return total


@inlined
def walk(
    origin, lowest, depth, at, run, now, group, signed, exp_column, arrivals, state, program,
    stack, out, start, counts, made,
):  # fmt: skip
    """Go on with the loops from `depth` on; return the results made, and the depth if they stop.

    They stop where there is no room for the next result, and are done at a depth below `lowest`.
    """
    rows, born, heads, shapes, _, bases = state
    steps, checks, _ = program
    _, last, _, _, _, _, order = arrivals
    deepest, room, newest = len(shapes) - 1, out[0].shape[1], shapes[origin, MASK]
    going, plain = True, run == 1 and lowest == 1 and not signed
    while going and depth >= lowest:
        step = place(origin * len(shapes) + depth)
        which, column = place(steps[step, INPUT]), steps[step, LINK]
        first_check, last_check = steps[step, FIRST_CHECK], steps[step, LAST_CHECK]
        fresh = steps[step, FRESH] == 1
        base, mask = shapes[which, BASE], shapes[which, MASK]
        tail, ring = shapes[which, TAIL], shapes[which, RING] == 1
        row, so_far = stack[CURSOR, place(depth)], stack[FOUND, place(depth)]
        looked, deeper = 0, False
        if depth == deepest and plain and column >= 0 and first_check == last_check:
            row, looked, made = fill(
                row, tail, base, mask, ring, which, place(column), now, exp_column,
                min(so_far, last[place(order[place(at)])]), rows, stack, out, start, made,
            )  # fmt: skip
            going = row <= tail
        while going and row > tail and not deeper:
            slot = place(base + ((row - 1) & mask))
            fits, older = look_at(
                slot, row, column, now, group, signed, ring, fresh, rows, born
            )  # fmt: skip
            looked += 1
            if fits and passes(slot, rows, checks, first_check, last_check, stack):
                if depth == deepest and made + run > room:
                    going, looked = False, looked - 1
                    break
                deeper = depth < deepest
                total = bind(
                    which, slot, (row - 1) & mask, depth, rows, exp_column, so_far, signed, stack
                )  # fmt: skip
                if not deeper:
                    emit(
                        origin, lowest, at, run, total, signed, arrivals, newest, stack, now, out,
                        start, made,
                    )  # fmt: skip
                    made += run
            row = older
        stack[CURSOR, place(depth)] = row
        counts[step, LOOKED] += looked
        if deeper:
            depth += 1
            begin(origin, depth, steps, rows, heads, shapes, bases, stack, counts)
        elif going:
            depth -= 1
    return made, depth


@inlined
def take_in(
    origin, at, now, group, gone, arrivals, spans, state, form, program, live, dead, walks, work,
):  # fmt: skip
    """Enter the rows of the next group, `origin`'s of this instant; return where it ends.

    Before it, what has expired is let go of if that is due, and the heads of a block of arrivals
    are fetched.
    """
    ts, _, _, _, codes, _, _ = arrivals
    rows, _, heads, shapes, classes, bases = state
    exp_column, first, signed = form
    steps, _, general = program
    due = now >= work[EXPIRE_AT]
    if at >= spans[2, origin]:
        due = due or work[EXPIRE_EVERY] == 0
        spans[2, origin] = min(at + BLOCK, spans[1, origin])
        if general[origin] == 0:
            look_ahead(origin, at, spans[2, origin], codes, state, first, steps, walks)
    if due:
        work[EXPIRE_AT] = now + work[EXPIRE_EVERY] if work[EXPIRE_EVERY] > 0 else FOREVER
        gone = pass_tails(now, rows, first, heads, shapes, classes, bases, live, dead, gone)
    stop = at
    while stop < spans[1, origin] and ts[place(stop)] == now:
        if signed == 1:
            gone = change(stop, origin, arrivals, state, first, live, dead, gone)
        else:
            enter(stop, origin, arrivals, state, exp_column, first, live, group)
        stop += 1
    spans[0, origin] = stop
    return stop, gone


@kernel
def join_groups(arrivals, spans, state, form, program, live, dead, stack, walks, out, counts, work):
    """Join all inputs' new rows with all that is alive, in time order; stop if `out` is full.

    `arrivals` are (ts, exp or weight, keep, numbers, codes of each port, values, order of walks),
    one input after the other; `spans` the first and last of each that are still to come, and how
    far was looked ahead.
    `form` is (column of exp, column of the first port, whether inputs are signed); `out` (places,
    times and ends or weights).

    Goes on where `work` says, and leaves there how far it came: to be called again with an
    empty `out` until it says that nothing is left; times go to where `work` says.
    """
    ts, _, _, refs, codes, values, order = arrivals
    rows, _, heads, shapes, _, bases = state
    exp_column, _, signed = form
    steps, _, general = program
    inputs, made, depth = len(shapes), work[MADE], work[DEPTH]
    origin, at, stop, now = work[ORIGIN], work[AT], work[STOP], work[NOW]
    group, gone, run = work[GROUP], work[GONE], 1
    while True:
        if at == stop and depth < 0:
            origin = earliest(ts, spans)
            if origin < 0:
                break
            at, now, group = spans[0, origin], ts[place(spans[0, origin])], group + 1
            stop, gone = take_in(
                origin, at, now, group, gone, arrivals, spans, state, form, program, live, dead,
                walks, work,
            )  # fmt: skip
        lowest, run = 1 - general[origin], stop - at
        if lowest == 1:
            k, run = order[place(at)], 1
            most = min(stop - at, out[0].shape[1])
            while run < most and alike(order[place(at + run)], k, codes, values):
                run += 1
        if depth < 0:
            slot = place(
                shapes[origin, BASE] + (refs[place(order[place(at)])] & shapes[origin, MASK])
            )
            if lowest == 0 or promising(origin, slot, steps, rows, heads, bases, inputs):
                depth = lowest
                stack[SLOT, origin] = slot
                stack[PLACE, origin] = refs[place(order[place(at)])] & shapes[origin, MASK]
                stack[FOUND, depth] = 1 if signed == 1 else FOREVER
                begin(origin, depth, steps, rows, heads, shapes, bases, stack, counts)
        if depth >= 0:
            made, depth = walk(
                origin, lowest, depth, at, run if lowest == 1 else 1, now, group, signed == 1,
                exp_column, arrivals, state, program, stack, out, work[START], counts, made,
            )  # fmt: skip
            if depth >= lowest:
                break
            depth = -1
        at += run
    work[MADE], work[DEPTH], work[GROUP], work[GONE] = made, depth, group, gone
    work[ORIGIN], work[AT], work[STOP], work[NOW] = origin, at, stop, now
