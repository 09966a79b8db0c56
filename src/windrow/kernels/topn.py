"""Rows in order, with their copies: a treap in flat arrays, and the cut [low, high) of it.

nodes:  code -> [left + 1, right + 1, copies, copies of the subtree]      0 is no child
heap:   the parent of a node has the larger hash: the shape follows from the rows alone
path:   the nodes from the root down, and whether the way went on to the left (LEFT, RIGHT)

ranks   0 1 2 3 4 5 6 ...        copies in order; equal rows take several ranks
└─cut─┘              what is shown
"""

from __future__ import annotations

from typing import Any, NamedTuple

from windrow.kernels.jit import kernel
from windrow.kernels.merging import compare_rows

LEFT, RIGHT, COPIES, TOTAL = 0, 1, 2, 3
"""Columns of `nodes`."""

NET, LISTED, COMING, AWAITED = 0, 1, 2, 3
"""Columns of `marks`: the net change of what is shown at the open instant, whether the row is
listed as touched; copies that come at the instant, and whether the row is listed for it."""

ROOT, TOUCHED, MADE, COMPARED = 0, 1, 2, 3
"""Places of `work`: the root + 1, rows touched at the open instant, changes made, comparisons."""
WORK_WORDS = 4

DEPTH = 512
"""Levels that a treap of hashes never reaches: 2^60 rows are expected to need about 180."""


class RowTree(NamedTuple):
    """The treap: how its rows compare, its arrays, and room for a path.

    `order` is (words, how, null_word, text), see `merging.py`.
    """

    order: Any
    nodes: Any
    hashes: Any
    path: Any
    work: Any


class ShownChanges(NamedTuple):
    """What changes are collected in: the cut [low, high), and notes about rows, by code."""

    low: Any
    high: Any
    marks: Any
    touched: Any


@kernel
def total_of(nodes, child):
    """Return the copies in a child's subtree."""
    return nodes[child - 1, TOTAL] if child > 0 else 0


@kernel
def find_path(code, tree):
    """Walk from the root towards a row; return its rank, the path's length, and if it is there.

    The path ends above the row, or where it would be.
    """
    order, nodes, _, path, work = tree
    words, how, null_word, text = order
    rank, depth = 0, 0
    at = work[ROOT]
    while at > 0:
        node = at - 1
        if node == code:
            return rank + total_of(nodes, nodes[node, LEFT]), depth, True
        work[COMPARED] += 1
        side = LEFT
        # To the right: all copies of the node and of its left subtree come before the row.
        if compare_rows(words, code, node, how, null_word, text) > 0:
            side = RIGHT
            rank += nodes[node, COPIES] + total_of(nodes, nodes[node, LEFT])
        path[0, depth] = node
        path[1, depth] = side
        depth += 1
        at = nodes[node, side]
    return rank, depth, False


@kernel
def hang(child, tree, depth):
    """Make `child` what the path leads to."""
    _, nodes, _, path, work = tree
    if depth == 0:
        work[ROOT] = child
    else:
        nodes[path[0, depth - 1], path[1, depth - 1]] = child


@kernel
def insert_node(code, copies, tree, depth):
    """Add a row that is not there; `path` leads to its place.

    It goes in above the first node of smaller hash, and splits the subtree below along the
    path: nodes before it are strung together on its left, those after it on its right.
    """
    _, nodes, hashes, path, _ = tree
    top = 0
    while top < depth and hashes[path[0, top]] > hashes[code]:
        nodes[path[0, top], TOTAL] += copies
        top += 1
    hang(code + 1, tree, top)
    nodes[code, LEFT] = 0
    nodes[code, RIGHT] = 0
    nodes[code, COPIES] = copies
    # `before` and `after` are the ends of both strings, and the sides on which they go on.
    before, after = code, code
    before_side, after_side = LEFT, RIGHT
    for k in range(top, depth):
        node = path[0, k]
        if path[1, k] == LEFT:
            nodes[after, after_side] = node + 1
            after, after_side = node, LEFT
        else:
            nodes[before, before_side] = node + 1
            before, before_side = node, RIGHT
    nodes[after, after_side] = 0
    nodes[before, before_side] = 0
    # Totals from the bottom up: those below the row first, the row itself last.
    for k in range(depth, top - 1, -1):
        node = path[0, k - 1] if k > top else code
        below = total_of(nodes, nodes[node, LEFT]) + total_of(nodes, nodes[node, RIGHT])
        nodes[node, TOTAL] = nodes[node, COPIES] + below


@kernel
def remove_node(code, tree, depth):
    """Remove a row with all its copies; `path` leads to it. Its children become one tree."""
    _, nodes, hashes, path, _ = tree
    for k in range(depth):
        nodes[path[0, k], TOTAL] -= nodes[code, COPIES]
    low, high = nodes[code, LEFT], nodes[code, RIGHT]
    # Of both roots the one of larger hash goes up; its inner subtree meets the other tree next.
    while low > 0 and high > 0:
        first = hashes[low - 1] > hashes[high - 1]
        node = (low if first else high) - 1
        hang(node + 1, tree, depth)
        nodes[node, TOTAL] = total_of(nodes, low) + total_of(nodes, high)
        path[0, depth] = node
        path[1, depth] = RIGHT if first else LEFT
        depth += 1
        if first:
            low = nodes[node, RIGHT]
        else:
            high = nodes[node, LEFT]
    hang(max(low, high), tree, depth)
    for k in range(4):
        nodes[code, k] = 0


@kernel
def touch(code, change, shown, work):
    """Note a change of the copies of a row that are shown."""
    marks, touched = shown.marks, shown.touched
    if marks[code, LISTED] == 0:
        marks[code, LISTED] = 1
        touched[work[TOUCHED]] = code
        work[TOUCHED] += 1
    marks[code, NET] += change


@kernel
def touch_ranks(low, high, sign, tree, shown):
    """Note that the copies of ranks [low, high) come to be shown, or cease to be."""
    nodes, work = tree.nodes, tree.work
    while low < high:
        # Search for the row that has rank `low`; its copies begin at rank `first`.
        first = 0
        at = work[ROOT]
        node = at - 1
        while at > 0:
            node = at - 1
            start = first + total_of(nodes, nodes[node, LEFT])
            if low < start:
                at = nodes[node, LEFT]
            elif low >= start + nodes[node, COPIES]:
                first = start + nodes[node, COPIES]
                at = nodes[node, RIGHT]
            else:
                first = start
                break
        stop = min(high, first + nodes[node, COPIES])
        touch(node, sign * (stop - low), shown, work)
        low = stop


@kernel
def shift_cut(code, rank, copies, sign, tree, shown):
    """Note what putting `copies` of a row at `rank` changes in the cut (sign -1: taking away).

        before   a b│c d e f│g          cut [2, 6)
        after    a b│x x c d│e f g      x x in, e f out;  above the cut: a b│... pushed into it

    The tree is without those copies.
    """
    low, high = shown.low, shown.high
    if rank >= high:
        return
    total = total_of(tree.nodes, tree.work[ROOT])
    # Pushed out over the upper edge.
    out_from = max(rank, low, high - copies)
    touch_ranks(out_from, min(high, total), -sign, tree, shown)
    # Pushed in over the lower edge.
    in_from = max(rank, low - copies)
    touch_ranks(in_from, min(low, high - copies, total), sign, tree, shown)
    # Of the copies themselves, those within the cut.
    own = min(rank + copies, high) - max(rank, low)
    if own > 0:
        touch(code, sign * own, shown, tree.work)


@kernel
def change_row(code, change, tree, shown):
    """Give a row more copies or fewer, in the tree and in the cut."""
    nodes, path = tree.nodes, tree.path
    rank, depth, found = find_path(code, tree)
    # The cut is shifted while the tree is without the copies: before they are added, or after
    # they are removed.
    if change > 0:
        shift_cut(code, rank, change, 1, tree, shown)
    if not found:
        insert_node(code, change, tree, depth)
    elif nodes[code, COPIES] + change == 0:
        remove_node(code, tree, depth)
    else:
        for k in range(depth):
            nodes[path[0, k], TOTAL] += change
        nodes[code, COPIES] += change
        nodes[code, TOTAL] += change
    if change < 0:
        shift_cut(code, rank, -change, -1, tree, shown)


@kernel
def top_changes(changes, at, tree, shown, coming, out):
    """Fold changes instant by instant; emit how the rows of the cut change.

        changes:  (ts, codes, weights), ts ascending; to be gone on with at number `at`
        coming:   room for the rows of an instant, as long as there may be codes
        out:      [ts, code, weight]  a line each

    Stops where `out` has no room for an instant: work[TOUCHED] is then positive, and the next
    call emits it first. Returns where to go on.
    """
    ts, codes, weights = changes
    marks, touched, work = shown.marks, shown.touched, tree.work
    while True:
        # Emit what the instant before has changed.
        if work[TOUCHED] > 0:
            if work[MADE] + work[TOUCHED] > out.shape[1]:
                return at
            for k in range(work[TOUCHED]):
                code = touched[k]
                if marks[code, NET] != 0:
                    n = work[MADE]
                    out[0, n] = ts[at - 1]
                    out[1, n] = code
                    out[2, n] = marks[code, NET]
                    work[MADE] = n + 1
                marks[code, NET] = 0
                marks[code, LISTED] = 0
            work[TOUCHED] = 0
        if at == len(ts):
            return at
        # Net the changes of each row at the next instant, then make them.
        now, count = ts[at], 0
        while at < len(ts) and ts[at] == now:
            code = codes[at]
            if marks[code, AWAITED] == 0:
                marks[code, AWAITED] = 1
                coming[count] = code
                count += 1
            marks[code, COMING] += weights[at]
            at += 1
        for k in range(count):
            code = coming[k]
            change = marks[code, COMING]
            marks[code, COMING] = 0
            marks[code, AWAITED] = 0
            if change != 0:
                change_row(code, change, tree, shown)
