"""Exact sums: whole numbers in two or four 32-bit limbs, doubles in as many as they span.

A double is ±m · 2^(place - 1074) with m < 2^53 and place in [0, 2045]. Its m, shifted by
place mod 32, falls on three limbs:

    limb:   base            place/32   +1   +2            len(limbs)
             ├────┼────┼ ... ┼────┼────┼────┼ ... ┼────┼────┤
                              m << (place % 32)         head room

A limb is an int64 that is worth 2^32 times the one below it. Adding and taking back are whole
operations on limbs, so they are exact; carries wait until somebody reads [Kulisch 1981].
"""

from __future__ import annotations

import math

from windrow.kernels.groups import CLOSES, EMISSION, GROUP, WEIGHT
from windrow.kernels.jit import kernel

MASK = 0xFFFFFFFF
MAGNITUDE = 0x7FFFFFFFFFFFFFFF
IMPLICIT = 1 << 52
SPECIAL = 0x7FF
LOWEST = -1074
"""Exponent of the lowest bit of a double."""

VALUES, NANS, PLUS, MINUS = 0, 1, 2, 3
"""Columns of tallies: values of any kind, NaNs, infinities."""

BUDGET = 1 << 28
"""Weight that may be added before carries must be taken: a limb gets < 2^33 a unit of it."""

ROOM = 4
"""Limbs that a value needs: three of its own, and one for the sum to grow into."""


@kernel
def sum_whole(events, takes, data, sums, high, low, valid):
    """Sum int64s; each emission gets 128 bits of its group's sum, `high` and `low`.

    sums: group -> [sum of the high halves, sum of the low halves, values]
    """
    all_taken = len(takes) == 0
    for i in range(events.shape[1]):
        g = events[GROUP, i]
        if all_taken or takes[i]:
            w = events[WEIGHT, i]
            sums[g, 0] += (data[i] >> 32) * w
            sums[g, 1] += (data[i] & MASK) * w
            sums[g, 2] += w
        e = events[EMISSION, i]
        top = sums[g, 0] + (sums[g, 1] >> 32)
        high[e] = top >> 32
        low[e] = (top << 32) | (sums[g, 1] & MASK)
        valid[e] = sums[g, 2] > 0


@kernel
def sum_wide(events, takes, data_high, data_low, sums, high, low, valid):
    """Sum 128-bit numbers, modulo 2^128 but flagged: NULL where the sum has no 128 bits.

    sums: group -> [four sums of 32-bit parts, highest first, values]
    """
    all_taken = len(takes) == 0
    for i in range(events.shape[1]):
        g = events[GROUP, i]
        if all_taken or takes[i]:
            w = events[WEIGHT, i]
            sums[g, 0] += (data_high[i] >> 32) * w
            sums[g, 1] += (data_high[i] & MASK) * w
            sums[g, 2] += ((data_low[i] >> 32) & MASK) * w
            sums[g, 3] += (data_low[i] & MASK) * w
            sums[g, 4] += w
        e = events[EMISSION, i]
        third = sums[g, 2] + (sums[g, 3] >> 32)
        second = sums[g, 1] + (third >> 32)
        first = sums[g, 0] + (second >> 32)
        low[e] = ((third & MASK) << 32) | (sums[g, 3] & MASK)
        high[e] = (first << 32) | (second & MASK)
        valid[e] = sums[g, 4] > 0 and first >> 31 == first >> 63


@kernel
def add_real(limbs, g, limb, shift, m, w):
    """Add w copies of m << shift at a limb. m < 2^53."""
    low = (m & MASK) << shift
    high = (m >> 32) << shift
    limbs[g, limb] += (low & MASK) * w
    limbs[g, limb + 1] += ((low >> 32) + (high & MASK)) * w
    limbs[g, limb + 2] += (high >> 32) * w


@kernel
def settle(limbs, g):
    """Take the carries of a row of limbs; return the lowest that is not 0, or their number.

    All limbs but the last are then in [0, 2^32); the last bears the sign.
    """
    top = limbs.shape[1] - 1
    lowest = top + 1
    if lowest == 0:
        return 0
    carry = 0
    for k in range(top):
        s = limbs[g, k] + carry
        carry = s >> 32
        s &= MASK
        limbs[g, k] = s
        if s != 0 and lowest > top:
            lowest = k
    limbs[g, top] += carry
    if limbs[g, top] != 0 and lowest > top:
        lowest = top
    return lowest


@kernel
def settle_all(limbs):
    """Take the carries of all rows."""
    for g in range(len(limbs)):
        settle(limbs, g)


@kernel
def digit(limbs, g, k, lowest):
    """Return the k-th 32 bits of the absolute value of a settled row."""
    top = limbs.shape[1] - 1
    d = limbs[g, k]
    if limbs[g, top] >= 0 or k < lowest:
        return d
    if k == top:
        return -d if k == lowest else -d - 1
    return MASK + 1 - d if k == lowest else MASK - d


@kernel
def bit_length(d):
    """Return how many bits a number below 2^32 has."""
    n = 0
    for step in (16, 8, 4, 2, 1):
        if d >> step != 0:
            d >>= step
            n += step
    return n + d


@kernel
def rounded(limbs, g):
    """Return (f, e) with f · 2^e the value of a row of limbs, rounded to nearest, ties to even.

    1 <= |f| <= 2, or f = 0. The highest 62 bits are taken, the last of them set if anything
    lies below; turning those into a double rounds once.
    """
    lowest = settle(limbs, g)
    top = limbs.shape[1] - 1
    if lowest > top:
        return 0.0, 0
    h = top
    while digit(limbs, g, h, lowest) == 0:
        h -= 1
    d2 = digit(limbs, g, h, lowest)
    d1 = digit(limbs, g, h - 1, lowest) if h >= 1 else 0
    d0 = digit(limbs, g, h - 2, lowest) if h >= 2 else 0
    shift = 62 - bit_length(d2)  # in [30, 61]
    if shift >= 32:
        x = (d2 << shift) | (d1 << (shift - 32)) | (d0 >> (64 - shift))
        rest = d0 & ((1 << (64 - shift)) - 1)
    else:
        x = (d2 << shift) | (d1 >> (32 - shift))
        rest = (d1 & ((1 << (32 - shift)) - 1)) | d0
    if rest != 0 or lowest < h - 2:
        x |= 1
    f = float(x) * 2.0**-61
    return (-f if limbs[g, top] < 0 else f), 32 * h - shift + 61


@kernel
def scaled(f, e):
    """Return f · 2^e, infinite if too large. |f| <= 2."""
    if f == 0.0:
        return 0.0
    while e > 1023 and abs(f) < 1.0:
        f *= 2.0
        e -= 1
    if e > 1023 or (e == 1023 and abs(f) >= 2.0):
        return math.inf if f > 0 else -math.inf
    return math.ldexp(f, int(e))


@kernel
def tally(tallies, g, bits, w):
    """Count a value; return whether it is finite and not 0, so that it has limbs."""
    tallies[g, VALUES] += w
    if (bits >> 52) & SPECIAL != SPECIAL:
        return bits & MAGNITUDE != 0
    if bits & (IMPLICIT - 1) != 0:
        tallies[g, NANS] += w
    elif bits > 0:
        tallies[g, PLUS] += w
    else:
        tallies[g, MINUS] += w
    return False


@kernel
def fits(bits, base, limbs, w, spent):
    """Tell whether a value can be added: its limbs are kept, and carries can still wait."""
    place = (bits >> 52) & SPECIAL
    if place == SPECIAL or bits & MAGNITUDE == 0:
        return True
    limb = (max(place - 1, 0) >> 5) - base
    return limb >= 0 and limb + ROOM <= limbs and spent + abs(w) <= BUDGET


@kernel
def sum_real(start, events, takes, bits, base, limbs, tallies, spent, mean, out, valid):
    """Sum doubles, given as bits; each emission gets its group's sum, or mean.

    Stops before an event that finds no room; return its place, or the number of events.
    `spent` is the weight added since carries were taken.
    """
    all_taken = len(takes) == 0
    for i in range(start, events.shape[1]):
        g, w, e = events[GROUP, i], events[WEIGHT, i], events[EMISSION, i]
        if all_taken or takes[i]:
            b = bits[i]
            if not fits(b, base, limbs.shape[1], w, spent[0]):
                return i
            if tally(tallies, g, b, w):
                spent[0] += abs(w)
                place = (b >> 52) & SPECIAL
                m = b & (IMPLICIT - 1)
                if place > 0:
                    m |= IMPLICIT
                    place -= 1
                add_real(limbs, g, (place >> 5) - base, place & 31, m, -w if b < 0 else w)
        if events[CLOSES, e] != i:
            continue
        n = tallies[g, VALUES]
        valid[e] = n > 0
        plus, minus = tallies[g, PLUS] > 0, tallies[g, MINUS] > 0
        if tallies[g, NANS] > 0 or (plus and minus):
            out[e] = math.nan
        elif plus or minus:
            out[e] = math.inf if plus else -math.inf
        elif n > 0:
            f, power = rounded(limbs, g)
            out[e] = scaled(f / n if mean else f, power + 32 * base + LOWEST)
    return events.shape[1]
