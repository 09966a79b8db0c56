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
from windrow.kernels.multi_rows import (
    BASE,
    CODE,
    HEAD,
    KEEP,
    MASK,
    PORT_WORDS,
    PORTS,
    RING,
    TAIL,
    let_go,
    link,
    pass_tail,
    unlink,
)
from windrow.kernels.prefetch import AHEAD, place, soon

INPUT, LINK, CLASS, SOURCE, SOURCE_CODE, FIRST_CHECK, LAST_CHECK, FRESH = range(8)
"""A loop of an order, in `steps`: its input; the column of the chain's links, -1 for all rows; the
class, and whose row has the code in which column; its checks; whether only new rows count."""
STEP_WORDS = 8

OP, MINE, OTHER, THEIRS, LOW, HIGH = range(6)
"""A check: mine OP theirs, or for a band LOW <= mine - theirs <= HIGH."""
CHECK_WORDS = 6
EQ, NE, LT, LE, GT, GE, BAND = range(7)

CURSOR, SLOT, PLACE, FOUND = range(4)
"""Lines of `stack`: by depth, the next row + 1; by input, the row's slot in all rows and in its
input; by depth, the end or weight of the rows so far."""
STACK_LINES = 4

MADE, ORIGIN, AT, STOP, NOW, DEPTH, GROUP, EXPIRE_AT, EXPIRE_EVERY, GONE, START = range(11)
"""Places of `work`: results made; the group, run and depth; expiry; dead codes; where times go."""
WORK_WORDS = 11

STARTED, LOOKED = 0, 1
"""Columns of `counts`, by origin and depth: how often a loop began, and rows it looked at."""

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
def enter(k, which, arrivals, state, exp_column, first, live, dead, gone, group):
    """Take in an arrival that says when it leaves."""
    _, _, keep, refs, _, _, _ = arrivals
    rows, born, heads, shapes, classes, bases = state
    number = refs[place(k)]
    slot = place(shapes[which, BASE] + (number & shapes[which, MASK]))
    store(k, slot, keep[place(k)], arrivals, rows, exp_column, first)
    born[slot] = group
    link(number, slot, which, rows, first, heads, shapes, classes, bases, len(shapes), live)
    if shapes[which, RING] == 1:
        shapes[which, HEAD] = number + 1
    return gone


@inlined
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
    """Tell whether two arrivals have equal codes and values."""
    for p in range(codes.shape[0]):
        if codes[place(p), place(j)] != codes[place(p), place(k)]:
            return False
    for v in range(values.shape[0]):
        if values[place(v), place(j)] != values[place(v), place(k)]:
            return False
    return True


@inlined
def promising(origin, slot, steps, rows, heads, bases, inputs):
    """Tell whether each loop that is led to by the new row's own codes has a row."""
    for d in range(1, inputs):
        if steps[origin, d, LINK] >= 0 and steps[origin, d, SOURCE] == origin:
            code = rows[slot, place(steps[origin, d, SOURCE_CODE])]
            at = place(bases[steps[origin, d, CLASS]] + code)
            if heads[at, place(inputs + steps[origin, d, INPUT])] <= 0:
                return False
    return True


@inlined
def first_of(origin, depth, steps, rows, heads, shapes, bases, stack):
    """Return where the loop at `depth` begins: a row's number + 1."""
    which = steps[origin, depth, INPUT]
    if steps[origin, depth, LINK] < 0:
        return shapes[which, HEAD]
    slot = place(stack[SLOT, steps[origin, depth, SOURCE]])
    code = rows[slot, place(steps[origin, depth, SOURCE_CODE])]
    return heads[place(bases[steps[origin, depth, CLASS]] + code), place(which)]


@inlined
def passes(slot, rows, checks, start, stop, stack):
    """Tell whether a row passes checks against those of the outer loops."""
    for c in range(start, stop):
        mine = rows[slot, place(checks[c, MINE])]
        other = place(stack[SLOT, checks[c, OTHER]])
        theirs = rows[other, place(checks[c, THEIRS])]
        op = checks[c, OP]
        if op == EQ:
            fine = mine == theirs
        elif op == BAND:
            fine = checks[c, LOW] <= mine - theirs and mine - theirs <= checks[c, HIGH]
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
def announce(k, which, stop, arrivals, state):
    """Tell which heads an arrival that comes soon will look at."""
    _, _, _, _, codes, _, _ = arrivals
    _, _, heads, shapes, classes, bases = state
    ahead = place(min(k + AHEAD, stop - 1))
    for p in range(shapes[which, PORTS]):
        soon(heads, bases[classes[which, p]] + codes[place(p), ahead])


@inlined
def emit(
    origin, lowest, at, run, total, signed, arrivals, shapes, stack, now, out, start, made
):  # fmt: skip
    """Write a result for each row of the run."""
    _, last, _, refs, _, _, order = arrivals
    places, times = out
    for r in range(run):
        end = total
        if lowest == 1:
            k = place(order[place(at + r)])
            stack[PLACE, origin] = refs[k] & shapes[origin, MASK]
            end = total * last[k] if signed else min(total, last[k])
        for i in range(places.shape[0]):
            places[place(i), place(made + r)] = stack[PLACE, place(i)]
        times[0, place(start + made + r)] = now
        times[1, place(start + made + r)] = end


@inlined
def walk(
    origin, lowest, depth, at, run, now, group, signed, exp_column, arrivals, state, program,
    stack, out, begin, counts, made,
):  # fmt: skip
    """Go on with the loops from `depth` on; return the results made, and the depth if they stop.

    They stop where there is no room for the next result, and are done at a depth below `lowest`.
    """
    rows, born, heads, shapes, _, bases = state
    steps, checks, _ = program
    deepest, room = len(shapes) - 1, out[0].shape[1]
    going = True
    while going and depth >= lowest:
        which, column = steps[origin, depth, INPUT], steps[origin, depth, LINK]
        start, stop = steps[origin, depth, FIRST_CHECK], steps[origin, depth, LAST_CHECK]
        fresh = steps[origin, depth, FRESH] == 1
        base, mask = shapes[which, BASE], shapes[which, MASK]
        tail, ring = shapes[which, TAIL], shapes[which, RING] == 1
        row, looked, deeper = stack[CURSOR, depth], 0, False
        while row > tail and not deeper:
            slot = place(base + ((row - 1) & mask))
            keep = rows[slot, KEEP]
            older = rows[slot, place(column)] if column >= 0 else row - 1
            useless = keep == 0 if signed else keep <= now
            looked += 1
            if useless:
                older = 0 if ring else older
            elif fresh and born[slot] != group:
                useless = True
                older = 0 if ring or column >= 0 else older
            if not useless and passes(slot, rows, checks, start, stop, stack):
                if depth == deepest and made + run > room:
                    going, looked = False, looked - 1
                    break
                stack[SLOT, which] = slot
                stack[PLACE, which] = (row - 1) & mask
                total = stack[FOUND, depth]
                end = rows[slot, place(exp_column)]
                total = total * end if signed else min(total, end)
                if depth == deepest:
                    emit(
                        origin, lowest, at, run, total, signed, arrivals, shapes, stack, now, out,
                        begin, made,
                    )  # fmt: skip
                    made += run
                else:
                    stack[FOUND, depth + 1] = total
                    deeper = True
            row = older
        stack[CURSOR, depth] = row
        counts[origin, depth, LOOKED] += looked
        if deeper:
            depth += 1
            stack[CURSOR, depth] = first_of(
                origin, depth, steps, rows, heads, shapes, bases, stack
            )  # fmt: skip
            counts[origin, depth, STARTED] += 1
        elif going:
            depth -= 1
    return made, depth


@kernel
def join_groups(arrivals, spans, state, form, program, live, dead, stack, out, counts, work):
    """Join all inputs' new rows with all that is alive, in time order; stop if `out` is full.

    `arrivals` are (ts, exp or weight, keep, numbers, codes of each port, values, order of walks),
    one input after the other; `spans` the first and last of each that are still to come.
    `form` is (column of exp, column of the first port, whether inputs are signed); `out` (places,
    times and ends or weights).

    Goes on where `work` says, and leaves there how far it came: to be called again with an
    empty `out` until it says that nothing is left; times go to where `work` says.
    """
    ts, _, _, refs, codes, values, order = arrivals
    rows, _, heads, shapes, classes, bases = state
    exp_column, first, signed = form
    steps, _, general = program
    inputs, made, depth = len(shapes), work[MADE], work[DEPTH]
    origin, at, stop, now = work[ORIGIN], work[AT], work[STOP], work[NOW]
    group, gone, run = work[GROUP], work[GONE], 1
    while True:
        if at == stop and depth < 0:
            origin = earliest(ts, spans)
            if origin < 0:
                break
            at, now = spans[0, origin], ts[place(spans[0, origin])]
            stop, group = at, group + 1
            if now >= work[EXPIRE_AT]:
                work[EXPIRE_AT] = now + work[EXPIRE_EVERY]
                gone = let_go(
                    now, rows, first, heads, shapes, classes, bases, live, dead, gone
                )  # fmt: skip
            while stop < spans[1, origin] and ts[place(stop)] == now:
                announce(stop, origin, spans[1, origin], arrivals, state)
                if signed == 1:
                    gone = change(stop, origin, arrivals, state, first, live, dead, gone)
                else:
                    gone = enter(
                        stop, origin, arrivals, state, exp_column, first, live, dead, gone, group
                    )  # fmt: skip
                stop += 1
            spans[0, origin] = stop
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
                stack[FOUND, depth] = 1 if signed == 1 else FOREVER
                stack[CURSOR, depth] = first_of(
                    origin, depth, steps, rows, heads, shapes, bases, stack
                )  # fmt: skip
                counts[origin, depth, STARTED] += 1
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
