"""MIN and MAX of tuples that carry `exp`: only those that can still win are stored.

A tuple is dominated if another is at least as good and lasts at least as long. What remains of
a group is a list: from front to back they expire later and are worse.

    front                    back
      9 ⇄ 7 ⇄ 7' ⇄ 2               value (MAX)      strictly worse
      3   5   8    9               expiry           strictly later

The front is the answer. First in, first out is the case where every tuple enters at the back.

    nodes (N × 4):  KEY, EXPIRY, BEFORE (towards the front), AFTER; node 0 means none
    meta:           nodes used, first free node (chained by AFTER), live nodes, comparisons

Keys compare as int64s: whole numbers as they are, doubles by `order_key`; interned values by
their bytes, arena[starts[code]:][:lengths[code]].
"""

from __future__ import annotations

from typing import Any, NamedTuple

from windrow.kernels.groups import CLOSES, EMISSION, GROUP, TIME, WEIGHT
from windrow.kernels.jit import kernel
from windrow.kernels.text import compare_codes

KEY, EXPIRY, BEFORE, AFTER = 0, 1, 2, 3
USED, FREE, LIVE, COMPARISONS = 0, 1, 2, 3
FRONT, BACK = 0, 1

PLAIN, REAL, BYTES = 0, 1, 2
"""How keys compare."""


class KeyOrder(NamedTuple):
    """How keys compare: the kind, and where the bytes of interned values are."""

    kind: Any
    arena: Any
    starts: Any
    lengths: Any


class Candidates(NamedTuple):
    """The lists of all groups: `ends` has the FRONT and the BACK of each."""

    ends: Any
    nodes: Any
    meta: Any


MAGNITUDE = 0x7FFFFFFFFFFFFFFF
INFINITY = 0x7FF0000000000000
NAN = 0x7FF8000000000000


@kernel
def order_key(bits, kind):
    """Return an int64 that sorts as the value: -0.0 is 0.0, NaN is greatest."""
    if kind != REAL:
        return bits
    if bits & MAGNITUDE > INFINITY:
        return NAN
    if bits >= 0:
        return bits
    return -(bits & MAGNITUDE)


@kernel
def value_of(key, kind):
    """Return the bits whose `order_key` this is."""
    if kind == REAL and key < 0:
        return (-key) | ~MAGNITUDE
    return key


@kernel
def compare(a, b, order):
    """Return the sign of a - b."""
    if order.kind == BYTES:
        return compare_codes(order.arena, order.starts, order.lengths, a, b)
    if a == b:
        return 0
    return -1 if a < b else 1


@kernel
def unlink(ends, g, nodes, node, meta):
    """Take a node out of its group's list and free it."""
    before, after = nodes[node, BEFORE], nodes[node, AFTER]
    if before:
        nodes[before, AFTER] = after
    else:
        ends[g, FRONT] = after
    if after:
        nodes[after, BEFORE] = before
    else:
        ends[g, BACK] = before
    nodes[node, AFTER] = meta[FREE]
    meta[FREE] = node
    meta[LIVE] -= 1


@kernel
def link_after(ends, g, nodes, at, meta):
    """Return a new node that follows `at`, or comes first if that is none."""
    node = meta[FREE]
    if node:
        meta[FREE] = nodes[node, AFTER]
    else:
        node = meta[USED]
        meta[USED] += 1
    meta[LIVE] += 1
    after = nodes[at, AFTER] if at else ends[g, FRONT]
    nodes[node, BEFORE] = at
    nodes[node, AFTER] = after
    if at:
        nodes[at, AFTER] = node
    else:
        ends[g, FRONT] = node
    if after:
        nodes[after, BEFORE] = node
    else:
        ends[g, BACK] = node
    return node


@kernel
def best_alive(events, takes, data, expiries, order, sign, candidates, out, valid):
    """Keep the tuples that can still win; each emission gets the best, NULL if there is none.

    `sign` is 1 for MAX, -1 for MIN. A tuple is removed at the first event of its group at or
    after its expiry. Needs room for a node an event. O(1) an event, amortised, if expiries ascend;
    else an event also passes those of its group that expire later.
    """
    ends, nodes, meta = candidates
    all_taken = len(takes) == 0
    for i in range(events.shape[1]):
        g, now = events[GROUP, i], events[TIME, i]
        # Expired tuples stand at the front.
        front = ends[g, FRONT]
        while front and nodes[front, EXPIRY] <= now:
            unlink(ends, g, nodes, front, meta)
            front = ends[g, FRONT]
        expiry = expiries[i]
        if events[WEIGHT, i] > 0 and expiry > now and (all_taken or takes[i]):
            key = order_key(data[i], order.kind)
            # From the back, pass those that expire later; one that is as good dominates the tuple.
            at = ends[g, BACK]
            dominated = False
            while at and nodes[at, EXPIRY] >= expiry:
                meta[COMPARISONS] += 1
                if compare(nodes[at, KEY], key, order) * sign >= 0:
                    dominated = True
                    break
                if nodes[at, EXPIRY] == expiry:
                    break
                at = nodes[at, BEFORE]
            # Those before its place expire no later: the tuple dominates all that are not better.
            if not dominated:
                while at and compare(key, nodes[at, KEY], order) * sign >= 0:
                    meta[COMPARISONS] += 1
                    before = nodes[at, BEFORE]
                    unlink(ends, g, nodes, at, meta)
                    at = before
                node = link_after(ends, g, nodes, at, meta)
                nodes[node, KEY] = key
                nodes[node, EXPIRY] = expiry
        e = events[EMISSION, i]
        if events[CLOSES, e] == i:
            front = ends[g, FRONT]
            valid[e] = front != 0
            if front:
                out[e] = value_of(nodes[front, KEY], order.kind)
