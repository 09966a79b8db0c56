"""From signed rows to groups: the events of a batch, its emissions, and what changed.

    events (5 × n):   GROUP     code of the row's group
                      WEIGHT    how many copies are inserted (+) or retracted (-)
                      EMISSION  the (instant, group) it belongs to, numbered in order of time
                      CLOSES    by emission: its last event, the one after which it is read
                      TIME      the instant, ascending

One matrix, so that a kernel of an aggregate unpacks one argument and not five.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from windrow.kernels.jit import kernel
from windrow.kernels.prefetch import place

GROUP, WEIGHT, EMISSION, CLOSES, TIME = 0, 1, 2, 3, 4


class ShownRows(NamedTuple):
    """By group: whether a row is shown, and the values of its calls, each with its validity."""

    shown: Any
    values: Any
    valid: Any


@kernel
def name_emissions(events, rows, recent, emitted):
    """Fill EMISSION and CLOSES; return how many emissions there are.

    Needs GROUP, WEIGHT and TIME. `rows` counts the tuples of each group. `emitted` (3 × n)
    gets of each emission its time, its group, and the group's tuples after it. `recent`, -1
    for each group, is left as it was.
    """
    count = 0
    first = 0  # the first emission of the instant: a group's is older, or this instant's
    for i in range(events.shape[1]):
        if i > 0 and events[TIME, i] != events[TIME, i - 1]:
            first = count
        group = place(events[GROUP, i])
        # The group's first event of the instant begins an emission.
        e = recent[group]
        if e < first:
            e = count
            recent[group] = e
            emitted[0, place(e)] = events[TIME, i]
            emitted[1, place(e)] = events[GROUP, i]
            count += 1
        rows[group] += events[WEIGHT, i]
        events[EMISSION, i] = e
        events[CLOSES, place(e)] = i
        emitted[2, place(e)] = rows[group]
    for e in range(count):
        recent[place(emitted[1, e])] = -1
    return count


@kernel
def changed_rows(emitted, count, values, valid, rows, always, out, out_valid, start):
    """Write -old and +new for each emission that changes what its group shows.

        values, valid:  (calls × emissions)   what the calls return
        rows:           by group              `ShownRows`: what was emitted last
        out:            (3 + calls × rows)    time, weight, group, then the calls

    A group shows a row while it has tuples, or `always`. Rows are written from `start` on. Return
    where they end, and how many of them are old ones.
    """
    shown, last, last_valid = rows
    n, removed = start, 0
    for e in range(count):
        group = place(emitted[1, e])
        old = shown[group]
        new = always or emitted[2, e] > 0
        # Both rows are written where they would stand; they count only if they differ.
        before, after = place(n), place(n + (1 if old else 0))
        differs = old != new
        for c in range(len(values)):
            had, has = last_valid[group, c], new and valid[c, e]
            was, word = last[group, c], values[c, e] if has else 0
            differs |= had != has or was != word
            line = place(3 + c)
            out[line, before], out_valid[c, before] = was, had
            if new:
                out[line, after], out_valid[c, after] = word, has
                last[group, c], last_valid[group, c] = word, has
        # The same values as before: nothing is emitted.
        if not (differs and (old or new)):
            continue
        if old:
            out[0, before], out[1, before], out[2, before] = emitted[0, e], -1, emitted[1, e]
            n, removed = n + 1, removed + 1
        if new:
            out[0, after], out[1, after], out[2, after] = emitted[0, e], 1, emitted[1, e]
            n += 1
        shown[group] = new
    return n, removed


@kernel
def empty_groups(emitted, count, rows, recent):
    """Put the groups that have no tuples left, each once, at the start of emitted[2].

    Return how many. `recent`, -1 for each group, is left as it was.
    """
    n = 0
    for e in range(count):
        group = emitted[1, e]
        if rows[group] == 0 and recent[group] < 0:
            recent[group] = 0
            emitted[2, n] = group
            n += 1
    for k in range(n):
        recent[emitted[2, k]] = -1
    return n
