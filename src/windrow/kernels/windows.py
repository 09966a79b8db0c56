"""Count windows: the newest rows in a ring; the newest of each key in a circular chain."""

from __future__ import annotations

from windrow.kernels.jit import inlined, kernel

OLDEST, NEWEST, HELD = 0, 1, 2
"""Columns of `keys`: the slots at both ends of a key's chain, and its length."""

NEWER, NUMBER = 0, 1
"""Columns of `links`: the next newer slot of the same key, and the number of the row's arrival."""


@inlined
def copy_words(source, i, target, j):
    """Copy row i of one matrix to row j of another."""
    for k in range(source.shape[1]):
        target[j, k] = source[i, k]


@inlined
def shown_with(number, step):
    """Return the arrival with which an arrival is shown: the next multiple of the step."""
    return -(-number // step) * step


@kernel
def turn_ring(ts, rows, before, count, step, ring, out, out_words):
    """Insert rows in groups of `step`; expire a row when `count` newer ones are shown.

        arrivals   ... │ gone with this group │ held │ this group │
                       shown - count ─────────┘      └──── shown

    Arrival `before` + 1 is the first of `rows`; those up to `before` are in the ring at their
    number modulo its length, a power of two. `out` gets time and weight of each change,
    `out_words` its row; returns how many. A row inserted and expired at one instant is in neither.
    """
    mask = len(ring) - 1
    last = before + len(ts)
    n = 0
    for shown in range(shown_with(before + 1, step), last + 1, step):
        # Retract the rows that are no longer among the newest `count`.
        now = ts[shown - before - 1]
        for number in range(max(1, shown - count - step + 1), shown - count + 1):
            entered = shown_with(number, step)
            if entered > before and ts[entered - before - 1] == now:
                continue
            out[0, n] = now
            out[1, n] = -1
            if number > before:
                copy_words(rows, number - before - 1, out_words, n)
            else:
                copy_words(ring, number & mask, out_words, n)
            n += 1
        # Insert the group, but for rows that a later group of this instant expires.
        for number in range(shown - step + 1, shown + 1):
            expires = shown_with(number + count, step)
            if expires <= last and ts[expires - before - 1] == now:
                continue
            out[0, n] = now
            out[1, n] = 1
            if number > before:
                copy_words(rows, number - before - 1, out_words, n)
            else:
                copy_words(ring, number & mask, out_words, n)
            n += 1
    # Store what is alive, and what waits for its group to be full.
    first = max(before + 1, last - last % step - count + 1)
    for number in range(first, last + 1):
        copy_words(rows, number - before - 1, ring, number & mask)
    return n


@kernel
def newest_rows(ts, codes, rows, count, first, keys, links, words, out, out_words):
    """Insert each row, and expire its key's oldest if there are more than `count`.

        key:  oldest ─► ○ ─► ○ ─► newest        a full key's oldest slot takes the new row

    `first` is the number of the first row's arrival; slots are given out from `out[2, 0]` on.
    `out` (3 × 2n) gets time and weight of each change, `out_words` its row. A row inserted and
    expired at one instant of this call is in neither. Returns changes and slots used so far.
    """
    used = out[2, 0]
    for i in range(len(ts)):
        # Lines 2i and 2i + 1 of `out` are for the row that i expires, and for i itself.
        code = codes[i]
        out[1, 2 * i] = 0
        if keys[code, HELD] < count:
            slot = used
            used += 1
            keys[code, HELD] += 1
        else:
            slot = keys[code, OLDEST]
            keys[code, OLDEST] = links[slot, NEWER]
            arrived = links[slot, NUMBER] - first
            if arrived >= 0 and ts[arrived] == ts[i]:
                out[1, 2 * arrived + 1] = 0
            else:
                out[1, 2 * i] = -1
                copy_words(words, slot, out_words, 2 * i)
        # Link the slot behind the key's newest.
        if keys[code, HELD] == 1:
            keys[code, OLDEST] = slot
        else:
            links[keys[code, NEWEST], NEWER] = slot
        keys[code, NEWEST] = slot
        links[slot, NUMBER] = first + i
        copy_words(rows, i, words, slot)
        out[1, 2 * i + 1] = 1
        copy_words(rows, i, out_words, 2 * i + 1)
    # Close up the lines that have a weight.
    n = 0
    for k in range(2 * len(ts)):
        if out[1, k] != 0:
            out[0, n] = ts[k // 2]
            out[1, n] = out[1, k]
            copy_words(out_words, k, out_words, n)
            n += 1
    return n, used
