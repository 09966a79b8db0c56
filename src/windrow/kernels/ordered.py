"""An ordered bag a group: a treap of values with their numbers of copies, in one pool of nodes.

    nodes (N × 8):  RANK, KEY    sorted by RANK first, then by KEY (see `extremes.compare`)
                    COPIES       of this key; a node with none is removed
                    SIZE         copies in the whole subtree
                    LEFT, RIGHT, PARENT, PRIORITY     a heap by priority; node 0 means none
    roots:          group -> its root
    meta:           nodes used, first free node (chained by LEFT), live nodes, comparisons, seed

Insert, remove and the k-th copy take O(log n) steps of one cache line each. Within an instant
COPIES may be negative for a while: a retraction may come before its insertion.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from windrow.kernels.extremes import COMPARISONS, FREE, LIVE, USED, compare, order_key, value_of
from windrow.kernels.groups import CLOSES, EMISSION, GROUP, WEIGHT
from windrow.kernels.jit import kernel

RANK, KEY, COPIES, SIZE, LEFT, RIGHT, PARENT, PRIORITY = 0, 1, 2, 3, 4, 5, 6, 7
SEED = 4


class Treaps(NamedTuple):
    """The bags of all groups: their roots, and the pool of nodes."""

    roots: Any
    nodes: Any
    meta: Any


@kernel
def rotate_up(nodes, roots, g, x):
    """Put a node in its parent's place, the parent below it."""
    # The subtree between both changes sides: x's inner child becomes p's.
    p = nodes[x, PARENT]
    top = nodes[p, PARENT]
    if nodes[p, LEFT] == x:
        inner = nodes[x, RIGHT]
        nodes[p, LEFT] = inner
        nodes[x, RIGHT] = p
    else:
        inner = nodes[x, LEFT]
        nodes[p, RIGHT] = inner
        nodes[x, LEFT] = p
    if inner:
        nodes[inner, PARENT] = p
    nodes[p, PARENT] = x
    nodes[x, PARENT] = top
    # Whatever led to p leads to x.
    if top == 0:
        roots[g] = x
    elif nodes[top, LEFT] == p:
        nodes[top, LEFT] = x
    else:
        nodes[top, RIGHT] = x
    # The same copies are below x as were below p.
    nodes[x, SIZE] = nodes[p, SIZE]
    nodes[p, SIZE] = nodes[nodes[p, LEFT], SIZE] + nodes[nodes[p, RIGHT], SIZE] + nodes[p, COPIES]


@kernel
def drop_node(nodes, roots, g, x, meta):
    """Turn a node that has no copies down to a leaf, cut it off and free it."""
    # The child of higher priority goes up, so that the heap stays one.
    while nodes[x, LEFT] or nodes[x, RIGHT]:
        left, right = nodes[x, LEFT], nodes[x, RIGHT]
        if right == 0 or (left and nodes[left, PRIORITY] > nodes[right, PRIORITY]):
            rotate_up(nodes, roots, g, left)
        else:
            rotate_up(nodes, roots, g, right)
    p = nodes[x, PARENT]
    if p == 0:
        roots[g] = 0
    elif nodes[p, LEFT] == x:
        nodes[p, LEFT] = 0
    else:
        nodes[p, RIGHT] = 0
    nodes[x, LEFT] = meta[FREE]
    meta[FREE] = x
    meta[LIVE] -= 1


@kernel
def new_node(nodes, parent, rank, key, meta):
    """Return a fresh leaf."""
    x = meta[FREE]
    if x:
        meta[FREE] = nodes[x, LEFT]
    else:
        x = meta[USED]
        meta[USED] += 1
    meta[LIVE] += 1
    meta[SEED] = (meta[SEED] * 1103515245 + 12345) & 0x7FFFFFFF
    nodes[x, RANK] = rank
    nodes[x, KEY] = key
    nodes[x, COPIES] = nodes[x, SIZE] = nodes[x, LEFT] = nodes[x, RIGHT] = 0
    nodes[x, PARENT] = parent
    nodes[x, PRIORITY] = meta[SEED]
    return x


@kernel
def change_copies(trees, g, rank, key, w, order):
    """Add w copies of (rank, key) to a group's bag. Needs room for one node."""
    roots, nodes, meta = trees
    # Search for the node; `parent` and `side` are where it would hang.
    at = roots[g]
    parent = 0
    side = 0
    while at:
        meta[COMPARISONS] += 1
        if rank != nodes[at, RANK]:
            side = -1 if rank < nodes[at, RANK] else 1
        else:
            side = compare(key, nodes[at, KEY], order)
        if side == 0:
            break
        parent = at
        at = nodes[at, LEFT] if side < 0 else nodes[at, RIGHT]
    if at == 0:
        at = new_node(nodes, parent, rank, key, meta)
        if parent == 0:
            roots[g] = at
        elif side < 0:
            nodes[parent, LEFT] = at
        else:
            nodes[parent, RIGHT] = at
    # Sizes count what is below: all nodes on the way up change by w.
    nodes[at, COPIES] += w
    up = at
    while up:
        nodes[up, SIZE] += w
        up = nodes[up, PARENT]
    if nodes[at, COPIES] == 0:
        drop_node(nodes, roots, g, at, meta)
        return
    # A new leaf rises until its parent has the higher priority.
    while nodes[at, PARENT] and nodes[nodes[at, PARENT], PRIORITY] < nodes[at, PRIORITY]:
        rotate_up(nodes, roots, g, at)


@kernel
def kth_node(nodes, root, k):
    """Return the node that holds the k-th copy, from 0."""
    at = root
    while True:
        left = nodes[nodes[at, LEFT], SIZE]
        if k < left:
            at = nodes[at, LEFT]
        elif k < left + nodes[at, COPIES]:
            return at
        else:
            k -= left + nodes[at, COPIES]
            at = nodes[at, RIGHT]


@kernel
def next_node(nodes, x):
    """Return the node after x in order, 0 if it is the last."""
    if nodes[x, RIGHT]:
        x = nodes[x, RIGHT]
        while nodes[x, LEFT]:
            x = nodes[x, LEFT]
        return x
    while nodes[x, PARENT] and nodes[nodes[x, PARENT], RIGHT] == x:
        x = nodes[x, PARENT]
    return nodes[x, PARENT]


@kernel
def most_frequent(events, places, codes, data, order, counts, trees, most, out, found):
    """Keep values by their number of copies; each emission gets the `most` frequent ones.

    `codes` are those of (group, value) of the events at `places`, `counts` their copies. Nodes
    have RANK = -copies, so that the first are the most frequent, then the smallest. `out`
    (emissions × most) gets values, `found` how many. Needs room for a node an event.
    """
    roots, nodes, _ = trees
    at = 0
    for i in range(events.shape[1]):
        g, e = events[GROUP, i], events[EMISSION, i]
        if at < len(places) and places[at] == i:
            code = codes[at]
            key = order_key(data[i], order.kind)
            # The value moves from the rank of its old number of copies to that of the new one.
            if counts[code] > 0:
                change_copies(trees, g, -counts[code], key, -1, order)
            counts[code] += events[WEIGHT, i]
            if counts[code] > 0:
                change_copies(trees, g, -counts[code], key, 1, order)
            at += 1
        if events[CLOSES, e] != i:
            continue
        # Read the first nodes in order.
        n = 0
        node = kth_node(nodes, roots[g], 0) if roots[g] else 0
        while node and n < most:
            out[e, n] = value_of(nodes[node, KEY], order.kind)
            n += 1
            node = next_node(nodes, node)
        found[e] = n
