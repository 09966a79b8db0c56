"""Extents of 1, 2, 4 or 8 lines of eight words, in one array: a buddy allocator.

    words:   │ none │ 8 lines │ 4 │ 2 │1│1│ 8 lines │ ......
             0      8         16            24      USED        counted in lines

    an extent in use:   HEAD = count << 2 | size, where 1 << size are its lines
    a free extent:      HEAD = -1 - size, BEFORE and AFTER chain those of its size

Extents of eight lines are cut from the end; smaller ones are halves of halves. An extent that is
freed is joined with its other half if that is free, too, so that lines are used again for any size.
"""

from __future__ import annotations

from windrow.kernels.jit import kernel

LINE = 8
"""Words of a line: 64 bytes, as the processor reads them."""
LARGEST = 3
HEAD, BEFORE, AFTER = 0, 1, 2
USED, FREE = 0, 1
"""In meta: lines used, then the first free extent of each of the four sizes."""


@kernel
def chain_free(words, meta, x, size):
    """Put an extent before the free ones of its size."""
    after = meta[FREE + size]
    words[x * LINE + HEAD] = -1 - size
    words[x * LINE + BEFORE] = 0
    words[x * LINE + AFTER] = after
    if after:
        words[after * LINE + BEFORE] = x
    meta[FREE + size] = x


@kernel
def unchain_free(words, meta, x, size):
    """Take an extent out of the free ones of its size."""
    before, after = words[x * LINE + BEFORE], words[x * LINE + AFTER]
    if before:
        words[before * LINE + AFTER] = after
    else:
        meta[FREE + size] = after
    if after:
        words[after * LINE + BEFORE] = before


@kernel
def take_extent(words, meta, size):
    """Return an extent with a count of 0. Needs eight lines behind those used."""
    # The smallest free extent that is large enough; else eight lines from the end.
    found = size
    while found <= LARGEST and meta[FREE + found] == 0:
        found += 1
    if found > LARGEST:
        found = LARGEST
        x = meta[USED]
        meta[USED] += 1 << LARGEST
    else:
        x = meta[FREE + found]
        unchain_free(words, meta, x, found)
    # Halve what is too large; second halves stay free.
    while found > size:
        found -= 1
        chain_free(words, meta, x + (1 << found), found)
    words[x * LINE + HEAD] = size
    words[x * LINE + BEFORE] = 0
    return x


@kernel
def free_extent(words, meta, x):
    """Free an extent, and join it with its other half as long as that is free."""
    size = words[x * LINE + HEAD] & 3
    while size < LARGEST:
        # Extents of a size begin at its multiples, so both halves differ in one bit.
        other = x ^ (1 << size)
        if words[other * LINE + HEAD] != -1 - size:
            break
        unchain_free(words, meta, other, size)
        x = min(x, other)
        size += 1
    chain_free(words, meta, x, size)
