"""Rows in an order: keys whose bytes sort as rows do, and the values of a bag one after the other.

    key:     │ tag │ part of column 0 │ tag │ part of column 1 │ ...     compared byte by byte

    tag      `VALUE`, or for NULL one below or above it: NULLs first or last
    part     of fixed width: eight bytes, the highest first, its sign turned
             of text: its bytes, with FF after each 00, then 00 01
             descending: all bits turned

A part of NULL is empty. No part is the beginning of another, so the first byte that differs is
within one column.
"""

from __future__ import annotations

from windrow.kernels.extents import LINE
from windrow.kernels.extremes import order_key
from windrow.kernels.groups import CLOSES, EMISSION, GROUP, WEIGHT
from windrow.kernels.jit import kernel
from windrow.kernels.sorted_bags import (
    FIRST,
    LINKS,
    NEXT,
    add_copies,
    count_of,
    first_leaf,
    has_room,
    size_of,
    values_at,
)

VALUE = 1
WIDTH = 8
"""Bytes of a part of fixed width."""

ESCAPED, END = 0xFF, 0x01
"""What follows a 00: it is one of the text's own, or its end."""


@kernel
def measure_texts(data, offsets, valid, lengths):
    """Add to `lengths` the bytes of each text's part, with its tag."""
    for i in range(len(lengths)):
        lengths[i] += 1
        if len(valid) and not valid[i]:
            continue
        lengths[i] += offsets[i + 1] - offsets[i] + 2
        for k in range(offsets[i], offsets[i + 1]):
            if data[k] == 0:
                lengths[i] += 1


@kernel
def write_words(words, valid, null_tag, flip, out, at):
    """Write tags and parts of fixed width where each row's key has come to; move `at` on."""
    for i in range(len(words)):
        to = at[i]
        if len(valid) and not valid[i]:
            out[to] = null_tag
            at[i] = to + 1
            continue
        out[to] = VALUE
        word = words[i]
        for k in range(WIDTH):
            byte = (word >> (8 * (WIDTH - 1 - k))) & 0xFF
            if k == 0:
                byte ^= 0x80
            out[to + 1 + k] = byte ^ flip
        at[i] = to + 1 + WIDTH


@kernel
def write_texts(texts, valid, null_tag, flip, out, at):
    """Write tags and parts of texts (bytes, offsets) where each row's key has come to."""
    data, offsets = texts
    for i in range(len(offsets) - 1):
        to = at[i]
        if len(valid) and not valid[i]:
            out[to] = null_tag
            at[i] = to + 1
            continue
        out[to] = VALUE
        to += 1
        for k in range(offsets[i], offsets[i + 1]):
            out[to] = data[k] ^ flip
            to += 1
            if data[k] == 0:
                out[to] = ESCAPED ^ flip
                to += 1
        out[to] = flip
        out[to + 1] = END ^ flip
        at[i] = to + 2


@kernel
def skip_part(data, is_text, flip, at):
    """Move `at`, where each key has come to, behind one more part."""
    for i in range(len(at)):
        to = at[i]
        if data[to] != VALUE:
            at[i] = to + 1
        elif is_text:
            to += 1
            while data[to] != flip or data[to + 1] != END ^ flip:
                to += 2 if data[to] == flip else 1
            at[i] = to + 2
        else:
            at[i] = to + 1 + WIDTH


@kernel
def read_words(data, flip, at, words, valid):
    """Read the part of fixed width at which each key has come to."""
    for i in range(len(at)):
        start = at[i]
        valid[i] = data[start] == VALUE
        word = 0
        if valid[i]:
            for k in range(WIDTH):
                byte = int(data[start + 1 + k]) ^ flip
                if k == 0:
                    byte -= 0x80
                word = (word << 8) | byte
        words[i] = word


@kernel
def read_texts(data, flip, at, valid, texts):
    """Read the text at which each key has come to, into (bytes, offsets); return its bytes.

    Without room for bytes it only measures.
    """
    out, offsets = texts
    to = 0
    for i in range(len(at)):
        offsets[i] = to
        start = at[i]
        valid[i] = data[start] == VALUE
        if not valid[i]:
            continue
        start += 1
        while True:
            byte = int(data[start]) ^ flip
            if byte == 0 and int(data[start + 1]) ^ flip == END:
                break
            if len(out):
                out[to] = byte
            to += 1
            start += 2 if byte == 0 else 1
    offsets[len(at)] = to
    return to


@kernel
def list_copies(bags, g, listed, n):
    """Write the keys of a group's bag from `n` on, one a copy; return where they end."""
    words, leaf = bags.words, first_leaf(bags, g)
    while leaf:
        values = values_at(words, leaf)
        for i in range(count_of(words, leaf)):
            for _ in range(words[values + i]):
                listed[n] = words[leaf * LINE + FIRST + i]
                n += 1
        leaf = words[leaf * LINE + LINKS] & NEXT if bags.roots[g] < 0 else 0
    return n


@kernel
def list_bags(events, takes, data, order, bags, listed, spans, start):
    """Keep all values; each emission gets those of its group, in order.

        spans[:, e]:   where its values begin in `listed`, where they end

    Begins at event `start`; returns the first event for which there is no room, or how many there
    are. The last span is where the values listed so far end, and how many the event needs.
    """
    all_taken = len(takes) == 0
    last = spans.shape[1] - 1
    n = spans[0, last]
    for i in range(start, events.shape[1]):
        g, w, e = events[GROUP, i], events[WEIGHT, i], events[EMISSION, i]
        # Before anything is changed: a call that goes on begins with a whole event.
        taken = w != 0 and (all_taken or takes[i])
        need = size_of(bags, g) + max(w, 0) if events[CLOSES, e] == i else 0
        if n + need > len(listed) or not has_room(bags, g):
            spans[0, last], spans[1, last] = n, need
            return i
        if taken:
            add_copies(bags, g, order_key(data[i], order.kind), w, order)
        if events[CLOSES, e] == i:
            spans[0, e] = n
            n = list_copies(bags, g, listed, n)
            spans[1, e] = n
    spans[0, last] = n
    return events.shape[1]
