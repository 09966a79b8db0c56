"""Sums, means and variances of doubles from partial sums by entry: exact, as `sum_real` is.

    partial, sums: (limbs, squares, tallies)      by entry, by group; see `sums.py`, `spreads.py`

All rows are settled: every limb but the last is in [0, 2^32). So n times a partial sum is limb by
limb n times as much, and leaves room for carries as n values do. Most contributions are read at
once, so that carries would not wait long; taken with the sum, they cost less than loops that the
compiler turns to vectors. Squares have no limbs unless a variance is asked for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from windrow.kernels.early_folds import START, combinations, own_weight
from windrow.kernels.groups import CLOSES, EMISSION, GROUP, WEIGHT
from windrow.kernels.jit import force_inlined, kernel
from windrow.kernels.prefetch import place
from windrow.kernels.spreads import ONLY, add_square, real_spread
from windrow.kernels.sums import (
    BUDGET,
    IMPLICIT,
    MAGNITUDE,
    MASK,
    MINUS,
    NANS,
    PLUS,
    SPECIAL,
    VALUES,
    add_real,
    real_sum,
    settle,
    tally,
)

COPIES, TALLIES = 4, 8
"""After the columns of tallies in `sums.py`, an entry's copies; a row is a line of the cache."""

AT_ONCE = BUDGET >> 3
"""Copies of a value, or of a settled row, whose sums and squares leave room for carries."""

SUM, MEAN = 4, 5
"""What is asked for; 0 to 3 are the kinds of `spreads.py`."""

NO_LIMB = 1 << 30

ONCE = np.int64(1)  # typed, as `ONLY` is


class RealState(NamedTuple):
    """Sums by entry and by group, and room: `own` for one value, `work` for a variance.

    Limb 0 of all rows is limb number `base`.
    """

    base: Any
    partial: Any
    own: Any
    sums: Any
    work: Any


@kernel
def limbs_spanned(takes, bits):
    """Return the lowest and the highest limb that a value begins at; NO_LIMB, -1 if none has."""
    low, high = NO_LIMB, -1
    all_taken = len(takes) == 0
    for r in range(len(bits)):
        exponent = (bits[r] >> 52) & SPECIAL
        if exponent != SPECIAL and bits[r] & MAGNITUDE != 0 and (all_taken or takes[r]):
            limb = max(exponent - 1, 0) >> 5
            low, high = min(low, limb), max(high, limb)
    return low, high


@force_inlined
def add_value(sums, at, base, bits, w):
    """Add w copies of a double."""
    limbs, squares, tallies = sums
    if not tally(tallies, at, bits, w):
        return
    # The double is m · 2^lowest, in units of the lowest bit that doubles have.
    lowest = (bits >> 52) & SPECIAL
    m = bits & (IMPLICIT - 1)
    if lowest > 0:
        m |= IMPLICIT
        lowest -= 1
    limb, shift = (lowest >> 5) - base, lowest & 31
    # So many copies at a time that no limb overflows before its carry is taken.
    while w != 0:
        step = min(max(w, -AT_ONCE), AT_ONCE)
        add_real(limbs, at, limb, shift, m, -step if bits < 0 else step)
        settle(limbs, at)
        if squares.shape[1]:
            add_square(squares, at, 2 * limb, shift, m, step)
            settle(squares, at)
        w -= step


@force_inlined
def add_limbs(limbs, at, more, p, w):
    """Add w times a settled row to another, and take its carries."""
    top = limbs.shape[1] - 1
    carry = 0
    for k in range(top):
        s = limbs[place(at), place(k)] + more[place(p), place(k)] * w + carry
        carry = s >> 32
        limbs[place(at), place(k)] = s & MASK
    if top >= 0:
        limbs[place(at), place(top)] += more[place(p), place(top)] * w + carry


@force_inlined
def add_partial(sums, at, partial, p, w):
    """Add w times a partial sum."""
    limbs, squares, tallies = sums
    more, more_squares, more_tallies = partial
    g, e = place(at), place(p)
    tallies[g, VALUES] += more_tallies[e, VALUES] * w
    if more_tallies[e, NANS] | more_tallies[e, PLUS] | more_tallies[e, MINUS]:
        for k in range(NANS, COPIES):
            tallies[g, place(k)] += more_tallies[e, place(k)] * w
    while w != 0:
        step = min(max(w, -AT_ONCE), AT_ONCE)
        add_limbs(limbs, at, more, p, step)
        if squares.shape[1]:
            add_limbs(squares, at, more_squares, p, step)
        w -= step


@force_inlined
def become(sums, base, bits):
    """Make row 0 that of one double."""
    limbs, squares, tallies = sums
    limbs[0, :] = 0
    squares[0, :] = 0
    tallies[0, :] = 0
    add_value(sums, ONLY, base, bits, ONCE)


@force_inlined
def change_reals(changes, start, stop, which, takes, bits, base, partial):
    """Add changes [start, stop) to partial sums; return where the next begins."""
    origin, entry, row, weight, rows = changes
    all_taken = len(takes) == 0
    for at in range(start, stop):
        c = place(at)
        if origin[c] == which:
            p, r = entry[c], place(row[c])
            partial[2][place(p), COPIES] += weight[c]
            if all_taken or takes[r]:
                add_value(partial, p, base, bits[r], rows[c])
    return max(start, stop)


@kernel
def early_reals(changes, which, takes, bits, contributions, state, kind, out, valid):
    """Sum doubles, given as bits; each emission gets what `kind` asks for of its group.

    Needs limbs for all values: `limbs_spanned` says which. `own` is one row, for the value of a
    change that contributes to many groups.
    """
    origin, _, row, weight, rows = changes
    events, entries, change = contributions
    base, partial, own, sums, work = state
    limbs, squares, tallies = sums
    all_taken = len(takes) == 0
    pair = len(entries) == 2
    least = 1 if kind in (1, 3) else 0  # the samples divide by n - 1
    at, last = START, -1
    for n in range(events.shape[1]):
        i = place(n)
        g, w, e = events[GROUP, i], events[WEIGHT, i], place(events[EMISSION, i])
        if w != 0:
            c = place(change[i])
            # The three steps of `early_folds.py`.
            if at <= change[i]:
                at = change_reals(changes, at, change[i] + 1, which, takes, bits, base, partial)
            if origin[c] != which:
                p = entries[place(which), i]
                times = weight[c] if pair else combinations(w, partial[2][place(p), COPIES])
                add_partial(sums, g, partial, p, times)
            elif all_taken or takes[place(row[c])]:
                # Take the double apart once a change, not once a contribution.
                if last != change[i]:
                    last = change[i]
                    become(own, base, bits[place(row[c])])
                add_partial(sums, g, own, ONLY, own_weight(w, weight[c], rows[c]))
        if events[CLOSES, e] != n:
            continue
        valid[e] = tallies[place(g), VALUES] > least
        if valid[e] and kind >= SUM:
            out[e] = real_sum(base, limbs, tallies, g, kind == MEAN)
        elif valid[e]:
            out[e] = real_spread(base, limbs, squares, tallies, g, work, kind)
    change_reals(changes, at, len(origin), which, takes, bits, base, partial)
