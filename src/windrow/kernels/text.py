"""Byte strings as codes: an exact hash table over an arena of bytes.

arena:    │the│quick│brown│fox│............│      meta[USED] bytes are taken
starts, lengths:  code -> its bytes               equality is decided here, never by the hash
slots, hashes, free, meta: as in `kernels/hashing.py`
"""

from __future__ import annotations

import numpy as np

from windrow.kernels.hashing import ENTRIES, FREE
from windrow.kernels.jit import inlined, kernel

USED = 2


@inlined
def word_at(data, at):
    """Return the eight bytes from `at` on as one word: LLVM makes a single load of it."""
    i = np.uint64(at)
    w = np.uint64(data[i])
    w |= np.uint64(data[i + np.uint64(1)]) << np.uint64(8)
    w |= np.uint64(data[i + np.uint64(2)]) << np.uint64(16)
    w |= np.uint64(data[i + np.uint64(3)]) << np.uint64(24)
    w |= np.uint64(data[i + np.uint64(4)]) << np.uint64(32)
    w |= np.uint64(data[i + np.uint64(5)]) << np.uint64(40)
    w |= np.uint64(data[i + np.uint64(6)]) << np.uint64(48)
    w |= np.uint64(data[i + np.uint64(7)]) << np.uint64(56)
    return w


@inlined
def mixed(h, w):
    """Mix a word into a hash."""
    h = (h ^ w) * np.uint64(0xBF58476D1CE4E5B9)
    return h ^ (h >> np.uint64(29))


@kernel
def hash_bytes(data, start, length):
    """Return 64 bits of the bytes [start, start + length)."""
    h = np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(length)
    at = start
    stop = start + length
    while at + 8 <= stop:
        h = mixed(h, word_at(data, at))
        at += 8
    w = np.uint64(0)
    while at < stop:
        w = (w << np.uint64(8)) | np.uint64(data[at])
        at += 1
    h = mixed(h, w)
    h *= np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


@kernel
def same_bytes(left, i, right, j, length):
    """Tell whether `length` bytes from i on in `left` equal those from j on in `right`."""
    k = 0
    while k + 8 <= length:
        if word_at(left, i + k) != word_at(right, j + k):
            return False
        k += 8
    while k < length:
        if left[i + k] != right[j + k]:
            return False
        k += 1
    return True


@kernel
def compare_codes(arena, starts, lengths, a, b):
    """Return -1, 0 or 1 as the bytes of code a come before, are, or come after those of b."""
    if a == b:
        return 0
    i = starts[a]
    j = starts[b]
    for k in range(min(lengths[a], lengths[b])):
        if arena[i + k] != arena[j + k]:
            return -1 if arena[i + k] < arena[j + k] else 1
    if lengths[a] == lengths[b]:
        return 0
    return -1 if lengths[a] < lengths[b] else 1


@kernel
def encode_bytes(data, offsets, first, arena, starts, lengths, slots, hashes, free, meta, codes):
    """Fill `codes` from row `first` on, adding new strings; return the first row left undone.

        data:  │ row 0 │ row 1 │ ...        row i is data[offsets[i] : offsets[i + 1]]

    Stops where the arena, the entries or the slots (at most half full) have no room.
    """
    mask = np.uint64(len(slots) - 1)
    for i in range(first, len(codes)):
        start = offsets[i]
        length = offsets[i + 1] - start
        h = hash_bytes(data, start, length)
        at = h & mask
        code = -1
        while slots[at] != 0:
            entry = slots[at] - 1
            if (
                hashes[entry] == h
                and lengths[entry] == length
                and same_bytes(arena, starts[entry], data, start, length)
            ):
                code = entry
                break
            at = (at + np.uint64(1)) & mask
        if code < 0:
            live = meta[ENTRIES] - meta[FREE]
            if meta[USED] + length > len(arena) or 2 * (live + 1) > len(slots):
                return i
            if meta[FREE] > 0:
                meta[FREE] -= 1
                code = free[meta[FREE]]
            elif meta[ENTRIES] == len(starts):
                return i
            else:
                code = meta[ENTRIES]
                meta[ENTRIES] += 1
            slots[at] = code + 1
            hashes[code] = h
            starts[code] = meta[USED]
            lengths[code] = length
            for k in range(length):
                arena[meta[USED] + k] = data[start + k]
            meta[USED] += length
        codes[i] = code
    return len(codes)


@kernel
def hash_entries(arena, starts, lengths, hashes, count):
    """Fill `hashes` for the first `count` entries."""
    for entry in range(count):
        hashes[entry] = hash_bytes(arena, starts[entry], lengths[entry])


@kernel
def copy_segments(source, source_starts, lengths, target, target_starts):
    """Copy each segment of bytes from its place in `source` to its place in `target`."""
    for i in range(len(lengths)):
        start = source_starts[i]
        to = target_starts[i]
        for k in range(lengths[i]):
            target[to + k] = source[start + k]
