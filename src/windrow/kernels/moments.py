"""Exact covariances, skewness and kurtosis: sums of products in limbs, combined without a rounding.

    covariance   n·Σxy - Σx·Σy
    skewness     (n²·Σx³ - 3n·Σx·Σx² + 2(Σx)³) / (n·Σx² - (Σx)²)^(3/2)
    kurtosis     (n³·Σx⁴ - 4n²·Σx·Σx³ + 6n·(Σx)²·Σx² - 3(Σx)⁴) / (n·Σx² - (Σx)²)² - 3

Numerator and denominator are whole numbers of one unit; each is rounded once. See `sums.py` for
limbs: the limbs of a product of k values begin at k times their base, so that terms lie on the
same limbs.

    limbs:   row g·m + k   the k-th of the m sums of group g:  Σx, Σy, Σxy  or  Σx, Σx², Σx³, Σx⁴
    work:    rows of digits below 2^32, the lowest first; room for the products of sums
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from windrow.kernels.groups import CLOSES, EMISSION, GROUP, WEIGHT
from windrow.kernels.jit import kernel
from windrow.kernels.spreads import add_product
from windrow.kernels.sums import (
    BUDGET,
    IMPLICIT,
    LOWEST,
    MAGNITUDE,
    MASK,
    ROOM,
    SPECIAL,
    digit,
    rounded,
    scaled,
    settle,
)

VALUES, SPECIALS = 0, 1
"""Columns of tallies: values of any kind, and those that are NaN or infinite."""

COVARIANCE, SKEWNESS, KURTOSIS = 0, 1, 2

N, S1, S2, S3, S4, P, Q, R, SQUARE, TOTAL = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
"""Rows of `work`."""

WORK_ROWS = 10
DIGITS = 3
"""Digits of one value on its limbs: 53 bits, shifted by up to 31."""


class MomentSums(NamedTuple):
    """The sums of all groups. `bases` has the lowest limb of each argument; of pairs there are two.

    `spent[0]` is the weight added since carries were taken.
    """

    bases: Any
    limbs: Any
    tallies: Any
    spent: Any
    work: Any


@kernel
def limb_of(bits):
    """Return the lowest limb of a double."""
    return max(((bits >> 52) & SPECIAL) - 1, 0) >> 5


@kernel
def is_special(bits):
    """Return whether a double is NaN or infinite."""
    return (bits >> 52) & SPECIAL == SPECIAL


@kernel
def write_digits(bits, work, row):
    """Write the three digits of a double's magnitude on its limbs."""
    place = (bits >> 52) & SPECIAL
    m = bits & (IMPLICIT - 1)
    if place > 0:
        m |= IMPLICIT
        place -= 1
    low = (m & MASK) << (place & 31)
    high = (m >> 32) << (place & 31)
    middle = (low >> 32) + (high & MASK)
    work[row, 0] = low & MASK
    work[row, 1] = middle & MASK
    work[row, 2] = (high >> 32) + (middle >> 32)


@kernel
def add_times(work, out, a, na, b, nb, w):
    """Add w times the product of two rows of digits to a row of limbs."""
    for i in range(na):
        x = work[a, i]
        if x != 0:
            for j in range(nb):
                add_product(work, out, i + j, x, work[b, j], w)


@kernel
def multiply(work, out, a, na, b, nb):
    """Write the product of two rows of digits; return how many digits it has."""
    n = na + nb
    for k in range(n + 1):
        work[out, k] = 0
    add_times(work, out, a, na, b, nb, 1)
    carry = 0
    for k in range(n):
        s = work[out, k] + carry
        carry = s >> 32
        work[out, k] = s & MASK
    while n > 0 and work[out, n - 1] == 0:
        n -= 1
    return n


@kernel
def load(limbs, row, work, to):
    """Write the digits of a sum's magnitude; return how many they are, and its sign."""
    lowest = settle(limbs, row)
    size = limbs.shape[1]
    n = 0
    for k in range(size):
        d = digit(limbs, row, k, lowest)
        # The last limb may have more than 32 bits.
        work[to, k] = d & MASK
        work[to, k + 1] = d >> 32
        n = k + 2 if d >> 32 else (k + 1 if d else n)
    return n, (-1 if limbs[row, size - 1] < 0 else 1)


@kernel
def begin(work, count):
    """Clear the total, and write the digits of a count; return how many they are."""
    work[TOTAL, :] = 0
    work[N, 0], work[N, 1] = count & MASK, count >> 32
    return 2 if count >> 32 else 1


@kernel
def covariance(limbs, g, count, work):
    """Return (f, e) with f · 2^e = n·Σxy - Σx·Σy."""
    n = begin(work, count)
    nx, sx = load(limbs, 3 * g, work, S1)
    ny, sy = load(limbs, 3 * g + 1, work, S2)
    nxy, sxy = load(limbs, 3 * g + 2, work, S3)
    add_times(work, TOTAL, N, n, S3, nxy, sxy)
    add_times(work, TOTAL, S1, nx, S2, ny, -sx * sy)
    return rounded(work, TOTAL)


@kernel
def square_of_spread(work, n, n1, n2):
    """Write n·Σx² - (Σx)²; return how many digits it has. It is never negative."""
    work[SQUARE, :] = 0
    add_times(work, SQUARE, N, n, S2, n2, 1)
    add_times(work, SQUARE, S1, n1, S1, n1, -1)
    settle(work, SQUARE)
    size = work.shape[1]
    while size > 0 and work[SQUARE, size - 1] == 0:
        size -= 1
    return size


@kernel
def shape(limbs, g, count, work, kind):
    """Return the skewness or the kurtosis of a group; NaN if all its values are one."""
    n = begin(work, count)
    n1, s1 = load(limbs, 4 * g, work, S1)
    n2, _ = load(limbs, 4 * g + 1, work, S2)
    n3, s3 = load(limbs, 4 * g + 2, work, S3)
    nv = square_of_spread(work, n, n1, n2)
    if nv == 0:
        return math.nan
    nq = multiply(work, R, S1, n1, S1, n1)
    if kind == SKEWNESS:
        m = multiply(work, P, N, n, S3, n3)
        add_times(work, TOTAL, N, n, P, m, s3)
        m = multiply(work, P, N, n, S1, n1)
        add_times(work, TOTAL, P, m, S2, n2, -3 * s1)
        add_times(work, TOTAL, R, nq, S1, n1, 2 * s1)
    else:
        n4, _ = load(limbs, 4 * g + 3, work, S4)
        nn = multiply(work, Q, N, n, N, n)
        m = multiply(work, P, N, n, S4, n4)
        add_times(work, TOTAL, Q, nn, P, m, 1)
        m = multiply(work, P, S1, n1, S3, n3)
        add_times(work, TOTAL, Q, nn, P, m, -4 * s1 * s3)
        m = multiply(work, P, N, n, S2, n2)
        add_times(work, TOTAL, P, m, R, nq, 6)
        add_times(work, TOTAL, R, nq, R, nq, -3)
        add_times(work, TOTAL, SQUARE, nv, SQUARE, nv, -3)
    f, e = rounded(work, TOTAL)
    v, d = rounded(work, SQUARE)
    if kind == KURTOSIS:
        return scaled(f / (v * v) if f != 0.0 else 0.0, e - 2 * d)
    # v · 2^d to the power 3/2: d is a multiple of 32.
    return scaled(f / (v * math.sqrt(v)) if f != 0.0 else 0.0, e - 3 * (d >> 1))


@kernel
def add_pair(sums, g, x, y, w):
    """Add w copies of x, y and xy to a group's sums."""
    bases, limbs, work = sums.bases, sums.limbs, sums.work
    at_x, at_y = limb_of(x) - bases[0], limb_of(y) - bases[1]
    wx, wy = (-w if x < 0 else w), (-w if y < 0 else w)
    write_digits(x, work, P)
    write_digits(y, work, Q)
    n = multiply(work, R, P, DIGITS, Q, DIGITS)
    for k in range(DIGITS):
        limbs[3 * g, at_x + k] += wx * work[P, k]
        limbs[3 * g + 1, at_y + k] += wy * work[Q, k]
    for k in range(n):
        limbs[3 * g + 2, at_x + at_y + k] += (wx if y >= 0 else -wx) * work[R, k]


@kernel
def add_powers(sums, g, x, w):
    """Add w copies of x, x², x³ and x⁴ to a group's sums."""
    limbs, work = sums.limbs, sums.work
    at = limb_of(x) - sums.bases[0]
    odd = -w if x < 0 else w
    write_digits(x, work, P)
    squared = multiply(work, Q, P, DIGITS, P, DIGITS)
    for k in range(DIGITS):
        limbs[4 * g, at + k] += odd * work[P, k]
    for k in range(squared):
        limbs[4 * g + 1, 2 * at + k] += w * work[Q, k]
    n = multiply(work, R, Q, squared, P, DIGITS)
    for k in range(n):
        limbs[4 * g + 2, 3 * at + k] += odd * work[R, k]
    n = multiply(work, R, Q, squared, Q, squared)
    for k in range(n):
        limbs[4 * g + 3, 4 * at + k] += w * work[R, k]


@kernel
def has_limbs(bits, base, width):
    """Return whether the limbs of a value are kept."""
    if is_special(bits) or bits & MAGNITUDE == 0:
        return True
    limb = limb_of(bits) - base
    return limb >= 0 and limb + ROOM <= width


@kernel
def read_moment(sums, g, kind, samp, out, valid, e):
    """Fill in emission e."""
    n = sums.tallies[g, VALUES]
    valid[e] = n > samp
    if not valid[e]:
        return
    if sums.tallies[g, SPECIALS] > 0:
        out[e] = math.nan
    elif kind == COVARIANCE:
        f, power = covariance(sums.limbs, g, n, sums.work)
        power += 32 * (sums.bases[0] + sums.bases[1]) + 2 * LOWEST
        out[e] = scaled(f / (float(n) * float(n - samp)), power)
    else:
        out[e] = shape(sums.limbs, g, n, sums.work, kind)
        valid[e] = not math.isnan(out[e])


@kernel
def fold_moments(start, events, takes, bits, sums, kinds, out, valid):
    """Fold doubles, given as bits, one row an argument; each emission gets its group's moment.

    kinds:  which moment; 1 for the sample's (n - 1); limbs of one value's width, by argument

    Stops before an event that finds no room; returns its place, or the number of events.
    """
    kind, samp = kinds[0], kinds[1]
    all_taken = len(takes) == 0
    last = len(bits) - 1
    for i in range(start, events.shape[1]):
        g, w, e = events[GROUP, i], events[WEIGHT, i], events[EMISSION, i]
        if w != 0 and (all_taken or takes[i]):
            x, y = bits[0, i], bits[last, i]
            if (
                not has_limbs(x, sums.bases[0], kinds[2])
                or not has_limbs(y, sums.bases[last], kinds[2 + last])
                or sums.spent[0] + abs(w) > BUDGET
            ):
                return i
            sums.tallies[g, VALUES] += w
            if is_special(x) or is_special(y):
                sums.tallies[g, SPECIALS] += w
            elif kind == COVARIANCE:
                sums.spent[0] += abs(w)
                add_pair(sums, g, x, y, w)
            else:
                sums.spent[0] += abs(w)
                add_powers(sums, g, x, w)
        if events[CLOSES, e] == i:
            read_moment(sums, g, kind, samp, out, valid, e)
    return events.shape[1]
