"""Bring what the next arrivals will look at into the cache, many walks at once.

A walk down a chain waits for memory at each row: 175 ns where the windows do not fit the cache.
The chains of a block of arrivals are therefore followed beforehand, a row each in turn, so that
their reads overlap; the walks that make results then find their rows at hand.
"""

from __future__ import annotations

from windrow.kernels.jit import kernel
from windrow.kernels.multi_rows import BASE, CODE, MASK, PORT_WORDS, PORTS, TAIL
from windrow.kernels.prefetch import place, soon

INPUT, LINK, CLASS, SOURCE, SOURCE_CODE, FIRST_CHECK, LAST_CHECK, FRESH = range(8)
"""A loop, row ``origin * inputs + depth`` of `steps`: its input; the column of the chain's links,
-1 for all rows; the class, and whose row has the code in which column; its checks; whether only
new rows count."""
STEP_WORDS = 8

SILENT = -2
"""Stands for the link of an origin's own row, at depth 0, if its changes make nothing."""

BLOCK = 64
"""Arrivals of an input whose chains are followed together."""

ROUNDS = 8
"""Rows of a chain that are looked at ahead: longer ones are walked often enough to stay."""


@kernel
def look_ahead(origin, start, stop, codes, state, steps, walks):
    """Announce the rows to which the codes of arrivals [start, stop) lead."""
    rows, heads, shapes, bases = state.rows, state.heads, state.shapes, state.bases
    for p in range(shapes[origin, PORTS]):
        base = bases[state.classes[origin, p]]
        for k in range(start, stop):
            soon(heads, base + codes[place(p), place(k)])
    for d in range(1, len(shapes)):
        step = place(origin * len(shapes) + d)
        if steps[step, LINK] < 0 or steps[step, SOURCE] != origin:
            continue
        which, column = place(steps[step, INPUT]), place(steps[step, LINK])
        port = place((steps[step, SOURCE_CODE] - state.first - CODE) // PORT_WORDS)
        of = bases[place(steps[step, CLASS])]
        base, mask, tail = shapes[which, BASE], shapes[which, MASK], shapes[which, TAIL]
        going = 0
        for k in range(start, stop):
            at = heads[place(of + codes[port, place(k)]), which]
            soon(rows, base + ((at - 1) & mask))
            walks[place(going)] = at
            going += 1 if at > tail else 0
        rounds = 1
        while going > 0 and rounds < ROUNDS:
            more = 0
            for w in range(going):
                at = rows[place(base + ((walks[place(w)] - 1) & mask)), column]
                soon(rows, base + ((at - 1) & mask))
                walks[place(more)] = at
                more += 1 if at > tail else 0
            going, rounds = more, rounds + 1
