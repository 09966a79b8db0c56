"""Exact variances: Σx and Σx² in limbs, and n·Σx² - (Σx)² without a rounding.

Limbs of Σx start at bit 32·base - 1074, those of Σx² at twice that, so that the two products
lie on the same limbs. The difference is rounded once, then divided: a few units in the last
place, whatever the mean. See `sums.py` for limbs.
"""

from __future__ import annotations

import math

import numpy as np

from windrow.kernels.groups import CLOSES, EMISSION, GROUP, WEIGHT
from windrow.kernels.jit import kernel
from windrow.kernels.sums import (
    IMPLICIT,
    LOWEST,
    MASK,
    MINUS,
    NANS,
    PLUS,
    SPECIAL,
    VALUES,
    add_real,
    digit,
    fits,
    rounded,
    scaled,
    settle,
    tally,
)

ONLY = np.int64(0)
"""The row of one value: a number as written would be a type of its own."""


@kernel
def add_product(limbs, g, limb, a, b, w):
    """Add w·a·b at a limb. a, b < 2^32; never more than 64 bits at work."""
    # b in halves of 16 bits, so that each product has at most 48.
    inner = a * (b & 0xFFFF)
    outer = a * (b >> 16)
    limbs[g, limb] += ((inner & MASK) + ((outer & 0xFFFF) << 16)) * w
    limbs[g, limb + 1] += ((inner >> 32) + (outer >> 16)) * w


@kernel
def add_square(limbs, g, limb, shift, m, w):
    """Add w·(m << shift)² at a limb. m < 2^53."""
    # Three digits of 32 bits; the square is the sum of their six products.
    low = (m & MASK) << shift
    high = (m >> 32) << shift
    d0 = low & MASK
    d1 = (low >> 32) + (high & MASK)
    d2 = (high >> 32) + (d1 >> 32)
    d1 &= MASK
    add_product(limbs, g, limb, d0, d0, w)
    add_product(limbs, g, limb + 1, d0, d1, 2 * w)
    add_product(limbs, g, limb + 2, d1, d1, w)
    add_product(limbs, g, limb + 2, d0, d2, 2 * w)
    add_product(limbs, g, limb + 3, d1, d2, 2 * w)
    add_product(limbs, g, limb + 4, d2, d2, w)


@kernel
def deviation(limbs, squares, g, n, work):
    """Return (f, e) with f · 2^e = n·Σx² - (Σx)², rounded once. `work` is one row of limbs."""
    # n·Σx²: each limb times both halves of n.
    work[:] = 0
    settle(squares, g)
    for k in range(squares.shape[1]):
        add_product(work, 0, k, squares[g, k], n & MASK, 1)
        add_product(work, 0, k + 1, squares[g, k], n >> 32, 1)
    # -(Σx)²: each digit of |Σx| times each.
    lowest = settle(limbs, g)
    size = limbs.shape[1]
    for i in range(lowest, size):
        a = digit(limbs, g, i, lowest)
        if a != 0:
            for j in range(lowest, size):
                add_product(work, 0, i + j, a, digit(limbs, g, j, lowest), -1)
    return rounded(work, ONLY)


@kernel
def real_spread(base, limbs, squares, tallies, g, work, kind):
    """Return the variance of a group's doubles, or their deviation; `kind` as in `spread`."""
    if tallies[g, NANS] + tallies[g, PLUS] + tallies[g, MINUS] > 0:
        return math.nan
    n = tallies[g, VALUES]
    f, power = deviation(limbs, squares, g, n, work)
    f = max(f, 0.0) / (float(n) * float(n - (kind & 1)))
    power += 2 * (32 * base + LOWEST)
    # The root of an odd power of 2 is not one: f takes a factor of 2.
    if kind >= 2:
        f = math.sqrt(f * 2.0 if power & 1 else f)
        power >>= 1
    return scaled(f, power)


@kernel
def spread(start, events, takes, bits, sums, squares, work, kind, out, valid):
    """Fold doubles, given as bits; each emission gets its group's variance, or deviation.

    `kind` is 2 for a square root at the end, plus 1 for the sample's (n - 1). Stops before an
    event that finds no room; return its place, or the number of events.
    """
    base, limbs, tallies, spent = sums
    all_taken = len(takes) == 0
    for i in range(start, events.shape[1]):
        g, w, e = events[GROUP, i], events[WEIGHT, i], events[EMISSION, i]
        if all_taken or takes[i]:
            # No limb for it, or carries have waited too long: the caller makes room.
            b = bits[i]
            if not fits(b, base, limbs.shape[1], 8 * w, spent[0]):
                return i
            if tally(tallies, g, b, w):
                spent[0] += 8 * abs(w)  # a limb of Σx² gets more parts
                place = (b >> 52) & SPECIAL
                m = b & (IMPLICIT - 1)
                if place > 0:
                    m |= IMPLICIT
                    place -= 1
                limb = (place >> 5) - base
                add_real(limbs, g, limb, place & 31, m, -w if b < 0 else w)
                add_square(squares, g, 2 * limb, place & 31, m, w)
        if events[CLOSES, e] != i:
            continue
        valid[e] = tallies[g, VALUES] > kind & 1
        if valid[e]:
            out[e] = real_spread(base, limbs, squares, tallies, g, work, kind)
    return events.shape[1]
