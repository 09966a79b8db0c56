"""Counters: how many values a group has, how many are true, how many of each there are.

`takes` says which events a call folds (not NULL, FILTER true); of length 0, it takes all.
"""

from __future__ import annotations

from windrow.kernels.groups import CLOSES, EMISSION, GROUP, WEIGHT
from windrow.kernels.jit import kernel


@kernel
def count_values(events, takes, counts, out):
    """Count the values of each group; `out` gets the count of each emission."""
    all_taken = len(takes) == 0
    for i in range(events.shape[1]):
        group = events[GROUP, i]
        if all_taken or takes[i]:
            counts[group] += events[WEIGHT, i]
        out[events[EMISSION, i]] = counts[group]


@kernel
def count_truths(events, takes, truths, counts, every, out, valid):
    """Count false and true values; `out` gets whether `every` one is true, or any is.

    counts: group -> [false, true]
    """
    all_taken = len(takes) == 0
    for i in range(events.shape[1]):
        group = events[GROUP, i]
        if all_taken or takes[i]:
            counts[group, 1 if truths[i] else 0] += events[WEIGHT, i]
        e = events[EMISSION, i]
        no, yes = counts[group, 0], counts[group, 1]
        valid[e] = no + yes > 0
        out[e] = (no == 0) if every else (yes > 0)


WORD_BITS = 64
AND, OR, XOR = 0, 1, 2


@kernel
def count_bits(events, takes, words, counts, kind, out, valid):
    """Count of each bit the words that have it; `out` gets the AND, OR or XOR of each group.

    counts: group -> [one a bit, words]
    """
    all_taken = len(takes) == 0
    for i in range(events.shape[1]):
        group, w, e = events[GROUP, i], events[WEIGHT, i], events[EMISSION, i]
        if all_taken or takes[i]:
            counts[group, WORD_BITS] += w
            for bit in range(WORD_BITS):
                counts[group, bit] += w * ((words[i] >> bit) & 1)
        if events[CLOSES, e] != i:
            continue
        total, made = counts[group, WORD_BITS], 0
        for bit in range(WORD_BITS):
            n = counts[group, bit]
            has = n == total if kind == AND else (n > 0 if kind == OR else n & 1 == 1)
            if has:
                made |= -1 << bit if bit == WORD_BITS - 1 else 1 << bit
        valid[e], out[e] = total > 0, made


@kernel
def first_copies(events, places, codes, counts, weights, idle):
    """Turn changes of a bag into changes of its set.

        event i:   counts[code] 0 ─► 1+   weights[i] = +1     the value appears
                                1+ ─► 0               -1      it is gone
                                else                   0

    `codes` are those of the events at `places`; events elsewhere get weight 0. `idle` gets
    each code that ends with no copies, once; return how many.
    """
    weights[:] = 0
    # Only a change between none and some is a change of the set.
    for k in range(len(places)):
        code, i = codes[k], places[k]
        before = counts[code] > 0
        counts[code] += events[WEIGHT, i]
        after = counts[code] > 0
        if before != after:
            weights[i] = 1 if after else -1
    # A code may stand in `codes` several times: -1 says that it is listed already.
    n = 0
    for k in range(len(codes)):
        code = codes[k]
        if counts[code] == 0:
            counts[code] = -1
            idle[n] = code
            n += 1
    for k in range(n):
        counts[idle[k]] = 0
    return n
