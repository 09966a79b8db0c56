"""The streams of a W-join, side by side: rows by time, and the rows of a key by age.

    times   │ stream 0: gone │ of use │ to come │ room ║ stream 1: gone │ of use │ ...
                           FIRST     END      STOP
    words   one line a value that is compared, under the same positions
    codes   one line an equality: which of its keys a row has        only where there is an index
    back    one line an equality: how many rows before this one is the next older of its key
    heads   equality, key, stream -> number of its newest row + 1

A stream's rows lie in order of time, so an interval of time is a stretch of positions. A row's
number is its position + SHIFT: it stays when rows are moved.
"""

from __future__ import annotations

from windrow.kernels.jit import force_inlined, kernel

FIRST, END, STOP, SHIFT = 0, 1, 2, 3
"""Columns of `spans`, one row a stream."""
SPAN_WORDS = 4


@force_inlined
def next_stream(spans, times):
    """Return the stream whose next row comes first, of one instant the first stream; -1: none."""
    found = -1
    for j in range(len(spans)):
        at = spans[j, END]
        if at < spans[j, STOP] and (found < 0 or times[at] < times[spans[found, END]]):
            found = j
    return found


@force_inlined
def let_go(now, spans, times, keep):
    """Move each stream's first row of use past those that no row from `now` on can match."""
    for j in range(len(spans)):
        first = spans[j, FIRST]
        while first < spans[j, END] and times[first] < now - keep[j]:
            first += 1
        spans[j, FIRST] = first


@force_inlined
def link(i, at, spans, members, links):
    """Make a row the newest of its keys."""
    codes, back, heads = links
    number = at + spans[i, SHIFT]
    for c in range(len(members)):
        if (members[c] >> i) & 1 == 1:
            code = codes[c, at]
            older = heads[c, code, i]
            known = older - 1 - spans[i, SHIFT] >= spans[i, FIRST]
            back[c, at] = number + 1 - older if older > 0 and known else 0
            heads[c, code, i] = number + 1


@kernel
def link_rows(i, spans, members, links):
    """Enter the rows that are to come of a stream without joining them."""
    for at in range(spans[i, END], spans[i, STOP]):
        link(i, at, spans, members, links)
    spans[i, END] = spans[i, STOP]


@kernel
def count_codes(codes, start, stop, by, alive, dead):
    """Count the rows of [start, stop) in or out of their keys; list keys that lose their last."""
    gone = 0
    for at in range(start, stop):
        code = codes[at]
        alive[code] += by
        if alive[code] == 0:
            dead[gone] = code
            gone += 1
    return gone
