"""Count windows by key: each key's newest rows, in a chain that is turned round and round."""

from __future__ import annotations

from windrow.kernels.jit import kernel

OLDEST, NEWEST, HELD = 0, 1, 2
"""Columns of `keys`: the slots at both ends of a key's chain, and its length."""

NEWER, NUMBER = 0, 1
"""Columns of `links`: the next newer slot of the same key, and the number of the row's arrival."""


@kernel
def newest_rows(ts, codes, rows, count, first, keys, links, words, out, out_words):
    """Let each row in, and its key's oldest out if there are more than `count`.

        key:  oldest ─► ○ ─► ○ ─► newest        a full key's oldest slot takes the new row

    `first` is the number of the first row's arrival; slots are given out from `out[2, 0]` on.
    `out` (3 × 2n) gets time and weight of each change, `out_words` its row. A row that comes
    and goes at one instant of this call is in neither. Returns changes and slots used so far.
    """
    used = out[2, 0]
    for i in range(len(ts)):
        code = codes[i]
        out[1, 2 * i] = 0
        if keys[code, HELD] < count:
            slot = used
            used += 1
            keys[code, HELD] += 1
        else:
            slot = keys[code, OLDEST]
            keys[code, OLDEST] = links[slot, NEWER]
            born = links[slot, NUMBER] - first
            if born >= 0 and ts[born] == ts[i]:
                out[1, 2 * born + 1] = 0
            else:
                out[1, 2 * i] = -1
                out_words[2 * i] = words[slot]
        if keys[code, HELD] == 1:
            keys[code, OLDEST] = slot
        else:
            links[keys[code, NEWEST], NEWER] = slot
        keys[code, NEWEST] = slot
        links[slot, NUMBER] = first + i
        words[slot] = rows[i]
        out[1, 2 * i + 1] = 1
        out_words[2 * i + 1] = rows[i]
    n = 0
    for k in range(2 * len(ts)):
        if out[1, k] != 0:
            out[0, n] = ts[k // 2]
            out[1, n] = out[1, k]
            out_words[n] = out_words[k]
            n += 1
    return n, used
