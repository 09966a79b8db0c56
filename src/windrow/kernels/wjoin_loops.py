"""The loops of W-joins: nested, hashed and merged, for any number of streams [WJOIN 3, 5].

Arrivals of all streams are taken by time. Each goes down the loops, one stream a loop, depth by
depth, with a frame for each; what is found at the last depth is a result:

    arrival a ──► loop over B ──► loop over C ──► loop over D ──► (a, b, c, d)
                  frame 1         frame 2         frame 3
                  AT, LAST        rows that are still to be looked at, newest first
                  LOW, HIGH       the period: what is within the windows of all rows so far

How a frame finds its rows is all that the algorithms differ in:

    nested   all rows of use; each is tested for the period
    hash     the rows of the key; each is tested for the period; before the first loop it is known
             whether some stream has no row of the key
    merge    a stretch of rows that are in the period, none is tested; before the first loop it is
             known whether some stream has no row at all there (mode 1), and which has the fewest

`most[k, j]` is by how much a row of stream j may at most be later than one of stream k.
"""

from __future__ import annotations

from windrow.kernels.jit import force_inlined, inlined, kernel
from windrow.kernels.prefetch import place
from windrow.kernels.wjoin_rows import END, FIRST, SHIFT, let_go, link, next_stream

NESTED, HASH, MERGE = 0, 1, 2

AT, LAST, LOW, HIGH, CONDITIONS, INPUT, CHAIN, BOUND = range(8)
"""Columns of `frames`. CHAIN is the equality whose index is followed, -1 for none."""
FRAME_WORDS = 8

EQ, NE, LT, LE, GT, GE = range(6)
"""Comparisons. Of a stream's own value with one that is known."""

METHOD, NARROW, REFINE, FEWEST, EVERY = range(5)
"""Places of `how`: the method; whether periods differ from loop to loop; whether results are to be
tested for all windows; whether merge takes the stream with the fewest rows first, or the given
order; how many arrivals go by until rows past their time are let go."""
HOW_WORDS = 5

DEPTH, MADE, LOOKED, SINCE = range(4)
"""Places of `work`: where the loops stopped for want of room, what was made and looked at, and
arrivals since rows were let go."""
WORK_WORDS = 4

FAR = 2**62

BLOCK, SMALL_BLOCK = 64, 16
"""Rows that are looked at together where one value is sought."""


@force_inlined
def admit(i, now, spans, times, windows):
    """Find the stretch of each other stream that an arrival can match; return if all have rows.

    Stretches only move on from one arrival of a stream to its next.
    """
    most, _, _, starts, stops = windows
    for j in range(len(spans)):
        if j != i:
            end = spans[j, END]
            at = max(starts[i, j], spans[j, FIRST])
            while at < end and times[at] < now - most[j, i]:
                at += 1
            starts[i, j] = at
            if most[i, j] < 0:
                stop = max(stops[i, j], at)
                while stop < end and times[stop] <= now + most[i, j]:
                    stop += 1
                end = stop
            stops[i, j] = end
            if at >= end:
                return False
    return True


@force_inlined
def has_partners(i, at, spans, members, links):
    """Return whether every stream that an equality ties to an arrival has a row of its key.

    The newest rows of a key lie side by side: one look at memory for all streams.
    """
    codes, _, heads = links
    for c in range(len(members)):
        if (members[c] >> i) & 1 == 1:
            code = codes[c, at]
            for j in range(len(spans)):
                tied = j != i and (members[c] >> j) & 1 == 1
                if tied and heads[c, code, j] - spans[j, SHIFT] <= spans[j, FIRST]:
                    return False
    return True


@force_inlined
def is_met(i, now, how, spans, times, windows, members, links):
    """Return whether an arrival may have a match in every other stream, as far as it is known."""
    if how[METHOD] == MERGE:
        return admit(i, now, spans, times, windows)
    if how[METHOD] == HASH and how[EVERY] == 1:
        return has_partners(i, spans[i, END], spans, members, links)
    return True


@force_inlined
def order_by_rows(i, friends, starts, stops, order):
    """Order the loops: always the stream with the fewest rows among those that a condition ties.

    `friends` has for each stream the set of those that an equality or a comparison ties to it.
    """
    order[0] = i
    bound = 1 << i
    for d in range(1, len(order)):
        best, tied = -1, False
        for j in range(len(order)):
            if (bound >> j) & 1 == 0:
                near = friends[j] & bound != 0
                rows = stops[i, j] - starts[i, j]
                fewer = best >= 0 and rows < stops[i, best] - starts[i, best]
                if best < 0 or (near and not tied) or (near == tied and fewer):
                    best, tied = j, near
        order[d] = best
        bound |= 1 << best


@force_inlined
def first_at_least(times, start, stop, instant):
    """Return the first position of [start, stop) whose time is not before an instant."""
    while start < stop:
        middle = (start + stop) >> 1
        if times[middle] < instant:
            start = middle + 1
        else:
            stop = middle
    return start


@inlined
def lowest(members):
    """Return the lowest number in a set that has one."""
    k = 0
    while (members >> k) & 1 == 0:
        k += 1
    return k


@force_inlined
def known_conditions(j, bound, skipped, chosen, words, terms, found):
    """List what must hold of a row of stream j, given those chosen; return how many there are.

    The equality `skipped` holds by its index.
    """
    equal, compares, _, _ = terms
    count = 0
    for e in range(len(equal)):
        others = equal[e, 1] & bound
        if (equal[e, 1] >> j) & 1 == 1 and others != 0 and equal[e, 2] != skipped:
            found[count, 0] = EQ
            found[count, 1] = equal[e, 0]
            found[count, 2] = words[equal[e, 0], chosen[lowest(others)]]
            count += 1
    for m in range(len(compares)):
        first, line, op = compares[m, 0], compares[m, 1], compares[m, 2]
        second, other = compares[m, 3], compares[m, 4]
        if first == j and (bound >> second) & 1 == 1:
            found[count, 0] = op
            found[count, 1] = line
            found[count, 2] = words[other, chosen[second]]
            count += 1
        elif second == j and (bound >> first) & 1 == 1:
            # a < b says of b that it is > a: LT and GT, LE and GE stand two apart.
            found[count, 0] = op if op < LT else (op + 2 if op < GT else op - 2)
            found[count, 1] = other
            found[count, 2] = words[line, chosen[first]]
            count += 1
    return count


@force_inlined
def open_loop(d, how, spans, state, links, windows, terms, stack):
    """Prepare the loop at a depth for the rows chosen so far."""
    times, words = state
    codes, _, heads = links
    most, _, _, starts, stops = windows
    members = terms[2]
    frames, conditions, chosen, order = stack
    j, i = order[d], order[0]
    bound = frames[d - 1, BOUND] | (1 << order[d - 1])
    low, high = -FAR, FAR
    if how[METHOD] != MERGE or how[NARROW] == 1:
        for e in range(d):
            time = times[chosen[order[e]]]
            low = max(low, time - most[j, order[e]])
            high = min(high, time + most[order[e], j])
    at, last, chain = spans[j, END], spans[j, FIRST], -1
    if how[METHOD] == MERGE:
        at, last = stops[i, j], starts[i, j]
        if how[NARROW] == 1 and d > 1:
            if times[last] < low:
                last = first_at_least(times, last, at, low)
            if last < at and times[at - 1] > high:
                at = first_at_least(times, last, at, high + 1)
    elif how[METHOD] == HASH:
        for c in range(len(members) - 1, -1, -1):
            if (members[c] >> j) & 1 == 1 and members[c] & bound != 0:
                chain = c
        if chain >= 0:
            code = codes[chain, chosen[lowest(members[chain] & bound)]]
            at = max(heads[chain, code, j] - spans[j, SHIFT], last)
    frames[d, AT], frames[d, LAST] = at, last
    frames[d, LOW], frames[d, HIGH] = low, high
    frames[d, INPUT], frames[d, CHAIN], frames[d, BOUND] = j, chain, bound
    frames[d, CONDITIONS] = known_conditions(j, bound, chain, chosen, words, terms, conditions[d])


@force_inlined
def holds(words, at, found, count):
    """Return whether a row meets all conditions."""
    for m in range(count):
        value, known, op = words[found[m, 1], at], found[m, 2], found[m, 0]
        if op == EQ:
            if value != known:
                return False
        elif op == NE:
            if value == known:
                return False
        elif op == LT:
            if value >= known:
                return False
        elif op == LE:
            if value > known:
                return False
        elif op == GT:
            if value <= known:
                return False
        elif value < known:
            return False
    return True


@force_inlined
def seek_key(at, last, words, line, known):
    """Go back from `at` to the first row with a known value; return where it was sought up to.

    Blocks without it are passed at once: the processor compares several words at a time, in
    0.13 ns a row (blocks of 64; 0.25 of 32 and of 16) instead of 0.5.
    """
    while at - last >= BLOCK:
        hits = 0
        for row in range(at - BLOCK, at):
            hits += 1 if words[place(line), place(row)] == known else 0
        if hits > 0:
            break
        at -= BLOCK
    while at - last >= SMALL_BLOCK:
        hits = 0
        for row in range(at - SMALL_BLOCK, at):
            hits += 1 if words[place(line), place(row)] == known else 0
        if hits > 0:
            break
        at -= SMALL_BLOCK
    while at > last and words[place(line), place(at - 1)] != known:
        at -= 1
    return at


@force_inlined
def seek_in_period(at, frame, times, words, line, known, ends):
    """Do the same, testing each row for the period first; if it `ends`, one before it does."""
    last, low, high = frame[LAST], frame[LOW], frame[HIGH]
    while at > last:
        time = times[place(at - 1)]
        if ends and time < low:
            return last
        if low <= time <= high and words[place(line), place(at - 1)] == known:
            break
        at -= 1
    return at


@force_inlined
def follow(how, at, frame, found, times, words, back):
    """Go back through the rows of a key, or all, testing each for the period and all conditions."""
    last, low, high, count = frame[LAST], frame[LOW], frame[HIGH], frame[CONDITIONS]
    chain, looked, row = frame[CHAIN], 0, -1
    while at > last:
        here = at - 1
        looked += 1
        at = here if chain < 0 else (at - back[chain, here] if back[chain, here] > 0 else last)
        if times[here] < low:
            if how[EVERY] == 1:
                at = last
        elif times[here] <= high and holds(words, here, found, count):
            row = here
            break
    return row, at, looked


@force_inlined
def next_row(how, at, frame, found, times, words, back):
    """Return the next row of a loop (-1: none), where to go on, and how many were looked at.

    Rows lie in order of time: one before the period ends the loop, unless rows past their time
    are let go only now and then, as by the joins that do not know of windows.
    """
    last, count, chain = frame[LAST], frame[CONDITIONS], frame[CHAIN]
    start, row, simple = at, -1, count == 1 and found[0, 0] == EQ
    if how[METHOD] == MERGE:
        if simple:
            at = seek_key(at, last, words, found[0, 1], found[0, 2])
        else:
            while at > last and not holds(words, at - 1, found, count):
                at -= 1
    elif simple and chain < 0:
        ends = how[EVERY] == 1
        at = seek_in_period(at, frame, times, words, found[0, 1], found[0, 2], ends)
    else:
        return follow(how, at, frame, found, times, words, back)
    looked = start - at
    if at > last:
        row = at - 1
        at, looked = row, looked + 1
    return row, at, looked


@force_inlined
def within_all(chosen, times, exact):
    """Return whether every two chosen rows are within their window."""
    for j in range(1, len(chosen)):
        for k in range(j):
            apart = times[chosen[j]] - times[chosen[k]]
            if apart > exact[k, j] or -apart > exact[j, k]:
                return False
    return True


@force_inlined
def run_loops(opening, how, spans, state, links, windows, terms, stack, out, work):
    """Go through the loops of one arrival from depth ``work[DEPTH]`` on, which `opening` opens.

    Returns False, with that depth noted, where `out` is full: to be called again with room.
    """
    times, words = state
    frames, conditions, chosen, order = stack
    d, deepest, made = work[DEPTH], len(order) - 1, work[MADE]
    full = False
    while d > 0 and not full:
        if opening:
            open_loop(d, how, spans, state, links, windows, terms, stack)
        at, row, stream = frames[d, AT], -1, frames[d, INPUT]
        while True:
            full = d == deepest and made == out.shape[1]
            if full:
                break
            row, at, looked = next_row(how, at, frames[d], conditions[d], times, words, links[1])
            work[LOOKED] += looked
            if row < 0:
                break
            chosen[stream] = row
            if d < deepest:
                break
            if how[REFINE] == 0 or within_all(chosen, times, windows[1]):
                for k in range(len(chosen)):
                    out[k, made] = chosen[k]
                out[len(chosen), made] = times[chosen[order[0]]]
                made += 1
        frames[d, AT] = at
        opening = row >= 0 and not full
        if not full:
            d += 1 if opening else -1
    work[DEPTH], work[MADE] = d, made
    return not full


@kernel
def join_arrivals(how, spans, state, links, windows, terms, orders, stack, out, work):
    """Join the rows that are to come with all of use, in time order; stop if `out` is full.

    `state` is (times, words), `links` (codes, back, heads), `windows` (most, exact, keep, starts,
    stops), `terms` (equalities, comparisons, the streams that each index has, the streams that
    each is tied to), `stack` (frames, conditions, rows chosen, the order), `out` a line of
    positions a stream, and one of times. Returns whether all have come: else to be called again.
    """
    times = state[0]
    frames, _, chosen, order = stack
    while True:
        opening = work[DEPTH] == 0
        if opening:
            i = next_stream(spans, times)
            if i < 0:
                return True
            now = times[spans[i, END]]
            work[SINCE] += 1
            if work[SINCE] >= how[EVERY]:
                let_go(now, spans, times, windows[2])
                work[SINCE] = 0
            order[0], chosen[i] = i, spans[i, END]
            frames[0, BOUND] = 0
            if is_met(i, now, how, spans, times, windows, terms[2], links):
                work[DEPTH] = 1
                if how[METHOD] == MERGE and how[FEWEST] == 1:
                    order_by_rows(i, terms[3], windows[3], windows[4], order)
                else:
                    for d in range(len(order)):
                        order[d] = orders[i, d]
        if not run_loops(opening, how, spans, state, links, windows, terms, stack, out, work):
            return False
        link(order[0], spans[order[0], END], spans, terms[2], links)
        spans[order[0], END] += 1
