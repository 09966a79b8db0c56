"""DISTINCT of tuples that carry `exp`: which tuple of a value is reported, and for how long.

    value a   ●━━━━━━━━━┫                    reported until it expires,
                   ●┄┄┄┄┄┄┄┄┄┫               a duplicate: not reported,
                        ━━━━━┫               but when the first one expires it replaces it

Each value runs by itself: only the order of what is emitted depends on time.
"""

from __future__ import annotations

from windrow.kernels.jit import inlined, kernel

SHOWN, YOUNGEST = 0, 1
"""Columns of `ends`: when the reported tuple expires, and when the last of its duplicates does."""

NOT_THERE = -(2**63)
"""What `ends` hold for a value that no tuple has."""


@kernel
def report_arrivals(ts, exp, codes, ends, out, fresh):
    """Report new values, and those that outlived their reported tuple before this arrival.

        ends:  code -> [SHOWN, YOUNGEST]
        out:   [ts, exp, code]  a line each, with room for two of each arrival

    `fresh` gets the codes that were not there. Returns how many are emitted, and how many fresh.
    """
    n, new = 0, 0
    for i in range(len(ts)):
        code, now = codes[i], ts[i]
        shown = ends[code, SHOWN]
        if shown == NOT_THERE:
            fresh[new] = code
            new += 1
        # The reported tuple has expired before this arrival: a duplicate that lasts replaces it.
        elif shown <= now:
            youngest = ends[code, YOUNGEST]
            if youngest > shown:
                out[0, n] = shown
                out[1, n] = youngest
                out[2, n] = code
                n += 1
                ends[code, SHOWN] = youngest
                shown = youngest
        # Nothing of the value is alive: the arrival is reported. Else it is a duplicate.
        if shown <= now:
            out[0, n] = now
            out[1, n] = exp[i]
            out[2, n] = code
            n += 1
            ends[code, SHOWN] = exp[i]
            ends[code, YOUNGEST] = exp[i]
        elif exp[i] > ends[code, YOUNGEST]:
            ends[code, YOUNGEST] = exp[i]
    return n, new


@kernel
def renew_due(codes, clock, ends, out, n, again, dead):
    """Replace the reported tuples that have expired by `clock`, where a duplicate lasts longer.

    `again` gets the codes that are still reported, `dead` those that have no tuple left. Returns
    how many results are emitted, and the lengths of both.
    """
    more, gone = 0, 0
    for k in range(len(codes)):
        code = codes[k]
        shown, youngest = ends[code, SHOWN], ends[code, YOUNGEST]
        # Of duplicates only the one that expires last is known: it is all that can be reported.
        if shown <= clock and youngest > shown:
            out[0, n] = shown
            out[1, n] = youngest
            out[2, n] = code
            n += 1
            ends[code, SHOWN] = youngest
            shown = youngest
        if shown <= clock:
            ends[code, SHOWN] = NOT_THERE
            ends[code, YOUNGEST] = NOT_THERE
            dead[gone] = code
            gone += 1
        else:
            again[more] = code
            more += 1
    return n, more, gone


NEWER, OLDER, CODE, END = 0, 1, 2, 3
"""Columns of `tuples`: neighbours in the value's chain + 1, the value's code, when it expires."""

NEWEST, REPORTED = 0, 1
"""Columns of `values`: the newest tuple of the value + 1, and the one that is reported + 1."""


@inlined
def expire(slot, tuples, values, out, n, dead, gone):
    """Remove a stored tuple: if it was the reported one, the newest of its value replaces it."""
    # Unlink it from the chain of its value.
    code, older, newer = tuples[slot, CODE], tuples[slot, OLDER], tuples[slot, NEWER]
    if older > 0:
        tuples[older - 1, NEWER] = newer
    if newer > 0:
        tuples[newer - 1, OLDER] = older
    else:
        values[code, NEWEST] = older
    if values[code, REPORTED] == slot + 1:
        now = tuples[slot, END]
        successor = values[code, NEWEST]
        while successor > 0 and tuples[successor - 1, END] <= now:  # it expires now, too
            successor = tuples[successor - 1, OLDER]
        values[code, REPORTED] = successor
        if successor > 0:
            out[0, n] = now
            out[1, n] = tuples[successor - 1, END]
            out[2, n] = code
            n += 1
    if values[code, NEWEST] == 0:
        dead[gone] = code
        gone += 1
    return n, gone


@kernel
def store_and_report(arrivals, due, tuples, values, out, dead):
    """W-Distinct [NEG 5.2]: merge arrivals with the expirations of stored tuples, these first.

        arrivals:  [ts, slot]  a line each; the slots of `tuples` have CODE and END already
        due:       [end, slot]  those that expire by now, arrivals among them
        out:       [ts, exp, code]  a line each, with room for all arrivals and expirations

    `dead` lists values that lost their last tuple, perhaps more than once, perhaps back since.
    Returns how many are emitted, and how long `dead` is.
    """
    n, gone, j = 0, 0, 0
    for i in range(arrivals.shape[1]):
        now, slot = arrivals[0, i], arrivals[1, i]
        while j < due.shape[1] and due[0, j] <= now:
            n, gone = expire(due[1, j], tuples, values, out, n, dead, gone)
            j += 1
        # The arrival becomes the newest of its value; it is reported if none is.
        code = tuples[slot, CODE]
        older = values[code, NEWEST]
        tuples[slot, OLDER] = older
        tuples[slot, NEWER] = 0
        if older > 0:
            tuples[older - 1, NEWER] = slot + 1
        values[code, NEWEST] = slot + 1
        if values[code, REPORTED] == 0:
            values[code, REPORTED] = slot + 1
            out[0, n] = now
            out[1, n] = tuples[slot, END]
            out[2, n] = code
            n += 1
    while j < due.shape[1]:
        n, gone = expire(due[1, j], tuples, values, out, n, dead, gone)
        j += 1
    return n, gone
