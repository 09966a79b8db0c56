"""Orders of rows: runs merged by time, and rows compared and sorted by value.

how:  a line a term    [word, kind, descending, nulls first]
null_word:             place of the NULL bits in a row's words, -1 if there are none
text:                  (arena, starts, lengths) of the interner
"""

from __future__ import annotations

from windrow.kernels.jit import kernel
from windrow.kernels.text import compare_codes

WORD, KIND, DESCENDING, NULLS_FIRST = 0, 1, 2, 3
"""Columns of `how`."""

INTEGER, FLOAT, TEXT = 0, 1, 2
"""How the words of a term are to be read."""


@kernel
def merge_runs(ts, bounds, at, order):
    """Fill `order` with the rows of several runs by time; at one instant the first run first.

    ts:  │ 1 4 4 9 │ 2 4 │ 7 │       run r is rows [bounds[r], bounds[r + 1])
    order:  1 2 4 4 4 7 9
    """
    runs = len(at)
    n = 0
    while n < len(order):
        # The run whose next row is earliest; of equal ones the first. There are few runs.
        best = -1
        for r in range(runs):
            if at[r] < bounds[r + 1] and (best < 0 or ts[at[r]] < ts[at[best]]):
                best = r
        limit = ts[at[best]]  # rows of this instant have no rival in earlier runs
        while at[best] < bounds[best + 1] and ts[at[best]] == limit:
            order[n] = at[best]
            at[best] += 1
            n += 1


@kernel
def compare_rows(words, a, b, how, null_word, text):
    """Return -1 if row a of `words` comes before row b, 1 if after, 0 if all terms are equal.

    Floats are canonical bits: flipping those of negative numbers makes their order that of
    integers, with NaN last.
    """
    for t in range(len(how)):
        word = how[t, WORD]
        x, y = words[a, word], words[b, word]
        if null_word >= 0:
            # NULLs are equal; beside another value they stand where the term says.
            x_null = (words[a, null_word] >> word) & 1
            y_null = (words[b, null_word] >> word) & 1
            if x_null != y_null:
                return -1 if (x_null == 1) == (how[t, NULLS_FIRST] == 1) else 1
            if x_null == 1:
                continue
        if x == y:
            continue
        kind = how[t, KIND]
        if kind == TEXT:
            result = compare_codes(text[0], text[1], text[2], x, y)
        else:
            # Negative floats: all bits but the sign are turned.
            if kind == FLOAT:
                x ^= (x >> 63) & 0x7FFFFFFFFFFFFFFF
                y ^= (y >> 63) & 0x7FFFFFFFFFFFFFFF
            result = -1 if x < y else 1
        if result != 0:
            return -result if how[t, DESCENDING] == 1 else result
    return 0


@kernel
def sort_instants(ts, words, how, null_word, text, order, spare):
    """Sort the rows of each instant by value; `order` comes in as 0, 1, 2 ... O(n log n).

    Bottom-up merge sort within each instant: pieces of 1, 2, 4 ... rows become one.
    """
    start = 0
    while start < len(ts):
        end = start + 1
        while end < len(ts) and ts[end] == ts[start]:
            end += 1
        # Merge neighbours, of 1, 2, 4 ... rows; of equal rows the left one first.
        size = 1
        while size < end - start:
            low = start
            while low + size < end:
                middle, high = low + size, min(low + 2 * size, end)
                i, j = low, middle
                for k in range(low, high):
                    left = j == high or (
                        i < middle
                        and compare_rows(words, order[i], order[j], how, null_word, text) <= 0
                    )
                    if left:
                        spare[k] = order[i]
                        i += 1
                    else:
                        spare[k] = order[j]
                        j += 1
                for k in range(low, high):
                    order[k] = spare[k]
                low += 2 * size
            size *= 2
        start = end
