"""Loops over stored rows whose columns lie side by side."""

from __future__ import annotations

from windrow.kernels.jit import kernel
from windrow.kernels.prefetch import place, soon

BLOCK = 256
"""Rows that are gathered together: what the first columns brought into the cache is still there.

The rows of the next block are announced while this one is copied: 8 ns a row of four words that
does not fit the cache, against 10 where a block is announced and then copied.
"""


@kernel
def gather_words(words, columns, at, out, line, start):
    """Copy the first `columns` of the rows `at` into lines, from place `start` on.

    words:  one row after the other              out:  one line a column, from `line` on
            [ a a' ] [ b b' ] [ c c' ]           at = [c, a]  ->  [ .. c  a  ]
                                                                  [ .. c' a' ]
    """
    if columns == 0:
        return
    last = len(at) - 1
    second = min(columns - 1, 1)
    for r in range(min(BLOCK, len(at))):
        soon(words, at[place(r)])
    for first in range(0, len(at), BLOCK):
        stop = min(first + BLOCK, len(at))
        for r in range(first, stop):
            soon(words, at[place(min(r + BLOCK, last))])
            row = place(at[place(r)])
            out[place(line), place(start + r)] = words[row, place(0)]
            out[place(line + second), place(start + r)] = words[row, place(second)]
        k = 2
        while k + 1 < columns:
            for r in range(first, stop):
                row = place(at[place(r)])
                out[place(line + k), place(start + r)] = words[row, place(k)]
                out[place(line + k + 1), place(start + r)] = words[row, place(k + 1)]
            k += 2
        if k < columns:
            for r in range(first, stop):
                out[place(line + k), place(start + r)] = words[place(at[place(r)]), place(k)]


@kernel
def gather_word(words, column, at, out):
    """Copy one column of the rows `at`."""
    for r in range(len(at)):
        out[r] = words[place(at[r]), place(column)]


@kernel
def gather_bits(valid, at, out, line, start):
    """Copy the places `at` of every line of bits, from line `line` and place `start` on."""
    for k in range(valid.shape[0]):
        for r in range(len(at)):
            out[place(line + k), place(start + r)] = valid[k, place(at[r])]
