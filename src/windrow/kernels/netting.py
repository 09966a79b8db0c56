"""Netting the changes of an instant: retractions and insertions of a row at one τ cancel.

    ts       3  5  5  5  9  9
    weights  +  -  +  +  -  -      the three of instant 5 have both signs: only they can cancel

Rows of one sign are not added up: few of them meet, and each would be distinguished again.
"""

from __future__ import annotations

import numpy as np

from windrow.kernels.hashing import hash_words, same_words
from windrow.kernels.jit import kernel


@kernel
def signs_of(weights, signs):
    """Write the sign of each weight; return whether each is of one copy."""
    alone = True
    for i in range(len(weights)):
        w = weights[i]
        signs[i] = 1 if w > 0 else -1
        alone &= abs(w) == 1
    return alone


@kernel
def rows_that_may_cancel(ts, weights, rows):
    """List the rows of instants that have both signs.

    Returns how many they are, how many of one instant at most, and whether in each of them
    retractions stand before insertions.
    """
    n, most = 0, 0
    in_order = True
    start = 0
    while start < len(ts):
        # The rows of the instant, and how many of them are insertions.
        now = ts[start]
        ups = 0
        end = start
        while end < len(ts) and ts[end] == now:
            ups += 1 if weights[end] > 0 else 0
            end += 1
        if 0 < ups < end - start:
            most = max(most, end - start)
            for i in range(start, end):
                rows[n] = i
                n += 1
            for i in range(start, end - ups):
                in_order = in_order and weights[i] < 0
        start = end
    return n, most, in_order


@kernel
def cancel(rows, words, ts, weights, slots, equals, left):
    """Cancel insertions against retractions, instant by instant; return how many copies.

        rows:    rows that may cancel, ascending; words[k] are those of row rows[k]
        slots:   a table of the instant's retractions: k + 1, stale if it is of an older instant
        equals:  k -> the first retraction of the instant with the same words, as k; or -1
        left:    k -> copies retracted of these words that are not cancelled yet

    Needs twice as many slots as an instant has rows, a power of two, all 0. O(rows).
    """
    mask = np.uint64(len(slots) - 1)
    total = 0
    start = 0
    while start < len(rows):
        now = ts[rows[start]]
        end = start
        while end < len(rows) and ts[rows[end]] == now:
            end += 1
        for k in range(start, end):
            left[k] = 0
        # Retractions first: they fill the table, and insertions are looked up in it.
        for sign in (-1, 1):
            for k in range(start, end):
                if weights[rows[k]] * sign < 0:
                    continue
                at = hash_words(words, k) & mask
                while slots[at] > start and not same_words(words, slots[at] - 1, words, k):
                    at = (at + np.uint64(1)) & mask
                if sign < 0 and slots[at] <= start:
                    slots[at] = k + 1
                equals[k] = slots[at] - 1 if slots[at] > start else -1
                if sign < 0:
                    left[equals[k]] -= weights[rows[k]]
        # Each insertion cancels as many copies as are left of its words.
        found = 0
        for k in range(start, end):
            weight = weights[rows[k]]
            if weight > 0 and equals[k] >= 0:
                taken = min(weight, left[equals[k]])
                weights[rows[k]] -= taken
                left[equals[k]] -= taken
                found += taken
        if found > 0:
            keep_retractions(rows, weights, equals, left, start, end)
        total += found
        start = end
    return total


@kernel
def keep_retractions(rows, weights, equals, left, start, end):
    """Reduce the retractions of one instant to the `left` copies that were not cancelled."""
    for k in range(start, end):
        weight = weights[rows[k]]
        if weight < 0:
            stays = min(-weight, left[equals[k]])
            weights[rows[k]] = -stays
            left[equals[k]] -= stays


@kernel
def retractions_first(ts, weights, kept):
    """List the rows whose weight is not 0, of each instant retractions first; return how many."""
    n = 0
    start = 0
    while start < len(ts):
        end = start
        while end < len(ts) and ts[end] == ts[start]:
            if weights[end] < 0:
                kept[n] = end
                n += 1
            end += 1
        for i in range(start, end):
            if weights[i] > 0:
                kept[n] = i
                n += 1
        start = end
    return n
