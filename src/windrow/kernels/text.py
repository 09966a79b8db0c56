"""Byte strings as codes: an exact hash table over an arena of bytes.

    arena:            │the│quick│brown│fox│............│     meta[USED] bytes are taken,
                                                             `SPARE` are always free
    starts, lengths:  code -> its bytes                      equality is decided here
    slots:            [ .  tag:code+1  .  .  tag:code+1 ]    open addressing, 0 is empty

A slot keeps 32 bits of the hash as its tag. They also say where the search begins, so that the
table grows, and drops codes, by reading slots alone. A released code is given out again, newest
first.
`meta` holds: [codes ever used, free codes, bytes used].
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from windrow.kernels.hashing import ENTRIES, FREE
from windrow.kernels.jit import inlined, kernel
from windrow.kernels.prefetch import place

USED = 2

SPARE = 16
"""Bytes behind the last string that may be read, so that short strings are copied as words."""

CODE_BITS = np.uint64(0xFFFFFFFF)

AHEAD = 32
"""Rows that are hashed before they are searched for."""


class StringTable(NamedTuple):
    """The arrays of a table of strings; `free` has the codes that were released."""

    arena: Any
    starts: Any
    lengths: Any
    slots: Any
    free: Any
    meta: Any


@kernel
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
def put_word(data, at, w):
    """Write a word into the eight bytes from `at` on: LLVM makes a single store of it."""
    i = np.uint64(at)
    data[i] = np.uint8(w)
    data[i + np.uint64(1)] = np.uint8(w >> np.uint64(8))
    data[i + np.uint64(2)] = np.uint8(w >> np.uint64(16))
    data[i + np.uint64(3)] = np.uint8(w >> np.uint64(24))
    data[i + np.uint64(4)] = np.uint8(w >> np.uint64(32))
    data[i + np.uint64(5)] = np.uint8(w >> np.uint64(40))
    data[i + np.uint64(6)] = np.uint8(w >> np.uint64(48))
    data[i + np.uint64(7)] = np.uint8(w >> np.uint64(56))


@kernel
def mixed(h, w):
    """Mix a word into a hash."""
    h = (h ^ w) * np.uint64(0xBF58476D1CE4E5B9)
    return h ^ (h >> np.uint64(29))


@kernel
def short_word(data, at, length):
    """Return fewer than eight bytes from `at` on as one word, 0 above them."""
    if at + 8 <= len(data):
        return word_at(data, at) & ((np.uint64(1) << np.uint64(8 * length)) - np.uint64(1))
    w = np.uint64(0)
    for k in range(length):
        w |= np.uint64(data[at + k]) << np.uint64(8 * k)
    return w


@kernel
def tag_of(data, start, length):
    """Return the 32 bits of the hash that a slot keeps."""
    return hash_bytes(data, start, length) >> np.uint64(32)


@kernel
def hash_bytes(data, start, length):
    """Return 64 bits of the bytes [start, start + length): whole words, the last may overlap.

    Up to 16 bytes are always two words, so that the processor need not guess a length.
    """
    h = np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(length)
    if length < 8:
        h = mixed(h, short_word(data, start, length))
    else:
        last = start + length - 8
        h = mixed(h, word_at(data, start))
        at = start + 8
        while at < last:
            h = mixed(h, word_at(data, at))
            at += 8
        h = mixed(h, word_at(data, last))
    h *= np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


@kernel
def same_bytes(left, i, right, j, length):
    """Return whether `length` bytes from i on in `left` equal those from j on in `right`."""
    if length < 8:
        return short_word(left, i, length) == short_word(right, j, length)
    # The first and the last word, which may overlap, then those between.
    last = length - 8
    ends = (word_at(left, i) ^ word_at(right, j)) | (
        word_at(left, i + last) ^ word_at(right, j + last)
    )
    k = 8
    while k < last:
        if word_at(left, i + k) != word_at(right, j + k):
            return False
        k += 8
    return ends == 0


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
def look_ahead(data, offsets, first, stop, slots, starts, ahead):
    """Fill ahead[0] with the tags of rows [first, stop), and touch what their search will read.

    The reads of one row do not wait for those of another here, as they do in the search, where
    each is behind a branch.
    """
    # Three loops, each over all rows: hash, read the slot, read where its string begins.
    mask = np.uint64(len(slots) - 1)
    for i in range(first, stop):
        ahead[0, i - first] = tag_of(data, offsets[i], offsets[i + 1] - offsets[i])
    for k in range(stop - first):
        ahead[1, k] = np.uint64(slots[ahead[0, k] & mask]) & CODE_BITS
    for k in range(stop - first):
        ahead[1, k] = np.uint64(starts[max(np.int64(ahead[1, k]), 1) - 1])


@inlined
def find_bytes(data, start, length, tag, arena, starts, lengths, slots):
    """Return the slot where the search for a string ends: its own, or an empty one.

    Inlined: to hand five arrays to a function costs as much as the search, 10 ns.
    """
    mask = np.uint64(len(slots) - 1)
    at = tag & mask
    while slots[at] != 0:
        # Bytes are compared only where tag and length agree.
        word = np.uint64(slots[at])
        if word >> np.uint64(32) == tag:
            code = np.int64(word & CODE_BITS) - 1
            if lengths[code] == length and same_bytes(arena, starts[code], data, start, length):
                break
        at = (at + np.uint64(1)) & mask
    return at


@kernel
def put_slot(slots, word):
    """Put the word of a slot into the first empty place of its search."""
    mask = np.uint64(len(slots) - 1)
    at = (np.uint64(word) >> np.uint64(32)) & mask
    while slots[at] != 0:
        at = (at + np.uint64(1)) & mask
    slots[at] = word


@kernel
def encode_bytes(data, offsets, first, table, ahead, codes):
    """Fill `codes` from row `first` on, adding new strings; return the first row left undone.

        data:  │ row 0 │ row 1 │ ...        row i is data[offsets[i] : offsets[i + 1]]

    Stops where the arena, the codes or the slots (at most half full) have no room.
    `ahead` is room for two lines of `AHEAD` words.
    """
    arena, starts, lengths, slots, free, meta = table
    for i in range(first, len(codes)):
        # Hash a block of rows at a time, so that their reads of slots overlap.
        near = (i - first) & (AHEAD - 1)
        if near == 0:
            stop = min(i + AHEAD, len(codes))
            look_ahead(data, offsets, i, stop, slots, starts, ahead)
        # Known already: the code is in the slot.
        start = offsets[i]
        length = offsets[i + 1] - start
        tag = ahead[0, near]
        at = find_bytes(data, start, length, tag, arena, starts, lengths, slots)
        if slots[at] != 0:
            codes[i] = np.int64(np.uint64(slots[at]) & CODE_BITS) - 1
            continue
        # A new string: stop if bytes, slots or codes have no room.
        live = meta[ENTRIES] - meta[FREE]
        if meta[USED] + length + SPARE > len(arena) or 2 * (live + 1) > len(slots):
            return i
        # A code that was released, or the next one.
        if meta[FREE] > 0:
            meta[FREE] -= 1
            code = free[meta[FREE]]
        elif meta[ENTRIES] == len(starts):
            return i
        else:
            code = meta[ENTRIES]
            meta[ENTRIES] += 1
        # Its slot, and its bytes at the end of the arena.
        slots[at] = np.int64((tag << np.uint64(32)) | np.uint64(code + 1))
        starts[code] = meta[USED]
        lengths[code] = length
        for k in range(length):
            arena[meta[USED] + k] = data[start + k]
        meta[USED] += length
        codes[i] = code
    return len(codes)


@kernel
def move_slots(slots, target, keep):
    """Fill the empty `target` with the slots of the codes to `keep`."""
    for i in range(len(slots)):
        if slots[i] != 0 and keep[np.int64(np.uint64(slots[i]) & CODE_BITS) - 1]:
            put_slot(target, slots[i])


@kernel
def fill_slots(arena, starts, lengths, live, slots):
    """Fill empty `slots` with live codes, by their bytes."""
    for i in range(len(live)):
        code = live[i]
        tag = tag_of(arena, starts[code], lengths[code])
        put_slot(slots, np.int64((tag << np.uint64(32)) | np.uint64(code + 1)))


@kernel
def measure_codes(codes, lengths):
    """Return how many bytes the strings of codes have together."""
    total = 0
    for i in range(len(codes)):
        total += lengths[place(codes[i])]
    return total


@kernel
def copy_codes(codes, arena, starts, lengths, target, offsets):
    """Lay the strings of codes side by side in `target`; fill `offsets` with where each begins.

    Needs `SPARE` bytes of room behind the last string, here and there: two words are copied at a
    time, whatever the length, and what is too much is overwritten by the next string.
    """
    to = 0
    for i in range(len(codes)):
        code = place(codes[i])
        length = lengths[code]
        offsets[place(i)] = to
        k = 0
        while k < length:
            first, second = word_at(arena, starts[code] + k), word_at(arena, starts[code] + k + 8)
            put_word(target, to + k, first)
            put_word(target, to + k + 8, second)
            k += SPARE
        to += length
    offsets[len(codes)] = to


@kernel
def edit_distances(left, left_starts, right, right_starts, room, out):
    """Count the insertions, deletions and replacements that turn each text into the other.

    Texts are code points from one start to the next. `room` has one number more than the longest
    text on the right: the distances of the prefixes read so far to each of its prefixes.
    """
    for row in range(len(out)):
        first, n = right_starts[row], right_starts[row + 1] - right_starts[row]
        for j in range(n + 1):
            room[j] = j
        for i in range(left_starts[row], left_starts[row + 1]):
            diagonal, room[0] = room[0], room[0] + 1
            for j in range(n):
                replaced = diagonal + (0 if left[i] == right[first + j] else 1)
                diagonal = room[j + 1]
                room[j + 1] = min(replaced, diagonal + 1, room[j] + 1)
        out[row] = room[n]


@kernel
def copy_segments(source, source_starts, lengths, target, target_starts):
    """Copy each segment of bytes from its place in `source` to its place in `target`."""
    for i in range(len(lengths)):
        start = source_starts[i]
        to = target_starts[i]
        for k in range(lengths[i]):
            target[to + k] = source[start + k]
