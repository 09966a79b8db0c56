"""Loops over stored rows: gather them, merge arrivals with ends, scan a plain list for ends."""

from __future__ import annotations

from windrow.kernels.jit import kernel
from windrow.kernels.prefetch import place

NEVER = 2**63 - 1

LENGTH, FIRST_END, COMPARISONS = 0, 1, 2


@kernel
def gather_rows(words, valid, at, out, out_valid):
    """Copy the places `at` of every column.

    words, valid:  one line a column, one place a row          out:  one line a column
                   [ . a . b . . c ]      at = [c, a]      ->        [ c a ]
    """
    for k in range(words.shape[0]):
        for i in range(len(at)):
            out[k, i] = words[k, place(at[i])]
    for k in range(valid.shape[0]):
        for i in range(len(at)):
            out_valid[k, i] = valid[k, place(at[i])]


@kernel
def count_stillborn(ts, exp):
    """Count the rows that end at or before their arrival."""
    count = 0
    for i in range(len(ts)):
        if exp[i] <= ts[i]:
            count += 1
    return count


@kernel
def take_places(free, freed, used, places):
    """Fill `places` with free ones, newest first, then those from `used` on.

    Return how many were free.
    """
    again = min(freed, len(places))
    for i in range(again):
        places[i] = free[freed - 1 - i]
    for i in range(again, len(places)):
        places[i] = used + i - again
    return again


@kernel
def scatter_words(line, at, values):
    """Put values at their places of a line."""
    for i in range(len(at)):
        line[at[i]] = values[i]


@kernel
def merge_ends(born, born_at, ends, ends_at, ts, weight, at):
    """Merge arrivals and ends, both ascending, into signed changes; ends first at one instant.

    born [ 3  5  5 ]   ends [ 5  9 ]   ->   ts [ 3  5  5  5  9 ]   weight [ + - + + - ]

    `at` gets the place of each change's row, from `born_at` or `ends_at`.
    """
    i = 0
    j = 0
    while i < len(born) and j < len(ends):
        # No branch: which comes next is a coin toss (13 ns a change with a branch, 3 without).
        is_end = ends[j] <= born[i]
        ts[i + j] = ends[j] if is_end else born[i]
        at[i + j] = ends_at[j] if is_end else born_at[i]
        taken = 1 if is_end else 0
        weight[i + j] = 1 - 2 * taken
        i += 1 - taken
        j += taken
    while i < len(born):
        ts[i + j] = born[i]
        at[i + j] = born_at[i]
        weight[i + j] = 1
        i += 1
    while j < len(ends):
        ts[i + j] = ends[j]
        at[i + j] = ends_at[j]
        weight[i + j] = -1
        j += 1


@kernel
def scan_list(born, exp, rows, clock, kept_exp, kept_rows, meta, out_exp, out_rows):
    """Scan the whole list at every instant up to `clock`; return how many rows ended.

        instants: each distinct arrival, and each end      kept: rows in order of arrival

    A scan compares every kept row with the instant: the cost of not knowing more about the
    order of ends than that [THESIS 2.3.3]. Needs room in `kept` for all arrivals, in `out` for
    all kept rows and arrivals. `meta` holds [length, first end among the kept, comparisons].
    """
    length = meta[LENGTH]
    first_end = meta[FIRST_END]
    ended = 0
    i = 0
    while True:
        instant = first_end
        if i < len(born) and born[i] < instant:
            instant = born[i]
        if instant > clock or instant == NEVER:
            break
        meta[COMPARISONS] += length
        first_end = NEVER
        left = 0
        for j in range(length):
            if kept_exp[j] <= instant:
                out_exp[ended] = kept_exp[j]
                out_rows[ended] = kept_rows[j]
                ended += 1
            else:
                first_end = min(first_end, kept_exp[j])
                kept_exp[left] = kept_exp[j]
                kept_rows[left] = kept_rows[j]
                left += 1
        length = left
        while i < len(born) and born[i] == instant:
            if exp[i] != NEVER:
                kept_exp[length] = exp[i]
                kept_rows[length] = rows[i]
                length += 1
                first_end = min(first_end, exp[i])
            i += 1
    meta[LENGTH] = length
    meta[FIRST_END] = first_end
    return ended
