"""The join of many inputs by one key alone, where rows expire in order of arrival: in two passes.

    heads:  code -> [newest + 1 of each input ..., rows of use of each input ...]

The first pass goes through all inputs by time and counts rows in and out of their key: one look at
`heads` shows, for each other input, with how many rows an arrival matches and which is the newest.
The second follows each of these chains once, those of many arrivals in turn so that their reads
overlap, and writes out all combinations. Loops inside one another would follow the chain of the
innermost input once for each combination of the others, and wait for memory at each row.

    found:  [arrival, input, results, (newest + 1, rows) of each input ...]
"""

from __future__ import annotations

from windrow.kernels.jit import inlined, kernel
from windrow.kernels.multi_ahead import INPUT
from windrow.kernels.multi_joins import LOOKED, STARTED, earliest, enter
from windrow.kernels.multi_rows import (
    BASE,
    HEAD,
    KEEP,
    MASK,
    TAIL,
    announce,
    pass_tail,
)
from windrow.kernels.prefetch import AHEAD, place, soon

ARRIVAL, ORIGIN, RESULTS, CHAINS = range(4)
"""Columns of `found`."""

NEXT, DONE = 0, 1
"""Places of `at`: the arrival whose results are written next, and how many of them are."""

BLOCK = 64
"""Arrivals whose chains are followed together."""


@inlined
def note(k, origin, code, heads, base, inputs, found, count):
    """Note which rows an arrival matches; return how many arrivals match, and rows of its key."""
    at, to = place(base + code), place(count)
    results, widest = 1, 0
    for i in range(inputs):
        rows = heads[at, place(inputs + i)]
        found[to, place(CHAINS + 2 * i)] = heads[at, place(i)]
        found[to, place(CHAINS + 2 * i + 1)] = rows
        results *= 1 if i == origin else rows
        widest += rows
    found[to, ARRIVAL] = k
    found[to, ORIGIN] = origin
    found[to, RESULTS] = results
    return count + (1 if results > 0 else 0), widest


@kernel
def count_stars(arrivals, spans, state, steps, gone, counts, found):
    """Take in all arrivals, in time order, and note what each of them matches.

    `found` has room for all arrivals and one more; `counts` gets the rows that are to be looked
    at, as if in loops. Returns how many match, the end of the list of
    dead codes, and how many rows of all inputs have the key of one arrival at most.
    """
    ts, _, _, _, codes, _, _ = arrivals
    rows, heads, shapes = state.rows, state.heads, state.shapes
    inputs, count, widest = len(shapes), 0, 0
    while True:
        origin = earliest(ts, spans)
        if origin < 0:
            break
        k = spans[0, origin]
        spans[0, origin] = k + 1
        now = ts[place(k)]
        soon(heads, codes[0, place(min(k + AHEAD, spans[1, origin] - 1))])
        for i in range(inputs):
            which = place(i)
            base, mask = shapes[which, BASE], shapes[which, MASK]
            while i != origin and shapes[which, TAIL] < shapes[which, HEAD]:
                slot = place(base + (shapes[which, TAIL] & mask))
                if rows[slot, KEEP] > now:
                    break
                announce(shapes[which, TAIL] + AHEAD, i, state)
                gone = pass_tail(slot, i, state, gone)
        before = count
        code, base = codes[0, place(k)], state.bases[0]
        count, most = note(k, origin, code, heads, base, inputs, found, count)
        widest = max(widest, most)
        for d in range(1, inputs):
            step = place(origin * inputs + d)
            column = place(CHAINS + 2 * steps[step, INPUT] + 1)
            counts[step, STARTED] += count - before
            counts[step, LOOKED] += (count - before) * found[place(before), column]
        enter(k, origin, arrivals, state, 0)
    return count, gone, widest


@inlined
def follow(first, stop, found, state, walks, lists):
    """Fill `lists` with place and end of the rows that arrivals [first, stop) match.

    One list an arrival and other input, one after the other. All chains go on together, a row
    each in turn.
    """
    rows, shapes = state.rows, state.shapes
    exp_column, link = place(state.exp), place(state.first)
    # Begin a walk down the chain of each arrival in each other input.
    going, to = 0, 0
    for e in range(first, stop):
        for i in range(len(shapes)):
            if i != found[place(e), ORIGIN]:
                newest = found[place(e), place(CHAINS + 2 * i)]
                soon(rows, shapes[place(i), BASE] + ((newest - 1) & shapes[place(i), MASK]))
                walks[0, place(going)] = newest
                walks[1, place(going)] = found[place(e), place(CHAINS + 2 * i + 1)]
                walks[2, place(going)] = to
                walks[3, place(going)] = i
                to += walks[1, place(going)]
                going += 1
    # A step of each; those that have more to go move up in the list.
    while going > 0:
        more = 0
        for k in range(going):
            w = place(k)
            i, to = place(walks[3, w]), place(walks[2, w])
            base, mask = shapes[i, BASE], shapes[i, MASK]
            spot = (walks[0, w] - 1) & mask
            older, left = rows[place(base + spot), link], walks[1, w] - 1
            lists[0, to] = spot
            lists[1, to] = rows[place(base + spot), exp_column]
            soon(rows, base + ((older - 1) & mask))
            walks[3, place(more)] = walks[3, w]
            walks[2, place(more)] = walks[2, w] + 1
            walks[1, place(more)] = left
            walks[0, place(more)] = older
            more += 1 if left > 0 else 0
        going = more


@inlined
def combine(e, part, arrivals, found, shapes, lists, offset, out, start, made):
    """Write a part (done, todo) of an arrival's results; return where its lists end.

    The last input changes fastest: its list is copied again and again, beside rows of the others
    that stay. `done` says which.
    """
    done, todo = part
    ts, last, _, numbers, _, _, _ = arrivals
    places, times = out
    entry, inputs = place(e), len(shapes)
    k, origin = place(found[entry, ARRIVAL]), found[entry, ORIGIN]
    now, own = ts[k], numbers[k] & shapes[place(origin), MASK]
    fast = inputs - 1 if origin != inputs - 1 else inputs - 2
    fast_rows = found[entry, place(CHAINS + 2 * fast + 1)]
    fast_list = offset
    for i in range(fast):
        fast_list += found[entry, place(CHAINS + 2 * i + 1)] if i != origin else 0
    at, turn = done % fast_rows, done // fast_rows
    written = 0
    while written < todo:
        count = min(fast_rows - at, todo - written)
        to = made + written
        end, rest, list_end = last[k], turn, fast_list
        for back in range(fast):
            i = fast - 1 - back
            if i == origin:
                continue
            rows = found[entry, place(CHAINS + 2 * i + 1)]
            list_end -= rows
            spot = place(list_end + rest % rows)
            rest //= rows
            end = min(end, lists[1, spot])
            value = lists[0, spot]
            for r in range(count):
                places[place(i), place(to + r)] = value
        for r in range(count):
            spot = place(fast_list + at + r)
            places[place(fast), place(to + r)] = lists[0, spot]
            places[place(origin), place(to + r)] = own
            times[0, place(start + to + r)] = now
            times[1, place(start + to + r)] = min(end, lists[1, spot])
        written += count
        at, turn = 0, turn + 1
    return fast_list + fast_rows


@kernel
def write_stars(found, count, arrivals, state, lists, walks, out, start, at):
    """Write results from where `at` says, until `out` is full or all are written; return how many.

    `lists` has room for the rows that any one arrival matches.
    """
    shapes = state.shapes
    room, made, first_of_block = out[0].shape[1], 0, at[NEXT]
    while first_of_block < count and made < room:
        stop, size = first_of_block, 0
        while stop < count and stop - first_of_block < BLOCK:
            more = 0
            for i in range(len(shapes)):
                more += found[place(stop), place(CHAINS + 2 * i + 1)]
            if size + more > lists.shape[1]:
                break
            size, stop = size + more, stop + 1
        follow(first_of_block, stop, found, state, walks, lists)
        offset = 0
        while first_of_block < stop and made < room:
            results = found[place(first_of_block), RESULTS]
            todo = min(results - at[DONE], room - made)
            offset = combine(
                first_of_block, (at[DONE], todo), arrivals, found, shapes, lists, offset, out,
                start, made,
            )  # fmt: skip
            made += todo
            at[DONE] += todo
            if at[DONE] == results:
                at[DONE] = 0
                first_of_block += 1
    at[NEXT] = first_of_block
    return made
