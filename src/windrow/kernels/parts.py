"""Sums in exact parts: what one instant adds to a sum, split into words that can be sent.

A sum of doubles, kept in limbs (`sums.py`), leaves as

    head = the sum, rounded      tail = the rest, rounded      what then is left, as limbs

Two doubles hold 106 bits, which is the whole of most sums. Parts are differences: whoever merges
them adds them up, each once, whatever the weight of the row that they came with.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from windrow.kernels.groups import CLOSES, EMISSION, GROUP, WEIGHT
from windrow.kernels.jit import kernel
from windrow.kernels.sums import (
    LOWEST,
    MASK,
    MINUS,
    NANS,
    PLUS,
    VALUES,
    add_real,
    real_sum,
    rounded,
    scaled,
    settle,
)

SPILLED = 4
"""Words before the limbs of what is left of a sum: NaNs, infinities of either sign, lowest limb."""


class SumParts(NamedTuple):
    """Of each event, a part of a sum: how many values it has, head and tail, and what spilled.

    What spilled of event i is words[starts[i] : starts[i + 1]], if anything.
    """

    counts: Any
    heads: Any
    tails: Any
    words: Any
    starts: Any


@kernel
def emission_weights(events, weights):
    """Add up the weights of each emission's events; let each emission be a group of its own."""
    for i in range(events.shape[1]):
        e = events[EMISSION, i]
        weights[e] += events[WEIGHT, i]
        events[GROUP, i] = e


@kernel
def take_out(limbs, g, base, value):
    """Subtract a double from a row of limbs that rounds to it; return whether that was possible.

    Bits of it below the base are 0, as the row has none there. There may be no limb for its
    highest, if it was rounded up: then nothing is taken.
    """
    # The double is m · 2^place, in units of the lowest bit that doubles have.
    f, power = math.frexp(abs(value))
    m = int(f * 2.0**53)
    place = power - 53 - LOWEST
    if place < 32 * base:
        m >>= 32 * base - place
        place = 32 * base
    limb, shift = (place >> 5) - base, place & 31
    # It falls on two limbs, or on three if its highest bits are shifted over.
    highest = (m >> 32) << shift >> 32 != 0
    last = limb + 2 if highest else limb + 1
    if last >= limbs.shape[1]:
        return False
    sign = 1 if value < 0 else -1
    low = (m & MASK) << shift
    high = (m >> 32) << shift
    limbs[g, limb] += (low & MASK) * sign
    limbs[g, limb + 1] += ((low >> 32) + (high & MASK)) * sign
    if highest:
        limbs[g, limb + 2] += (high >> 32) * sign
    return True


@kernel
def part_real(base, limbs, tallies, heads, tails, spilled):
    """Split sums into heads and tails; return how many have more, which `spilled` gets.

    Of those the limbs hold what is left, carries taken.
    """
    n = 0
    for g in range(len(heads)):
        # Head first, then the tail of what is left.
        heads[g] = tails[g] = 0.0
        for k in range(2):
            f, power = rounded(limbs, g)
            value = scaled(f, power + 32 * base + LOWEST)
            if f == 0.0 or math.isinf(value) or not take_out(limbs, g, base, value):
                break
            if k == 0:
                heads[g] = value
            else:
                tails[g] = value
        # Limbs that are not 0 now, and values that are not finite, are sent as words.
        more = settle(limbs, g) < limbs.shape[1]
        if more or tallies[g, NANS] != 0 or tallies[g, PLUS] != 0 or tallies[g, MINUS] != 0:
            spilled[n] = g
            n += 1
    return n


@kernel
def add_double(limbs, g, base, value):
    """Add a finite double to a row of limbs that has room for it."""
    if value == 0.0:
        return
    f, power = math.frexp(abs(value))
    m = int(f * 2.0**53)
    place = power - 53 - LOWEST
    if place < 0:  # a subnormal: its lowest bits are 0
        m >>= -place
        place = 0
    add_real(limbs, g, (place >> 5) - base, place & 31, m, -1 if value < 0 else 1)


@kernel
def merge_real(events, parts, sums, mean, out, valid):
    """Add up parts of sums; each emission gets its group's sum, or mean.

    Needs limbs for all that is added, and carries that can wait so long.
    """
    counts, heads, tails, words, starts = parts
    base, limbs, tallies, _ = sums
    for i in range(events.shape[1]):
        g, e = events[GROUP, i], events[EMISSION, i]
        tallies[g, VALUES] += counts[i]
        add_double(limbs, g, base, heads[i])
        add_double(limbs, g, base, tails[i])
        # What spilled: NaNs and infinities, then limbs from a lowest one on.
        at, end = starts[i], starts[i + 1]
        if at < end:
            for k in range(NANS, MINUS + 1):
                tallies[g, k] += words[at + k - NANS]
            first = words[at + SPILLED - 1] - base
            for k in range(at + SPILLED, end):
                limbs[g, first + k - at - SPILLED] += words[k]
        if events[CLOSES, e] == i:
            valid[e] = tallies[g, VALUES] > 0
            if valid[e]:
                out[e] = real_sum(base, limbs, tallies, g, mean)


@kernel
def merge_whole(events, counts, data_high, data_low, sums, high, low, valid):
    """Add up 128-bit parts of sums; each emission gets its group's, NULL if it has no 128 bits.

    sums: group -> [32-bit parts of the sum, highest first and with the sign, values]

    Carries are taken at once: a difference below 0 has parts above 0, which would pile up.
    """
    for i in range(events.shape[1]):
        g, e = events[GROUP, i], events[EMISSION, i]
        # Four halves of words, from the lowest up, each with the carry of the one below.
        fourth = sums[g, 3] + (data_low[i] & MASK)
        third = sums[g, 2] + ((data_low[i] >> 32) & MASK) + (fourth >> 32)
        second = sums[g, 1] + (data_high[i] & MASK) + (third >> 32)
        first = sums[g, 0] + (data_high[i] >> 32) + (second >> 32)
        sums[g, 0] = first
        sums[g, 1] = second & MASK
        sums[g, 2] = third & MASK
        sums[g, 3] = fourth & MASK
        sums[g, 4] += counts[i]
        low[e] = (sums[g, 2] << 32) | sums[g, 3]
        high[e] = (first << 32) | sums[g, 1]
        valid[e] = sums[g, 4] > 0 and first >> 31 == first >> 63


@kernel
def merge_counts(events, values, counts, out):
    """Add up counts; each emission gets its group's."""
    for i in range(events.shape[1]):
        g = events[GROUP, i]
        counts[g] += values[i]
        out[events[EMISSION, i]] = counts[g]
