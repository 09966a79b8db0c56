"""Aggregates of a join's results from partial values by entry: a pass over contributions a call.

    changes: (origin, entry, row, weight, rows)    see `operators/join/aggregation/parts.py`
    contributions: (events, entries, change)       of each, see there; entries of each input

                      changes of `which`
                              │
    partials[entry]  ◄────────┤ value × rows
         │                    │ value × weight of the contribution
         │ × combinations     ▼
         └─────────────► sums[group]

A contribution of another input's change adds the partial value of its entry, as often as there are
combinations of the other inputs: its weight without the copies of that entry. With two inputs that
is the weight of the change; with more, copies are kept beside the partial values, in column COPIES.
`takes` says which rows a call folds (not NULL, FILTER true); of length 0, it takes all.

All kernels walk through contributions in the same three steps:

    1. changes up to the contribution's own are added to the partial values of their entries, so
       that partials are those of the contribution's instant;
    2. the contribution adds to its group: if the change is one of `which`, its own value, else the
       partial value of the entry of `which` that it met;
    3. after the last contribution of an emission, the group's value is written.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from windrow.kernels.groups import CLOSES, EMISSION, GROUP, WEIGHT
from windrow.kernels.jit import force_inlined, kernel
from windrow.kernels.prefetch import place
from windrow.kernels.words import add_words

COPIES = 0
"""First column of partials: how many copies the entry has."""

MANY = 1 << 62

START = np.int64(0)
"""The first change: a number as written would be a type of its own, and be compiled for."""


class SumWords(NamedTuple):
    """By emission: the words of a sum, and whether there is one."""

    high: Any
    low: Any
    valid: Any


@kernel
def rows_spanned(origin, row, which):
    """Return the first row that changes of an input are about, and the one after the last."""
    first, end = MANY, 0
    for c in range(len(origin)):
        if origin[c] == which:
            first, end = min(first, row[c]), max(end, row[c] + 1)
    return min(first, end), end


@force_inlined
def combinations(total, copies):
    """Return total / copies, which is whole. Most entries change by one copy."""
    if copies == 1:
        return total
    if copies == -1:
        return -total
    return total // copies


@force_inlined
def own_weight(total, copies, rows):
    """Return how often a contribution of a change has the change's own value.

    A row that stands for several tuples has their sum as its value: it counts once.
    """
    return total if copies == rows else combinations(total, copies) * rows


@force_inlined
def change_counts(changes, start, stop, which, takes, partials):
    """Add changes [start, stop) to partial counts; return where the next begins."""
    origin, entry, row, weight, rows = changes
    all_taken = len(takes) == 0
    for at in range(start, stop):
        c = place(at)
        if origin[c] == which:
            p = place(entry[c])
            partials[p, COPIES] += weight[c]
            if all_taken or takes[place(row[c])]:
                partials[p, 1] += rows[c]
    return max(start, stop)


@kernel
def early_counts(changes, which, takes, contributions, partials, counts, out):
    """Count values; `out` gets the count of each emission.

    partials: entry -> [copies, values]; counts: group -> values
    """
    origin, _, row, weight, rows = changes
    events, entries, change = contributions
    all_taken = len(takes) == 0
    pair = len(entries) == 2
    at = START
    for n in range(events.shape[1]):
        i = place(n)
        g, w = place(events[GROUP, i]), events[WEIGHT, i]
        if w != 0:
            c = place(change[i])
            # 1. changes up to this one are in the partial values
            if at <= change[i]:
                at = change_counts(changes, at, change[i] + 1, which, takes, partials)
            # 2. the partial value of the entry that was met, or the change's own value
            if origin[c] != which:
                p = place(entries[place(which), i])
                times = weight[c] if pair else combinations(w, partials[p, COPIES])
                counts[g] += partials[p, 1] * times
            elif all_taken or takes[place(row[c])]:
                counts[g] += own_weight(w, weight[c], rows[c])
        # 3. the last event of an emission writes last
        out[place(events[EMISSION, i])] = counts[g]
    change_counts(changes, at, len(origin), which, takes, partials)


@force_inlined
def change_whole(changes, start, stop, which, takes, data, partials):
    """Add changes [start, stop) to partial sums; return where the next begins."""
    origin, entry, row, weight, rows = changes
    all_taken = len(takes) == 0
    for at in range(start, stop):
        c = place(at)
        if origin[c] == which:
            p, r = place(entry[c]), place(row[c])
            partials[p, COPIES] += weight[c]
            if all_taken or takes[r]:
                add_words(partials, p, 1, (data[r] >> 63, data[r]), rows[c])
                partials[p, 3] += rows[c]
    return max(start, stop)


@kernel
def early_whole(changes, which, takes, data, contributions, partials, sums, narrow, out):
    """Sum int64s; each emission gets 128 bits of its group's sum, `high` and `low`.

    If sums are to be `narrow`, those that have no 64 bits are not valid, and `high` is not written.

    sums: group -> [high, low, values], as in `sum_whole`; partials: entry -> [copies, then the
    same]. The sums are those of all results one by one.
    """
    origin, _, row, weight, rows = changes
    events, entries, change = contributions
    high, low, valid = out
    all_taken = len(takes) == 0
    pair = len(entries) == 2
    at = START
    for n in range(events.shape[1]):
        i = place(n)
        g, w, e = place(events[GROUP, i]), events[WEIGHT, i], place(events[EMISSION, i])
        if w != 0:
            c = place(change[i])
            # 1. changes up to this one are in the partial values
            if at <= change[i]:
                at = change_whole(changes, at, change[i] + 1, which, takes, data, partials)
            # 2. the partial value of the entry that was met, or the change's own value
            if origin[c] != which:
                p = place(entries[place(which), i])
                times = weight[c] if pair else combinations(w, partials[p, COPIES])
                add_words(sums, g, 0, (partials[p, 1], partials[p, 2]), times)
                sums[g, 2] += partials[p, 3] * times
            elif all_taken or takes[place(row[c])]:
                x, times = data[place(row[c])], own_weight(w, weight[c], rows[c])
                add_words(sums, g, 0, (x >> 63, x), times)
                sums[g, 2] += times
        # 3. the last event of an emission
        if events[CLOSES, e] == n:
            low[e] = sums[g, 1]
            valid[e] = sums[g, 2] > 0 and (not narrow or sums[g, 0] == sums[g, 1] >> 63)
            if not narrow:
                high[e] = sums[g, 0]
    change_whole(changes, at, len(origin), which, takes, data, partials)


@force_inlined
def change_wide(changes, start, stop, which, takes, upper, lower, partials):
    """Add changes [start, stop) to partial sums; return where the next begins."""
    origin, entry, row, weight, rows = changes
    all_taken = len(takes) == 0
    for at in range(start, stop):
        c = place(at)
        if origin[c] == which:
            p, r = place(entry[c]), place(row[c])
            partials[p, COPIES] += weight[c]
            if all_taken or takes[r]:
                add_words(partials, p, 1, (upper[r] >> 63, upper[r], lower[r]), rows[c])
                partials[p, 4] += rows[c]
    return max(start, stop)


@kernel
def early_wide(changes, which, takes, upper, lower, contributions, partials, sums, out):
    """Sum 128-bit numbers; each emission gets its group's sum, NULL if it has no 128 bits.

    sums: group -> [three words, values], as in `sum_wide`; partials: entry -> [copies, the same]
    """
    origin, _, row, weight, rows = changes
    events, entries, change = contributions
    high, low, valid = out
    all_taken = len(takes) == 0
    pair = len(entries) == 2
    at = START
    for n in range(events.shape[1]):
        i = place(n)
        g, w, e = place(events[GROUP, i]), events[WEIGHT, i], place(events[EMISSION, i])
        if w != 0:
            c = place(change[i])
            # 1. changes up to this one are in the partial values
            if at <= change[i]:
                at = change_wide(changes, at, change[i] + 1, which, takes, upper, lower, partials)
            # 2. the partial value of the entry that was met, or the change's own value
            if origin[c] != which:
                p = place(entries[place(which), i])
                times = weight[c] if pair else combinations(w, partials[p, COPIES])
                add_words(sums, g, 0, (partials[p, 1], partials[p, 2], partials[p, 3]), times)
                sums[g, 3] += partials[p, 4] * times
            elif all_taken or takes[place(row[c])]:
                r, times = place(row[c]), own_weight(w, weight[c], rows[c])
                add_words(sums, g, 0, (upper[r] >> 63, upper[r], lower[r]), times)
                sums[g, 3] += times
        # 3. the last event of an emission
        if events[CLOSES, e] == n:
            high[e], low[e] = sums[g, 1], sums[g, 2]
            valid[e] = sums[g, 3] > 0 and sums[g, 0] == sums[g, 1] >> 63
    change_wide(changes, at, len(origin), which, takes, upper, lower, partials)


@force_inlined
def change_words(changes, start, stop, which, takes, words, partials):
    """Add changes [start, stop) to partial sums; return where the next begins."""
    origin, entry, row, weight, rows = changes
    all_taken = len(takes) == 0
    for at in range(start, stop):
        c = place(at)
        if origin[c] == which:
            p, r = place(entry[c]), place(row[c])
            partials[p, COPIES] += weight[c]
            if all_taken or takes[r]:
                for k in range(words.shape[1]):
                    partials[p, place(k + 1)] += words[r, place(k)] * rows[c]
    return max(start, stop)


@kernel
def early_words(changes, which, takes, words, contributions, partials, sums, out):
    """Sum rows of words, column by column; `out` gets the sums of each emission.

    words: row -> [...]; sums: group -> [...]; partials: entry -> [copies, ...]
    """
    origin, _, row, weight, rows = changes
    events, entries, change = contributions
    all_taken = len(takes) == 0
    pair = len(entries) == 2
    width = sums.shape[1]
    at = START
    for n in range(events.shape[1]):
        i = place(n)
        g, w, e = place(events[GROUP, i]), events[WEIGHT, i], place(events[EMISSION, i])
        if w != 0:
            c = place(change[i])
            # 1. changes up to this one are in the partial values
            if at <= change[i]:
                at = change_words(changes, at, change[i] + 1, which, takes, words, partials)
            # 2. the partial value of the entry that was met, or the change's own value
            if origin[c] != which:
                p = place(entries[place(which), i])
                times = weight[c] if pair else combinations(w, partials[p, COPIES])
                for k in range(width):
                    sums[g, place(k)] += partials[p, place(k + 1)] * times
            elif all_taken or takes[place(row[c])]:
                times = own_weight(w, weight[c], rows[c])
                for k in range(width):
                    sums[g, place(k)] += words[place(row[c]), place(k)] * times
        # 3. the last event of an emission
        if events[CLOSES, e] == n:
            for k in range(width):
                out[e, place(k)] = sums[g, place(k)]
    change_words(changes, at, len(origin), which, takes, words, partials)
