"""An exact hash table from rows of words to small dense codes.

    slots:   [ .  e+1 .  .  e+1 . ]      open addressing, 0 is empty, else entry + 1
    words:   entry -> its K words        equality is decided here, never by the hash
    hashes:  entry -> its hash           so that growing and deleting need no re-hashing

Codes are entry numbers. A released entry's number is given out again, newest first.
`meta` holds: [entries ever used, free entries].
"""

from __future__ import annotations

import numpy as np

from windrow.kernels.jit import inlined, kernel

ENTRIES, FREE = 0, 1


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
    """Tell whether row i of `left` equals row j of `right`."""
    for k in range(left.shape[1]):
        if left[i, k] != right[j, k]:
            return False
    return True


@kernel
def find_rows(rows, slots, words, hashes, codes):
    """Fill `codes` with the code of each row, -1 where the table lacks it."""
    mask = np.uint64(len(slots) - 1)
    for i in range(len(rows)):
        h = hash_words(rows, i)
        at = h & mask
        codes[i] = -1
        while slots[at] != 0:
            entry = slots[at] - 1
            if hashes[entry] == h and same_words(words, entry, rows, i):
                codes[i] = entry
                break
            at = (at + np.uint64(1)) & mask


@kernel
def encode_rows(rows, slots, words, hashes, free, meta, codes):
    """Fill `codes`, adding the rows that the table lacks.

    Needs room: at least len(rows) unused entries, and slots at most half full afterwards.
    """
    mask = np.uint64(len(slots) - 1)
    for i in range(len(rows)):
        h = hash_words(rows, i)
        at = h & mask
        code = -1
        while slots[at] != 0:
            entry = slots[at] - 1
            if hashes[entry] == h and same_words(words, entry, rows, i):
                code = entry
                break
            at = (at + np.uint64(1)) & mask
        if code < 0:
            if meta[FREE] > 0:
                meta[FREE] -= 1
                code = free[meta[FREE]]
            else:
                code = meta[ENTRIES]
                meta[ENTRIES] += 1
            slots[at] = code + 1
            hashes[code] = h
            for k in range(rows.shape[1]):
                words[code, k] = rows[i, k]
        codes[i] = code


@kernel
def release_codes(codes, slots, hashes, free, meta):
    """Remove entries, closing the gaps they leave in the probe sequences."""
    mask = np.uint64(len(slots) - 1)
    one = np.uint64(1)
    for i in range(len(codes)):
        at = hashes[codes[i]] & mask
        while slots[at] != codes[i] + 1:
            at = (at + one) & mask
        hole = at
        at = (at + one) & mask
        while slots[at] != 0:
            home = hashes[slots[at] - 1] & mask
            if ((at - home) & mask) >= ((at - hole) & mask):
                slots[hole] = slots[at]
                hole = at
            at = (at + one) & mask
        slots[hole] = 0
        free[meta[FREE]] = codes[i]
        meta[FREE] += 1


@kernel
def rebuild_slots(slots, hashes, live):
    """Fill empty `slots` from the entries in `live`."""
    mask = np.uint64(len(slots) - 1)
    for i in range(len(live)):
        at = hashes[live[i]] & mask
        while slots[at] != 0:
            at = (at + np.uint64(1)) & mask
        slots[at] = live[i] + 1
