"""An exact hash table from rows of words to small dense codes.

    slots:   [ .  tag|e+1  .  .  tag|e+1  . ]      open addressing, 0 is empty
    words:   entry -> its K words                  equality is decided here, never by the tag
    hashes:  entry -> its hash                     so that growing and deleting need no re-hashing

A tag is the upper 31 bits of a hash, a row's home slot the upper bits of its tag. So rows that
differ are distinguished in the slot, almost always, and gaps are closed without a look elsewhere.
Codes are entry numbers. A released entry's number is given out again, newest first.
`meta` holds: [entries ever used, free entries].

Lookups go in blocks: first the slots of all rows are searched for their tags, then the words that
these name are read. Such reads do not wait for one another, as they do where one row's search
ends before the next begins. Only rows that are new, or share a tag, are searched for once more.
"""

from __future__ import annotations

import numpy as np

from windrow.kernels.jit import inlined, kernel
from windrow.kernels.prefetch import place, soon

ENTRIES, FREE = 0, 1

TAG_BITS, ENTRY_BITS = 31, 32
ENTRY = 2**ENTRY_BITS - 1
"""The bits of a slot that hold an entry's number + 1; its tag stands above."""

BLOCK = 128
"""Rows that are looked up together."""


@inlined
def hash_words(words, row):
    """Mix the words of a row into 64 bits (splitmix64 finaliser a word)."""
    h = np.uint64(0x9E3779B97F4A7C15)
    for k in range(words.shape[1]):
        h ^= np.uint64(words[row, k])
        h ^= h >> np.uint64(30)
        h *= np.uint64(0xBF58476D1CE4E5B9)
        h ^= h >> np.uint64(27)
        h *= np.uint64(0x94D049BB133111EB)
        h ^= h >> np.uint64(31)
    return h


@inlined
def same_words(left, i, right, j):
    """Return whether row i of `left` equals row j of `right`."""
    for k in range(left.shape[1]):
        if left[i, k] != right[j, k]:
            return False
    return True


@inlined
def tag_of(hash_):
    """Return the tag of a hash."""
    return np.int64(hash_ >> np.uint64(64 - TAG_BITS))


@inlined
def home_shift(slots):
    """Return how many bits of a tag its home slot is without."""
    shift = TAG_BITS
    size = len(slots)
    while size > 1:
        size >>= 1
        shift -= 1
    return shift


@inlined
def look_up(rows, start, count, slots, shift, words, tags, codes):
    """Fill `tags`, and `codes` with the code of each row whose tag leads to it, else -1.

    The search for a tag ends before the words are announced: of rows that are not at home, each
    sixth in a table a third full, these would else be somebody else's.
    """
    # First loop: hash all rows of the block, and prefetch the slots at which they are at home.
    for i in range(count):
        tags[i] = tag_of(hash_words(rows, place(start + i)))
        soon(slots, tags[i] >> shift)
    # Second: search for the tags, and prefetch the words of the entries found.
    for i in range(count):
        at = tags[i] >> shift
        slot = slots[place(at)]
        while slot != 0 and slot >> ENTRY_BITS != tags[i]:
            at = (at + 1) & (len(slots) - 1)
            slot = slots[place(at)]
        codes[place(start + i)] = (slot & ENTRY) - 1
        soon(words, (slot & ENTRY) - 1)
    # Third: compare words, without a branch a word.
    for i in range(count):
        row = place(start + i)
        code = codes[row]
        same = code >= 0
        for k in range(rows.shape[1]):
            same &= words[place(max(code, 0)), k] == rows[row, k]
        codes[row] = code if same else -1


@inlined
def search(rows, i, tag, slots, shift, words):
    """Return the slot of a row, or the empty one where it would be."""
    at = tag >> shift
    while slots[place(at)] != 0:
        slot = slots[place(at)]
        if slot >> ENTRY_BITS == tag and same_words(words, place((slot & ENTRY) - 1), rows, i):
            break
        at = (at + 1) & (len(slots) - 1)
    return place(at)


@kernel
def find_rows(rows, slots, words, tags, codes):
    """Fill `codes` with the code of each row, -1 where the table lacks it."""
    shift = home_shift(slots)
    for start in range(0, len(rows), BLOCK):
        count = min(BLOCK, len(rows) - start)
        look_up(rows, start, count, slots, shift, words, tags, codes)
        for i in range(start, start + count):
            if codes[i] < 0:
                at = search(rows, i, tags[i - start], slots, shift, words)
                codes[i] = (slots[at] & ENTRY) - 1


@kernel
def encode_rows(rows, slots, words, hashes, free, meta, tags, codes):
    """Fill `codes`, adding the rows that the table lacks.

    Needs room: at least len(rows) unused entries, and slots at most half full afterwards.
    """
    shift = home_shift(slots)
    for start in range(0, len(rows), BLOCK):
        count = min(BLOCK, len(rows) - start)
        look_up(rows, start, count, slots, shift, words, tags, codes)
        for i in range(start, start + count):
            if codes[i] >= 0:
                continue
            # New, as it seems; but an equal row earlier in the block may have been added since.
            tag = tags[i - start]
            at = search(rows, i, tag, slots, shift, words)
            if slots[at] != 0:
                codes[i] = (slots[at] & ENTRY) - 1
                continue
            # The newest released number, or one never used.
            if meta[FREE] > 0:
                meta[FREE] -= 1
                code = free[meta[FREE]]
            else:
                code = meta[ENTRIES]
                meta[ENTRIES] += 1
            slots[at] = (tag << ENTRY_BITS) | (code + 1)
            hashes[code] = hash_words(rows, i)
            for k in range(rows.shape[1]):
                words[code, k] = rows[i, k]
            codes[i] = code


@kernel
def release_codes(codes, slots, hashes, free, meta):
    """Remove entries, closing the gaps they leave in the probe sequences."""
    mask = len(slots) - 1
    shift = home_shift(slots)
    for i in range(len(codes)):
        # Find the entry's slot by its number: no word is read.
        at = tag_of(hashes[codes[i]]) >> shift
        while slots[at] & ENTRY != codes[i] + 1:
            at = (at + 1) & mask
        # Close the gap: a later slot moves into the hole unless its home lies behind the hole.
        hole = at
        at = (at + 1) & mask
        while slots[at] != 0:
            home = slots[at] >> (ENTRY_BITS + shift)
            if ((at - home) & mask) >= ((at - hole) & mask):
                slots[hole] = slots[at]
                hole = at
            at = (at + 1) & mask
        slots[hole] = 0
        free[meta[FREE]] = codes[i]
        meta[FREE] += 1


@kernel
def rebuild_slots(slots, hashes, live):
    """Fill empty `slots` from the entries in `live`."""
    mask = len(slots) - 1
    shift = home_shift(slots)
    for i in range(len(live)):
        tag = tag_of(hashes[live[i]])
        at = tag >> shift
        while slots[at] != 0:
            at = (at + 1) & mask
        slots[at] = (tag << ENTRY_BITS) | (live[i] + 1)
