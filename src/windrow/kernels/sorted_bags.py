"""A sorted bag a group: a B+-tree of values with their numbers of copies, in one array of words.

    block       HEAD | LINKS | keys, ascending .......... | values ..........
                2 words        room for 3, 7, 15 or 31 of each (see `extents.py`)

    leaf        values are copies; LINKS = leaf before << 32 | leaf after
    inner       values are blocks below; keys[i] <= all keys below values[i]; keys[0] is not read

    roots:      group -> 0: empty;  x > 0: its only leaf;  x < 0: the record of its tree, at -x
    record      HEAD | ROOT | HEIGHT (inner levels) | TOTAL copies | CURSOR leaf | BELOW | - | -

A bag of up to 31 values is one leaf that grows and shrinks with it, so that a small group takes 64
bytes; larger ones are trees of blocks of 512 bytes. A search reads log_20(n) blocks.

The cursor is what makes quantiles cheap. It stands at the leaf that was read last, and BELOW counts
the copies in the leaves before that. A change of one copy moves a quantile by at most one copy, so
the cursor moves on by a leaf now and then, and no block has to count what is below it:

    leaves   ├─ 2 3 5 ─┼─ 7 8 9 ─┼─ 11 12 ─┤       median: the copy (n - 1)/2, from 0
                       ▲ CURSOR, BELOW = 3

Within an instant copies may be negative for a while: a retraction may come before its insertion.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from windrow.kernels.extents import HEAD, LARGEST, LINE, USED, free_extent, take_extent
from windrow.kernels.extremes import BYTES, compare, order_key, value_of
from windrow.kernels.groups import CLOSES, EMISSION, GROUP, WEIGHT
from windrow.kernels.jit import force_inlined, kernel
from windrow.kernels.prefetch import place

LINKS, FIRST = 1, 2
ROOT, HEIGHT, TOTAL, CURSOR, BELOW = 1, 2, 3, 4, 5
ENTRIES, COMPARISONS, META = 5, 6, 7
"""In meta, after what `extents.py` counts: values in all bags, values compared; its length."""

FULL = 31
HALF = 16
SPARSE = 10
"""A block with fewer is merged with its neighbour, if both together have at most `MERGED`."""
MERGED = 24
NEXT = 0xFFFFFFFF
LEVELS = 16
"""No tree is higher: a level has twelve times the blocks of the level above it, in the mean."""


class Bags(NamedTuple):
    """The bags of all groups; `path` (2 × LEVELS) holds blocks and positions of a descent."""

    roots: Any
    words: Any
    meta: Any
    path: Any


class Quantiles(NamedTuple):
    """By emission: the values around a quantile, how far from low to high, and if there is one."""

    low: Any
    high: Any
    part: Any
    valid: Any


@force_inlined
def count_of(words, x):
    """Return how many entries a block has."""
    return words[x * LINE + HEAD] >> 2


@force_inlined
def values_at(words, x):
    """Return where the values of a block begin."""
    return x * LINE + FIRST + (4 << (words[x * LINE + HEAD] & 3)) - 1


@force_inlined
def up_to(words, at, n, key, order, meta):
    """Return how many of the n ascending keys from `at` on are not above a key."""
    first, looks = at, 0
    if order.kind == BYTES:
        while n > 0:
            half = (n + 1) >> 1
            looks += 1
            middle = words[at + half - 1]
            if compare(middle, key, order) <= 0:
                at += half
                n -= half
            else:
                n = half - 1
    else:
        while n > 1:  # without a branch: which half it is cannot be predicted
            half = n >> 1
            looks += 1
            at += half * (words[place(at + half - 1)] <= key)
            n -= half
        if n == 1:
            looks += 1
            at += words[place(at)] <= key
    meta[COMPARISONS] += looks
    return at - first


@force_inlined
def put_entry(words, x, at, key, value):
    """Insert an entry into a block that has room."""
    keys, values, n = x * LINE + FIRST, values_at(words, x), count_of(words, x)
    for i in range(n, at, -1):
        words[place(keys + i)] = words[place(keys + i - 1)]
    for i in range(n, at, -1):
        words[place(values + i)] = words[place(values + i - 1)]
    words[place(keys + at)] = key
    words[place(values + at)] = value
    words[x * LINE + HEAD] += 4


@force_inlined
def cut_entry(words, x, at):
    """Remove an entry from a block."""
    keys, values, n = x * LINE + FIRST, values_at(words, x), count_of(words, x)
    for i in range(keys + at, keys + n - 1):
        words[place(i)] = words[place(i + 1)]
    for i in range(values + at, values + n - 1):
        words[place(i)] = words[place(i + 1)]
    words[x * LINE + HEAD] -= 4


@kernel
def move_entries(words, source, start, target):
    """Move the entries from `start` on to the end of another block."""
    n, m = count_of(words, source), count_of(words, target)
    keys, values = source * LINE + FIRST, values_at(words, source)
    to_keys, to_values = target * LINE + FIRST, values_at(words, target)
    for i in range(start, n):
        words[to_keys + m + i - start] = words[keys + i]
        words[to_values + m + i - start] = words[values + i]
    words[source * LINE + HEAD] -= (n - start) << 2
    words[target * LINE + HEAD] += (n - start) << 2


@force_inlined
def copies_in(words, x):
    """Return the copies in a leaf."""
    values, total = values_at(words, x), 0
    for i in range(count_of(words, x)):
        total += words[place(values + i)]
    return total


@kernel
def resized(bags, x, size):
    """Return a leaf of another size with the same entries, and free the old one."""
    made = take_extent(bags.words, bags.meta, size)
    move_entries(bags.words, x, 0, made)
    free_extent(bags.words, bags.meta, x)
    return made


@kernel
def link_leaves(words, before, after):
    """Make two leaves neighbours; 0 is no leaf."""
    if before:
        words[before * LINE + LINKS] = (words[before * LINE + LINKS] & ~NEXT) | after
    if after:
        words[after * LINE + LINKS] = (before << 32) | (words[after * LINE + LINKS] & NEXT)


@kernel
def plant(bags, g):
    """Make a tree with an inner root of a group's only leaf; return its record."""
    words, meta = bags.words, bags.meta
    leaf = bags.roots[g]
    record, root = take_extent(words, meta, 0), take_extent(words, meta, LARGEST)
    put_entry(words, root, 0, 0, leaf)
    at = record * LINE
    words[at + ROOT], words[at + HEIGHT] = root, 1
    words[at + TOTAL], words[at + CURSOR], words[at + BELOW] = copies_in(words, leaf), leaf, 0
    bags.roots[g] = -record
    bags.path[0, 0], bags.path[1, 0], bags.path[0, 1] = root, 0, leaf
    return record


@force_inlined
def leaf_of(bags, record, key, order):
    """Return the leaf where a key is or belongs; `path` gets the way there."""
    words, path, at = bags.words, bags.path, record * LINE
    x = words[at + ROOT]
    for level in range(words[at + HEIGHT]):
        # keys[0] is not read: what is below it has no lower bound
        i = up_to(words, x * LINE + FIRST + 1, count_of(words, x) - 1, key, order, bags.meta)
        path[0, level], path[1, level] = x, i
        x = words[values_at(words, x) + i]
    path[0, words[at + HEIGHT]] = x
    return x


@kernel
def add_block(bags, record, level, key, block):
    """Put a block behind the one that the path takes from a level; split what is full."""
    words, meta, path = bags.words, bags.meta, bags.path
    # From the level upwards: a block that is full becomes two, and its right half goes to the
    # level above, behind the left one.
    while level >= 0:
        x, i = path[0, level], path[1, level] + 1
        if count_of(words, x) < FULL:
            put_entry(words, x, i, key, block)
            return
        right = take_extent(words, meta, LARGEST)
        move_entries(words, x, HALF, right)
        up = words[right * LINE + FIRST]  # the first key of the right half bounds it from above
        if i <= HALF:
            put_entry(words, x, i, key, block)
        else:
            put_entry(words, right, i - HALF, key, block)
        key, block = up, right
        level -= 1
    # The root was split, too: a new one above both halves.
    root = take_extent(words, meta, LARGEST)
    put_entry(words, root, 0, 0, words[record * LINE + ROOT])
    put_entry(words, root, 1, key, block)
    words[record * LINE + ROOT] = root
    words[record * LINE + HEIGHT] += 1


@kernel
def insert_into_full(bags, g, leaf, at, key, w):
    """Insert a new value into a full leaf: the leaf grows, or is split."""
    words, meta = bags.words, bags.meta
    # A small leaf is the only one of its group: it moves to the next larger extent.
    size = words[leaf * LINE + HEAD] & 3
    if size < LARGEST:
        bags.roots[g] = resized(bags, leaf, size + 1)
        put_entry(words, bags.roots[g], at, key, w)
        return
    # The first split makes a tree of an only leaf.
    if bags.roots[g] > 0:
        words[plant(bags, g) * LINE + TOTAL] += w
    record = -bags.roots[g]
    after = words[leaf * LINE + LINKS] & NEXT
    # values that only ascend leave full leaves behind
    kept = FULL if at == FULL and after == 0 else HALF
    right = take_extent(words, meta, LARGEST)
    move_entries(words, leaf, kept, right)
    link_leaves(words, right, after)
    link_leaves(words, leaf, right)
    if at <= kept < FULL:
        put_entry(words, leaf, at, key, w)
    else:
        put_entry(words, right, at - kept, key, w)
    first = words[right * LINE + FIRST]
    add_block(bags, record, words[record * LINE + HEIGHT] - 1, first, right)


@kernel
def drop_leaf(words, record, x):
    """Take an empty leaf out of the row of leaves; the cursor goes to a neighbour."""
    links = words[x * LINE + LINKS]
    before, after = links >> 32, links & NEXT
    link_leaves(words, before, after)
    if words[record * LINE + CURSOR] == x:
        words[record * LINE + CURSOR] = after if after else before
        if before and not after:
            words[record * LINE + BELOW] -= copies_in(words, before)


@kernel
def merge_blocks(bags, record, parent, i, leaves):
    """Move what is in child i + 1 of a block to the end of child i; free the former."""
    words = bags.words
    values = values_at(words, parent)
    left, right = words[values + i], words[values + i + 1]
    if leaves:
        if words[record * LINE + CURSOR] == right:
            words[record * LINE + CURSOR] = left
            words[record * LINE + BELOW] -= copies_in(words, left)
        link_leaves(words, left, words[right * LINE + LINKS] & NEXT)
    else:  # its first key was not read; now it is
        words[right * LINE + FIRST] = words[parent * LINE + FIRST + i + 1]
    move_entries(words, right, 0, left)
    free_extent(words, bags.meta, right)
    cut_entry(words, parent, i + 1)


@kernel
def thin_out(bags, record):
    """Drop and merge blocks on the path that have become empty or sparse, from the leaf upwards."""
    words, path = bags.words, bags.path
    height = words[record * LINE + HEIGHT]
    # A level above changes only if a block of this one is dropped or merged.
    for level in range(height, 0, -1):
        x, parent, i = path[0, level], path[0, level - 1], path[1, level - 1]
        n = count_of(words, x)
        if n >= SPARSE:
            return
        # Empty: dropped. Sparse: merged with a neighbour, if both fit one block.
        values, siblings = values_at(words, parent), count_of(words, parent)
        if n == 0:
            if level == height:
                drop_leaf(words, record, x)
            free_extent(words, bags.meta, x)
            cut_entry(words, parent, i)
        elif i + 1 < siblings and n + count_of(words, words[values + i + 1]) <= MERGED:
            merge_blocks(bags, record, parent, i, level == height)
        elif i > 0 and n + count_of(words, words[values + i - 1]) <= MERGED:
            merge_blocks(bags, record, parent, i - 1, level == height)
        else:
            return


@kernel
def shrink_tree(bags, g, record):
    """Take away roots with one block below; a tree of one leaf is that leaf, of none nothing."""
    words, meta, at = bags.words, bags.meta, record * LINE
    # A root that leads to one block, or none, is not needed.
    root = words[at + ROOT]
    while words[at + HEIGHT] > 0 and count_of(words, root) <= 1:
        below = words[values_at(words, root)] if count_of(words, root) else 0
        free_extent(words, meta, root)
        words[at + HEIGHT] = words[at + HEIGHT] - 1 if below else 0
        root = below
    words[at + ROOT] = root
    # One leaf is left: it needs no record.
    if words[at + HEIGHT] == 0:
        free_extent(words, meta, record)
        bags.roots[g] = root
        if root:
            shrink_leaf(bags, g)


@kernel
def shrink_leaf(bags, g):
    """Put a group's only leaf into a smaller extent if it fills a quarter of its own."""
    leaf = bags.roots[g]
    n, size = count_of(bags.words, leaf), bags.words[leaf * LINE + HEAD] & 3
    if n == 0:
        free_extent(bags.words, bags.meta, leaf)
        bags.roots[g] = 0
        return
    smaller = size
    while smaller > 0 and n <= (1 << smaller) - 1:
        smaller -= 1
    if smaller < size:
        bags.roots[g] = resized(bags, leaf, smaller)


@kernel
def shrink(bags, g):
    """Give back what a group's bag no longer needs after a removal."""
    if bags.roots[g] > 0:
        shrink_leaf(bags, g)
        return
    record = -bags.roots[g]
    thin_out(bags, record)
    shrink_tree(bags, g, record)


@force_inlined
def has_room(bags, g):
    """Return whether a change of a group's bag finds lines enough, even if every block is split."""
    root, blocks = bags.roots[g], 1
    if root < 0:
        blocks = 2 + bags.words[-root * LINE + HEIGHT]
    elif root > 0 and bags.words[root * LINE + HEAD] & 3 == LARGEST:
        blocks = 3  # a second leaf, a root and a record
    return (bags.meta[USED] + (blocks << LARGEST)) * LINE <= len(bags.words)


@force_inlined
def add_copies(bags, g, key, w, order):
    """Add w copies of a value to a group's bag. Needs room (see `has_room`)."""
    words = bags.words
    # Find the leaf: a new one, the only one, or by the tree.
    leaf = bags.roots[g]
    if leaf == 0:
        leaf = take_extent(words, bags.meta, 0)
        bags.roots[g] = leaf
    elif leaf < 0:
        at = -leaf * LINE
        leaf = leaf_of(bags, -leaf, key, order)
        words[at + TOTAL] += w
        cursor = words[at + CURSOR]
        # leaves hold disjoint ranges: any key of the cursor's shows which of both is first
        first = words[cursor * LINE + FIRST]
        if cursor != leaf and compare(key, first, order) < 0:
            words[at + BELOW] += w
    # Within the leaf, the last key that is not above.
    keys = leaf * LINE + FIRST
    i = up_to(words, keys, count_of(words, leaf), key, order, bags.meta)
    size = words[leaf * LINE + HEAD] & 3
    # A value that is new to the bag.
    if i == 0 or words[keys + i - 1] != key:
        bags.meta[ENTRIES] += 1
        if count_of(words, leaf) < (4 << size) - 1:
            put_entry(words, leaf, i, key, w)
        else:
            insert_into_full(bags, g, leaf, i, key, w)
        return
    # A value that is there gets more copies, or fewer; with none it is removed.
    copies = values_at(words, leaf) + i - 1
    words[copies] += w
    if words[copies] == 0:
        bags.meta[ENTRIES] -= 1
        cut_entry(words, leaf, i - 1)
        # a block of a tree is thinned out below `SPARSE`; an only leaf at a quarter of its room
        if count_of(words, leaf) < (SPARSE if bags.roots[g] < 0 else 1 << size):
            shrink(bags, g)


@force_inlined
def size_of(bags, g):
    """Return the copies in a group's bag."""
    x = bags.roots[g]
    if x < 0:
        return bags.words[-x * LINE + TOTAL]
    return copies_in(bags.words, x) if x else 0


@force_inlined
def find_copy(bags, g, k):
    """Return leaf and place of the k-th copy, from 0, and the copies up to that value's last."""
    words, root = bags.words, bags.roots[g]
    # Begin at the cursor; go back by leaves while the copy is before it.
    leaf, below = root, 0
    if root < 0:
        leaf, below = words[-root * LINE + CURSOR], words[-root * LINE + BELOW]
        while k < below:
            leaf = words[leaf * LINE + LINKS] >> 32
            below -= copies_in(words, leaf)
    # Count copies value by value; go on by leaves.
    while True:
        values, n, passed, i = values_at(words, leaf), count_of(words, leaf), below, 0
        while i < n and k >= passed + words[place(values + i)]:
            passed += words[place(values + i)]
            i += 1
        if i < n:
            break
        leaf, below = words[leaf * LINE + LINKS] & NEXT, passed
    # The next quantile of this group is near: begin here.
    if root < 0:
        words[-root * LINE + CURSOR], words[-root * LINE + BELOW] = leaf, below
    return leaf, i, passed + words[values + i]


@force_inlined
def read_quantile(bags, g, fraction, kind, e, out):
    """Fill in emission e: the two values about (n - 1)·fraction of a group."""
    words, n = bags.words, size_of(bags, g)
    out.valid[e] = n > 0
    if n <= 0:
        return
    # Between the copies k and k + 1, `part` of the way.
    exact = (n - 1) * fraction
    k = int(exact)
    leaf, i, end = find_copy(bags, g, k)
    key = words[leaf * LINE + FIRST + i]
    out.low[e] = out.high[e] = value_of(key, kind)
    out.part[e] = exact - k
    if out.part[e] > 0.0 and k + 1 >= end:  # the next copy is of the next value
        if i + 1 == count_of(words, leaf):
            leaf, i = words[leaf * LINE + LINKS] & NEXT, -1
        out.high[e] = value_of(words[leaf * LINE + FIRST + i + 1], kind)


@kernel
def quantiles(events, takes, data, fraction, order, bags, out, start):
    """Keep all values; each emission gets the two about (n - 1)·fraction of its group.

        low         high
         ├─────┼──────┤        part: how far from low to high, in [0, 1)

    0 is MIN, 1 is MAX. Begins at event `start`; returns the first event for which there is no
    room, or how many there are.
    """
    all_taken = len(takes) == 0
    for i in range(start, events.shape[1]):
        g, w, e = events[GROUP, i], events[WEIGHT, i], events[EMISSION, i]
        # Before anything is changed: a call that goes on begins with a whole event.
        if not has_room(bags, g):
            return i
        if w != 0 and (all_taken or takes[i]):
            add_copies(bags, g, order_key(data[i], order.kind), w, order)
        if events[CLOSES, e] == i:
            read_quantile(bags, g, fraction, order.kind, e, out)
    return events.shape[1]


@kernel
def first_leaf(bags, g):
    """Return the leaf with a group's least values; 0 if it has none."""
    words, x = bags.words, bags.roots[g]
    if x >= 0:
        return x
    at = -x * LINE
    x = words[at + ROOT]
    for _ in range(words[at + HEIGHT]):
        x = words[values_at(words, x)]
    return x


@kernel
def list_entries(bags, groups, out):
    """Write group, key and copies of each value into `out` (3 × entries), in order; return n."""
    words, n = bags.words, 0
    for g in range(groups):
        leaf = first_leaf(bags, g)
        while leaf:
            values = values_at(words, leaf)
            for i in range(count_of(words, leaf)):
                out[0, n], out[1, n] = g, words[leaf * LINE + FIRST + i]
                out[2, n] = words[values + i]
                n += 1
            leaf = words[leaf * LINE + LINKS] & NEXT if bags.roots[g] < 0 else 0
    return n


@kernel
def list_separators(bags, groups, out):
    """Write the keys of inner blocks that are read into `out`; return how many."""
    words, path, n = bags.words, bags.path, 0
    for g in range(groups):
        if bags.roots[g] >= 0:
            continue
        at = -bags.roots[g] * LINE
        # Depth first: `path` has, of each level, the block and the position that is next.
        path[0, 0], path[1, 0] = words[at + ROOT], 0
        level = 0
        while level >= 0:
            x, i = path[0, level], path[1, level]
            if i == count_of(words, x):
                level -= 1
                continue
            path[1, level] = i + 1
            if i > 0:
                out[n] = words[x * LINE + FIRST + i]
                n += 1
            if level + 1 < words[at + HEIGHT]:
                level += 1
                path[0, level], path[1, level] = words[values_at(words, x) + i], 0
    return n
