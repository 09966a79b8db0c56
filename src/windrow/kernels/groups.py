"""From signed rows to groups: the events of a batch, its emissions, and what changed.

    events (5 × n):   GROUP     code of the row's group
                      WEIGHT    how many copies come (+) or go (-)
                      EMISSION  the (instant, group) it belongs to, numbered in order of time
                      CLOSES    by emission: its last event, the one after which it is read
                      TIME      the instant, ascending

One matrix, so that a kernel of an aggregate unpacks one argument and not five.
"""

from __future__ import annotations

from windrow.kernels.jit import kernel

GROUP, WEIGHT, EMISSION, CLOSES, TIME = 0, 1, 2, 3, 4


@kernel
def name_emissions(events, rows, recent, emitted):
    """Fill EMISSION and CLOSES; return how many emissions there are.

    Needs GROUP, WEIGHT and TIME. `rows` counts the tuples of each group. `emitted` (3 × n)
    gets of each emission its time, its group, and the group's tuples after it. `recent`, -1
    for each group, is left as it was.
    """
    count = 0
    first = 0  # emission of the instant
    for i in range(events.shape[1]):
        if i > 0 and events[TIME, i] != events[TIME, i - 1]:
            first = count
        group = events[GROUP, i]
        e = recent[group]
        if e < first:
            e = count
            recent[group] = e
            emitted[0, e] = events[TIME, i]
            emitted[1, e] = group
            count += 1
        rows[group] += events[WEIGHT, i]
        events[EMISSION, i] = e
        events[CLOSES, e] = i
        emitted[2, e] = rows[group]
    for e in range(count):
        recent[emitted[1, e]] = -1
    return count


@kernel
def changed_rows(emitted, count, values, valid, shown, last, last_valid, always, out, out_valid):
    """Write -old and +new for each emission that changes what its group shows.

        values, valid:           (calls × emissions)   what the calls gave
        shown, last, last_valid: by group              what was emitted last
        out:                     (3 + calls × rows)    time, weight, group, then the calls

    A group shows a row while it has tuples, or `always`. Return the rows written, and how many
    of them are old ones.
    """
    calls = len(values)
    n = removed = 0
    for e in range(count):
        group = emitted[1, e]
        old = shown[group]
        new = always or emitted[2, e] > 0
        differs = old != new
        if old and new:
            for c in range(calls):
                if valid[c, e] != last_valid[group, c] or (
                    valid[c, e] and values[c, e] != last[group, c]
                ):
                    differs = True
        if not differs:
            continue
        if old:
            out[0, n] = emitted[0, e]
            out[1, n] = -1
            out[2, n] = group
            for c in range(calls):
                out[3 + c, n] = last[group, c]
                out_valid[c, n] = last_valid[group, c]
            n += 1
            removed += 1
        if new:
            out[0, n] = emitted[0, e]
            out[1, n] = 1
            out[2, n] = group
            for c in range(calls):
                word = values[c, e] if valid[c, e] else 0
                last[group, c] = word
                last_valid[group, c] = valid[c, e]
                out[3 + c, n] = word
                out_valid[c, n] = valid[c, e]
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
