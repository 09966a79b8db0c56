"""The rows of all inputs of a join of many, and their chains.

    rows:   slot -> [keep or count, exp, (older + 1, code, newer + 1) a port, values ...]
    heads:  code of a class -> [newest + 1 of each input ..., rows alive of each input ...]

Slots of input i are those from its base on: in a ring ``base + (number & mask)``, in a pool
``base + number`` (its mask is -1). A *port* is an input's part in a class of equal columns: its
chain runs from the newest row of a code to the oldest. Only pools keep `newer`: a ring's rows
leave at the far end of their chains, which then points before its tail.

`keep` says until when a row is of use; that of a free slot is BEGINNING. Of signed inputs it is
the number of copies, and 0 in a free slot.
"""

from __future__ import annotations

from windrow.kernels.jit import inlined, kernel
from windrow.kernels.prefetch import AHEAD, place, soon

BASE, MASK, TAIL, HEAD, RING, PORTS = range(6)
"""Columns of `shapes`, one row an input. HEAD is the first number not used."""
SHAPE_WORDS = 6

KEEP = 0
"""The first column of `rows`."""
OLDER, CODE, NEWER = 0, 1, 2
"""Columns of a port, from that of its own on."""
PORT_WORDS = 3

GONE = -(2**63)
"""`keep` of a free slot."""


@inlined
def count_in(heads, at, which, inputs, classes, of, live):
    """Count a row into its code; `live` has the codes of each input and class."""
    alive = heads[at, place(inputs + which)] + 1
    heads[at, place(inputs + which)] = alive
    live[which, classes[which, of]] += 1 if alive == 1 else 0


@inlined
def count_out(heads, at, which, inputs, classes, of, live, dead, gone):
    """Count a row out of its code; list the code if that loses its last. Return the list's end."""
    alive = heads[at, place(inputs + which)] - 1
    heads[at, place(inputs + which)] = alive
    if alive == 0:
        live[which, classes[which, of]] -= 1
        others = 0
        for k in range(inputs):
            others += heads[at, place(inputs + k)]
        dead[place(gone)] = at
        gone += 1 if others == 0 else 0
    return gone


@inlined
def link(number, slot, which, rows, first, heads, shapes, classes, bases, inputs, live):
    """Make a stored row the newest of its code in every chain."""
    for p in range(shapes[which, PORTS]):
        port = first + PORT_WORDS * p
        at = place(bases[classes[which, p]] + rows[slot, place(port + CODE)])
        older = heads[at, place(which)]
        rows[slot, place(port + OLDER)] = older
        rows[slot, place(port + NEWER)] = 0
        if shapes[which, RING] == 0 and older > 0:
            rows[place(shapes[which, BASE] + older - 1), place(port + NEWER)] = number + 1
        heads[at, place(which)] = number + 1
        count_in(heads, at, which, inputs, classes, p, live)


@inlined
def unlink(slot, which, rows, first, heads, shapes, classes, bases, inputs, live, dead, gone):
    """Take a row of a pool out of every chain; return the end of the list of dead codes."""
    base = shapes[which, BASE]
    for p in range(shapes[which, PORTS]):
        port = first + PORT_WORDS * p
        at = place(bases[classes[which, p]] + rows[slot, place(port + CODE)])
        older = rows[slot, place(port + OLDER)]
        newer = rows[slot, place(port + NEWER)]
        if older > 0:
            rows[place(base + older - 1), place(port + NEWER)] = newer
        if newer > 0:
            rows[place(base + newer - 1), place(port + OLDER)] = older
        else:
            heads[at, place(which)] = older
        gone = count_out(heads, at, which, inputs, classes, p, live, dead, gone)
    return gone


@inlined
def pass_tail(slot, which, rows, first, heads, shapes, classes, bases, inputs, live, dead, gone):
    """Count out the row at the tail of a ring, which moves past it."""
    for p in range(shapes[which, PORTS]):
        at = place(bases[classes[which, p]] + rows[slot, place(first + PORT_WORDS * p + CODE)])
        gone = count_out(heads, at, which, inputs, classes, p, live, dead, gone)
    shapes[which, TAIL] += 1
    return gone


@inlined
def announce(number, which, rows, first, heads, shapes, classes, bases):
    """Return which heads a row of a ring will be counted out of."""
    slot = place(shapes[which, BASE] + (number & shapes[which, MASK]))
    for p in range(shapes[which, PORTS]):
        code = rows[slot, place(first + PORT_WORDS * p + CODE)]
        soon(heads, bases[classes[which, p]] + code)


@kernel
def pass_tails(now, rows, first, heads, shapes, classes, bases, live, dead, gone):
    """Let go of the rows of all rings that are of no use from `now` on.

    `dead` has room for a code a row and port. Returns the end of its list.
    """
    inputs = len(shapes)
    for which in range(inputs):
        tail, head, base, mask = (
            shapes[which, TAIL], shapes[which, HEAD], shapes[which, BASE], shapes[which, MASK]
        )  # fmt: skip
        going = shapes[which, RING] == 1
        while going and tail < head:
            slot = place(base + (tail & mask))
            going = rows[slot, KEEP] <= now
            if going:
                announce(tail + AHEAD, which, rows, first, heads, shapes, classes, bases)
                gone = pass_tail(
                    slot, which, rows, first, heads, shapes, classes, bases, inputs, live, dead,
                    gone,
                )  # fmt: skip
                tail += 1
    return gone


@kernel
def take_out(numbers, which, rows, first, heads, shapes, classes, bases, live, dead, gone):
    """Unlink rows of a pool and free their slots; return the end of the list of dead codes."""
    inputs = len(shapes)
    for k in range(len(numbers)):
        slot = place(shapes[which, BASE] + numbers[k])
        gone = unlink(
            slot, which, rows, first, heads, shapes, classes, bases, inputs, live, dead, gone
        )  # fmt: skip
        rows[slot, KEEP] = GONE
    return gone


@kernel
def link_all(which, numbers, rows, first, heads, shapes, classes, bases, live):
    """Link stored rows, oldest first: what loading a state leaves to be done."""
    inputs = len(shapes)
    for k in range(len(numbers)):
        slot = place(shapes[which, BASE] + (numbers[k] & shapes[which, MASK]))
        link(
            numbers[k], slot, which, rows, first, heads, shapes, classes, bases, inputs, live
        )  # fmt: skip


@kernel
def settle(dead, gone, heads, inputs):
    """Keep in `dead` the codes that have no rows, once each, and clear them; return how many."""
    count = 0
    for k in range(gone):
        at = place(dead[k])
        alive = 0
        for i in range(inputs):
            alive += heads[at, place(inputs + i)]
        if alive == 0:
            heads[at, place(inputs)] = -1  # a mark: the code is not taken twice
            dead[place(count)] = dead[k]
            count += 1
    for k in range(count):
        for i in range(2 * inputs):
            heads[place(dead[k]), place(i)] = 0
    return count
