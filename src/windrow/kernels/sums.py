"""Exact sums: whole numbers in two or three words, doubles in as many 32-bit limbs as they span.

A double is ±m · 2^(place - 1074) with m < 2^53 and place in [0, 2045]. Its m, shifted by
place mod 32, falls on three limbs:

    limb:   base            place/32   +1   +2            len(limbs)
             ├────┼────┼ ... ┼────┼────┼────┼ ... ┼────┼────┤
                              m << (place % 32)         head room

A limb is an int64 that is worth 2^32 times the one below it. Adding and subtracting are whole
operations on limbs, so they are exact; carries wait until the sum is read [Kulisch 1981].
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from windrow.kernels.groups import CLOSES, EMISSION, GROUP, WEIGHT
from windrow.kernels.jit import force_inlined, kernel
from windrow.kernels.prefetch import place
from windrow.kernels.words import add_words

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

COMMON = 512
"""Exponents for which no product with a double of the common sort overflows or loses bits."""

POWERS = 2.0 ** np.arange(-COMMON, COMMON)

ROOM = 4
"""Limbs that a value needs: three of its own, and one for the sum to grow into."""


class RealSums(NamedTuple):
    """The sums of all groups: rows of limbs, of which the first is limb number `base`.

    `spent[0]` is the weight added since carries were taken.
    """

    base: Any
    limbs: Any
    tallies: Any
    spent: Any


@kernel
def sum_whole(events, takes, data, sums, high, low, valid):
    """Sum int64s; each emission gets 128 bits of its group's sum, `high` and `low`.

    sums: group -> [high, low, values]
    """
    all_taken = len(takes) == 0
    for i in range(events.shape[1]):
        g = events[GROUP, i]
        if all_taken or takes[i]:
            w = events[WEIGHT, i]
            add_words(sums, g, 0, (data[i] >> 63, data[i]), w)
            sums[g, 2] += w
        e = events[EMISSION, i]
        high[e] = sums[g, 0]
        low[e] = sums[g, 1]
        valid[e] = sums[g, 2] > 0


@kernel
def sum_wide(events, takes, data_high, data_low, sums, high, low, valid):
    """Sum 128-bit numbers: NULL where the sum has no 128 bits.

    sums: group -> [three words, values]
    """
    all_taken = len(takes) == 0
    for i in range(events.shape[1]):
        g = events[GROUP, i]
        if all_taken or takes[i]:
            w = events[WEIGHT, i]
            add_words(sums, g, 0, (data_high[i] >> 63, data_high[i], data_low[i]), w)
            sums[g, 3] += w
        e = events[EMISSION, i]
        high[e] = sums[g, 1]
        low[e] = sums[g, 2]
        valid[e] = sums[g, 3] > 0 and sums[g, 0] == sums[g, 1] >> 63


@kernel
def add_real(limbs, g, limb, shift, m, w):
    """Add w copies of m << shift at a limb. m < 2^53."""
    # Shifted by up to 31, each half of m has up to 63 bits: 32 for each of two limbs.
    low = (m & MASK) << shift
    high = (m >> 32) << shift
    limbs[place(g), place(limb)] += (low & MASK) * w
    limbs[place(g), place(limb + 1)] += ((low >> 32) + (high & MASK)) * w
    limbs[place(g), place(limb + 2)] += (high >> 32) * w


@force_inlined
def settle(limbs, g):
    """Take the carries of a row of limbs; return the lowest that is not 0, or their number.

    All limbs but the last are then in [0, 2^32); the last bears the sign.
    """
    top = limbs.shape[1] - 1
    lowest = top + 1
    if lowest == 0:
        return 0
    row = place(g)
    # From the lowest limb up: what is above 32 bits goes to the next, also if it is negative.
    carry = 0
    for k in range(top):
        s = limbs[row, place(k)] + carry
        carry = s >> 32
        s &= MASK
        limbs[row, place(k)] = s
        lowest = k if s != 0 and lowest > top else lowest
    carry += limbs[row, place(top)]
    limbs[row, place(top)] = carry
    return top if carry != 0 and lowest > top else lowest


@kernel
def settle_all(limbs):
    """Take the carries of all rows."""
    for g in range(len(limbs)):
        settle(limbs, g)


@force_inlined
def digit(limbs, g, k, lowest):
    """Return the k-th 32 bits of the absolute value of a settled row; 0 of a limb below all."""
    if k < lowest:
        return 0
    top = limbs.shape[1] - 1
    sign = limbs[place(g), place(top)] >> 63  # -1 or 0: what is negative has its bits turned, + 1
    d = limbs[place(g), place(k)] ^ sign
    if k < top:
        d &= MASK
    return d - sign if k == lowest else d


@force_inlined
def rounded(limbs, g):
    """Return (f, e) with f · 2^e the value of a row of limbs, rounded to nearest, ties to even.

        |  d2   |  d1   |  d0   | below       three limbs, the highest of which is not 0
        |    53 bits |   43 bits| 1           the last is set if anything lies below

    |f| <= 1. Both parts are doubles, so that their sum rounds once; as d2 is not 0, it does so
    above the last bit. Finding out how many bits d2 has takes twice as long.
    """
    lowest = settle(limbs, g)
    top = limbs.shape[1] - 1
    if lowest > top:
        return 0.0, 0
    # The highest limb that is not 0, and the two below it.
    h = top
    d2 = digit(limbs, g, h, lowest)
    while d2 == 0:
        h -= 1
        d2 = digit(limbs, g, h, lowest)
    d1 = digit(limbs, g, h - 1, lowest)
    d0 = digit(limbs, g, h - 2, lowest)
    # 53 bits, then 43 and a sticky bit: the sum of both doubles rounds as all limbs would.
    upper = (d2 << 21) | (d1 >> 11)
    lower = ((((d1 & 0x7FF) << 32) | d0) << 1) | (1 if lowest < h - 2 else 0)
    f = float(upper) * 2.0**-53 + float(lower) * 2.0**-97
    return (-f if limbs[place(g), place(top)] < 0 else f), 32 * h + 32


@force_inlined
def scaled(f, e):
    """Return f · 2^e, infinite if too large. |f| <= 2."""
    if abs(e) < COMMON:
        return f * POWERS[place(e + COMMON)]
    if f == 0.0:
        return 0.0
    # 2^e alone may be infinite where f · 2^e is not.
    while e > 1023 and abs(f) < 1.0:
        f *= 2.0
        e -= 1
    if e > 1023 or (e == 1023 and abs(f) >= 2.0):
        return math.inf if f > 0 else -math.inf
    return math.ldexp(f, int(e))


@kernel
def tally(tallies, g, bits, w):
    """Count a value; return whether it is finite and not 0, so that it has limbs."""
    # An exponent of all ones is NaN or infinite: these are counted, not added.
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
    """Return whether a value can be added: its limbs are kept, and carries can still wait."""
    place = (bits >> 52) & SPECIAL
    if place == SPECIAL or bits & MAGNITUDE == 0:
        return True
    limb = (max(place - 1, 0) >> 5) - base
    return limb >= 0 and limb + ROOM <= limbs and spent + abs(w) <= BUDGET


@kernel
def real_sum(base, limbs, tallies, g, mean):
    """Return the sum of a group's doubles, or their mean. Takes the carries."""
    # As in IEEE 754: NaN wins, and so do infinities of both signs together.
    plus, minus = tallies[g, PLUS] > 0, tallies[g, MINUS] > 0
    if tallies[g, NANS] > 0 or (plus and minus):
        return math.nan
    if plus or minus:
        return math.inf if plus else -math.inf
    f, power = rounded(limbs, g)
    return scaled(f / tallies[g, VALUES] if mean else f, power + 32 * base + LOWEST)


@kernel
def sum_real(start, events, takes, bits, sums, mean, out, valid):
    """Sum doubles, given as bits; each emission gets its group's sum, or mean.

    Stops before an event that finds no room; return its place, or the number of events.
    """
    base, limbs, tallies, spent = sums
    all_taken = len(takes) == 0
    for i in range(start, events.shape[1]):
        g, w, e = events[GROUP, i], events[WEIGHT, i], events[EMISSION, i]
        if all_taken or takes[i]:
            # No limb for it, or carries have waited too long: the caller makes room.
            b = bits[i]
            if not fits(b, base, limbs.shape[1], w, spent[0]):
                return i
            if tally(tallies, g, b, w):
                spent[0] += abs(w)
                # Take the double apart: m · 2^place, in units of its lowest bit. A subnormal has
                # no implicit bit, and the place of exponent 1.
                place = (b >> 52) & SPECIAL
                m = b & (IMPLICIT - 1)
                if place > 0:
                    m |= IMPLICIT
                    place -= 1
                add_real(limbs, g, (place >> 5) - base, place & 31, m, -w if b < 0 else w)
        if events[CLOSES, e] != i:
            continue
        valid[e] = tallies[g, VALUES] > 0
        if valid[e]:
            out[e] = real_sum(base, limbs, tallies, g, mean)
    return events.shape[1]
