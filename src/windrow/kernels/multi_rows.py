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

from typing import NamedTuple

from windrow.kernels.chains import I64
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


class ManyRows(NamedTuple):
    """The rows of all inputs as the loops read and write them.

    `classes` has the class of each port, `bases` the first head of each class, `live` the codes of
    each input and class. `dead` has room for a code a row and port: those that lose their last
    row. `exp` and `first` are the columns of the end of a row, and of the first port.
    """

    rows: I64
    born: I64
    heads: I64
    shapes: I64
    classes: I64
    bases: I64
    live: I64
    dead: I64
    exp: int
    first: int
    signed: int


@inlined
def slot_of(state, which, number):
    """Return the slot of a row of an input in all rows."""
    return place(state.shapes[which, BASE] + (number & state.shapes[which, MASK]))


@inlined
def head_of(state, which, port, slot):
    """Return the head of the code that a row has in a port."""
    column = place(state.first + PORT_WORDS * port + CODE)
    return place(state.bases[state.classes[which, port]] + state.rows[slot, column])


@inlined
def count_in(state, at, which, port):
    """Count a row into its code."""
    column = place(len(state.shapes) + which)
    alive = state.heads[at, column] + 1
    state.heads[at, column] = alive
    state.live[which, state.classes[which, port]] += 1 if alive == 1 else 0


@inlined
def count_out(state, at, which, port, gone):
    """Count a row out of its code; list the code if that loses its last. Return the list's end."""
    heads, inputs = state.heads, len(state.shapes)
    alive = heads[at, place(inputs + which)] - 1
    heads[at, place(inputs + which)] = alive
    if alive == 0:
        state.live[which, state.classes[which, port]] -= 1
        others = 0
        for k in range(inputs):
            others += heads[at, place(inputs + k)]
        state.dead[place(gone)] = at
        gone += 1 if others == 0 else 0
    return gone


@inlined
def link(number, slot, which, state):
    """Make a stored row the newest of its code in every chain."""
    rows, heads, shapes = state.rows, state.heads, state.shapes
    for p in range(shapes[which, PORTS]):
        port = state.first + PORT_WORDS * p
        at = head_of(state, which, p, slot)
        older = heads[at, place(which)]
        rows[slot, place(port + OLDER)] = older
        rows[slot, place(port + NEWER)] = 0
        if shapes[which, RING] == 0 and older > 0:
            rows[place(shapes[which, BASE] + older - 1), place(port + NEWER)] = number + 1
        heads[at, place(which)] = number + 1
        count_in(state, at, which, p)


@inlined
def unlink(slot, which, state, gone):
    """Take a row of a pool out of every chain; return the end of the list of dead codes."""
    rows, base = state.rows, state.shapes[which, BASE]
    for p in range(state.shapes[which, PORTS]):
        port = state.first + PORT_WORDS * p
        at = head_of(state, which, p, slot)
        older = rows[slot, place(port + OLDER)]
        newer = rows[slot, place(port + NEWER)]
        if older > 0:
            rows[place(base + older - 1), place(port + NEWER)] = newer
        if newer > 0:
            rows[place(base + newer - 1), place(port + OLDER)] = older
        else:
            state.heads[at, place(which)] = older
        gone = count_out(state, at, which, p, gone)
    return gone


@inlined
def pass_tail(slot, which, state, gone):
    """Count out the row at the tail of a ring, which moves past it."""
    for p in range(state.shapes[which, PORTS]):
        gone = count_out(state, head_of(state, which, p, slot), which, p, gone)
    state.shapes[which, TAIL] += 1
    return gone


@inlined
def announce(number, which, state):
    """Prefetch the heads that a row of a ring will be counted out of."""
    slot = slot_of(state, which, number)
    for p in range(state.shapes[which, PORTS]):
        code = state.rows[slot, place(state.first + PORT_WORDS * p + CODE)]
        soon(state.heads, state.bases[state.classes[which, p]] + code)


@kernel
def pass_tails(now, state, gone):
    """Let go of the rows of all rings that are of no use from `now` on.

    Returns the end of the list of dead codes.
    """
    shapes = state.shapes
    for which in range(len(shapes)):
        tail, head = shapes[which, TAIL], shapes[which, HEAD]
        going = shapes[which, RING] == 1
        while going and tail < head:
            slot = slot_of(state, which, tail)
            going = state.rows[slot, KEEP] <= now
            if going:
                announce(tail + AHEAD, which, state)
                gone = pass_tail(slot, which, state, gone)
                tail += 1
    return gone


@kernel
def take_out(numbers, which, state, gone):
    """Unlink rows of a pool and free their slots; return the end of the list of dead codes."""
    for k in range(len(numbers)):
        slot = place(state.shapes[which, BASE] + numbers[k])
        gone = unlink(slot, which, state, gone)
        state.rows[slot, KEEP] = GONE
    return gone


@kernel
def link_all(which, numbers, state):
    """Link stored rows, oldest first: what loading a state leaves to be done."""
    for k in range(len(numbers)):
        link(numbers[k], slot_of(state, which, numbers[k]), which, state)


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
