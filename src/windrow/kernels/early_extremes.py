"""MIN and MAX of a join's results: ordered bags of values by entry, of entries' extremes by group.

    entry 3:  4 7 9                          group 0:  4 (×2)  5 (×6)
              └──── 2 combinations ────────────────────┘       │
    entry 8:  5 5   of tuples of the other inputs              │
              └──── 6 combinations ────────────────────────────┘

Invariant: of each entry that a group has results of, the group's bag has the extreme, as often as
there are combinations. A change that leaves the extreme of its entry as it is costs its groups
nothing. One that moves it from v to v' retracts v and inserts v' for each of its contributions;
those of one instant may come in any order, as they add up.

    moves: change -> [HAD, BEFORE, HAS, AFTER]   whether its entry has values, and their extreme
    now:   entry -> [COPIES, FILLED, BEST]       the same, as of the contribution that is looked at
    shown: group -> [EXTREME, STALE]             what was read last, whether the bag has changed
"""

from __future__ import annotations

from typing import Any, NamedTuple

from windrow.kernels.early_folds import COPIES, combinations
from windrow.kernels.extremes import LIVE, compare, order_key, value_of
from windrow.kernels.groups import CLOSES, EMISSION, GROUP, WEIGHT
from windrow.kernels.jit import force_inlined, kernel
from windrow.kernels.ordered import KEY, LEFT, RIGHT, change_copies

HAD, BEFORE, HAS, AFTER = 0, 1, 2, 3
FILLED, BEST = 1, 2
EXTREME, STALE = 0, 1
CONTRIBUTION, CHANGE = 0, 1


class ExtremeCall(NamedTuple):
    """The input that a call reads, how its values compare, and 1 for MAX, -1 for MIN."""

    which: Any
    order: Any
    sign: Any


@kernel
def end_of_tree(nodes, root, sign):
    """Return the greatest key of a tree that has one, or the least."""
    side = RIGHT if sign > 0 else LEFT
    while nodes[root, side]:
        root = nodes[root, side]
    return nodes[root, KEY]


@kernel
def move_extremes(changes, call, takes, data, trees, bests, moves):
    """Add changes to the bags of their entries; fill in `moves`.

    `bests` has the extreme of each entry that has a bag. Needs room for a node a change.
    """
    origin, entry, row, _, rows = changes
    which, order, sign = call
    roots, nodes, _ = trees
    all_taken = len(takes) == 0
    for c in range(len(origin)):
        if origin[c] != which:
            continue
        p, r = entry[c], row[c]
        best = bests[p]
        had = roots[p] != 0
        moves[c, HAD] = had
        moves[c, BEFORE] = best
        if all_taken or takes[r]:
            key = order_key(data[r], order.kind)
            change_copies(trees, p, 0, key, rows[c], order)
            # A value that is worse than the extreme leaves it as it is, inserted or retracted.
            worse = had and compare(key, best, order) * sign < 0
            if roots[p] and not worse:
                bests[p] = end_of_tree(nodes, roots[p], sign)
        moves[c, HAS] = roots[p] != 0
        moves[c, AFTER] = bests[p]


@force_inlined
def follow_moves(changes, start, stop, which, moves, now):
    """Bring `now` up to date with changes [start, stop); return where the next begins."""
    origin, entry, _, weight, _ = changes
    for c in range(start, stop):
        if origin[c] == which:
            now[entry[c], COPIES] += weight[c]
            now[entry[c], FILLED] = moves[c, HAS]
            now[entry[c], BEST] = moves[c, AFTER]
    return max(start, stop)


@kernel
def early_extremes(cursor, changes, call, moves, contributions, now, trees, shown, out, valid):
    """Keep the bags of groups; each emission gets the extreme of its group, NULL if there is none.

    `cursor` is where to begin, a CONTRIBUTION and a CHANGE. Stops before a contribution that may
    find no room for its two nodes, or at the end.
    """
    origin, _, _, weight, _ = changes
    which, order, sign = call
    events, entries, change = contributions
    roots, nodes, meta = trees
    pair = len(entries) == 2
    at = cursor[CHANGE]
    for i in range(cursor[CONTRIBUTION], events.shape[1]):
        if meta[LIVE] + 3 > len(nodes):
            cursor[CONTRIBUTION] = i
            cursor[CHANGE] = at
            return
        g, w, e = events[GROUP, i], events[WEIGHT, i], events[EMISSION, i]
        if w != 0:
            c = change[i]
            if at <= c:
                at = follow_moves(changes, at, c + 1, which, moves, now)
            # Which extremes the contribution retracts and inserts, and how many copies of each.
            retracts, inserts, n = False, False, 0
            before = after = 0
            # Another input's change met an entry: its extreme, as it is now.
            if origin[c] != which:
                p = entries[which, i]
                inserts, after = now[p, FILLED] != 0, now[p, BEST]
                n = weight[c] if pair else combinations(w, now[p, COPIES])
            # A change of this input: only if it moved the extreme of its entry.
            elif moves[c, HAD] != moves[c, HAS] or moves[c, BEFORE] != moves[c, AFTER]:
                retracts, before = moves[c, HAD] != 0, moves[c, BEFORE]
                inserts, after = moves[c, HAS] != 0, moves[c, AFTER]
                n = combinations(w, weight[c])
            if retracts:
                change_copies(trees, g, 0, before, -n, order)
            if inserts:
                change_copies(trees, g, 0, after, n, order)
            if retracts or inserts:
                shown[g, STALE] = 1
        if events[CLOSES, e] != i:
            continue
        # Search for the extreme of the group only if its bag has changed since it was last read.
        valid[e] = roots[g] != 0
        if roots[g]:
            if shown[g, STALE]:
                shown[g, EXTREME] = end_of_tree(nodes, roots[g], sign)
                shown[g, STALE] = 0
            out[e] = value_of(shown[g, EXTREME], order.kind)
    cursor[CONTRIBUTION] = events.shape[1]
    cursor[CHANGE] = follow_moves(changes, at, len(origin), which, moves, now)
