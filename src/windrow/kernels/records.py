"""Loops over stored rows whose columns lie side by side."""

from __future__ import annotations

from windrow.kernels.jit import kernel
from windrow.kernels.prefetch import place, soon

BLOCK = 256
"""Rows that are gathered together: what the first columns brought into the cache is still there."""


@kernel
def gather_words(words, columns, at, out, line, start):
    """Copy the first `columns` of the rows `at` into lines, from place `start` on.

    words:  one row after the other              out:  one line a column, from `line` on
            [ a a' ] [ b b' ] [ c c' ]           at = [c, a]  ->  [ .. c  a  ]
                                                                  [ .. c' a' ]
    """
    for first in range(0, len(at), BLOCK):
        rows = min(BLOCK, len(at) - first)
        k = 0
        for r in range(rows):
            soon(words, at[place(first + r)])
        while k + 1 < columns:
            for r in range(rows):
                row = place(at[place(first + r)])
                out[place(line + k), place(start + first + r)] = words[row, place(k)]
                out[place(line + k + 1), place(start + first + r)] = words[row, place(k + 1)]
            k += 2
        if k < columns:
            for r in range(rows):
                row = place(at[place(first + r)])
                out[place(line + k), place(start + first + r)] = words[row, place(k)]


@kernel
def gather_bits(valid, at, out, line, start):
    """Copy the places `at` of every line of bits, from line `line` and place `start` on."""
    for k in range(valid.shape[0]):
        for r in range(len(at)):
            out[place(line + k), place(start + r)] = valid[k, place(at[r])]
