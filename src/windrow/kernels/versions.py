"""Versions of a table: which rows are in it since which version, and which were until another.

    version      1       2       3
    row x        +               -       emitted   x [1, OPEN)  at 1;  gone at 3: x [1, 3) instead

Copies of a row that came with different versions are nodes of a chain, newest first; which of them
leaves is all one, as each version has as many copies either way.
"""

from __future__ import annotations

from windrow.core.time import FOREVER
from windrow.kernels.jit import kernel

OPEN = FOREVER
"""The version that a row is no more in, as long as it is there."""

FIRST, COPIES, NEXT, NODE_WORDS = range(4)
"""Of a node: the version that its copies came with, their number, the next node + 1, or 0."""

USED, FREE, META_WORDS = range(3)
"""Nodes ever used, and the first free one + 1."""

CHANGE, SINCE, UNTIL, WEIGHT, LINES = range(5)
"""Of what is emitted: the change that it is of, versions, and copies that come (+) or go (-)."""


@kernel
def follow_versions(slots, weights, versions, heads, debts, nodes, meta, out):
    """Write what changes of a table do to its versions; return how many lines.

    Needs of each row at most one sign in a version, and room: in `out` for a line a change and two
    more a copy that leaves, in `nodes` for one a change. A row that expires before it has come is a
    debt.
    """
    made = 0
    for i in range(len(slots)):
        slot, version = slots[i], versions[i]
        left = weights[i]
        if left > 0:
            paid = min(left, debts[slot])
            debts[slot] -= paid
            left -= paid
            if left:
                node = meta[FREE] - 1
                if node < 0:
                    node = meta[USED]
                    meta[USED] += 1
                else:
                    meta[FREE] = nodes[node, NEXT]
                nodes[node, FIRST] = version
                nodes[node, COPIES] = left
                nodes[node, NEXT] = heads[slot]
                heads[slot] = node + 1
                out[CHANGE, made] = i
                out[SINCE, made] = version
                out[UNTIL, made] = OPEN
                out[WEIGHT, made] = left
                made += 1
            continue
        while left < 0 and heads[slot]:
            node = heads[slot] - 1
            taken = min(-left, nodes[node, COPIES])
            left += taken
            out[CHANGE, made] = i
            out[SINCE, made] = nodes[node, FIRST]
            out[UNTIL, made] = OPEN
            out[WEIGHT, made] = -taken
            made += 1
            out[CHANGE, made] = i
            out[SINCE, made] = nodes[node, FIRST]
            out[UNTIL, made] = version
            out[WEIGHT, made] = taken
            made += 1
            nodes[node, COPIES] -= taken
            if nodes[node, COPIES] == 0:
                heads[slot] = nodes[node, NEXT]
                nodes[node, NEXT] = meta[FREE]
                meta[FREE] = node + 1
        debts[slot] -= left
    return made
