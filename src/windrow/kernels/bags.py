"""Bags of rows by code: counting copies.

codes:   row of the batch -> code of its value        counts:  code -> copies
"""

from __future__ import annotations

from windrow.kernels.jit import inlined, kernel

EXCEPT_ALL, EXCEPT, INTERSECT_ALL, INTERSECT = 0, 1, 2, 3
"""How the copies of a row on two sides make the copies of the result."""


@kernel
def add_copies(codes, weights, counts, idle):
    """Add the weights to the counts; `idle` gets each code left with none, once; return how many.

    Needs counts above -2^62, so that a collected code is recognised by its mark.
    """
    for i in range(len(codes)):
        counts[codes[i]] += weights[i]
    n = 0
    for i in range(len(codes)):
        code = codes[i]
        if counts[code] == 0:
            counts[code] = -(2**62)
            idle[n] = code
            n += 1
    for k in range(n):
        counts[idle[k]] = 0
    return n


@inlined
def copies_of(kind, left, right):
    """Return the copies of the result: f(n, m)."""
    if kind == EXCEPT_ALL:
        return max(0, left - right)
    if kind == INTERSECT_ALL:
        return max(0, min(left, right))
    if kind == EXCEPT:
        return 1 if left > 0 and right <= 0 else 0
    return 1 if left > 0 and right > 0 else 0


@kernel
def bag_changes(left, right, counts, kind, before, touched, out):
    """Fold the changes of two bags instant by instant; return the result's changes.

        left, right:  (ts, codes, weights), each ascending in ts
        counts:       code -> [copies left, copies right]
        out:          [ts, code, f(after) - f(before)]  a line each

    `before`, -1 for each code, is scratch and left so; `touched` has room for all changes.
    """
    lts, lcodes, lweights = left
    rts, rcodes, rweights = right
    i, j, n = 0, 0, 0
    while i < len(lts) or j < len(rts):
        now = lts[i] if j == len(rts) or (i < len(lts) and lts[i] <= rts[j]) else rts[j]
        m = 0
        while i < len(lts) and lts[i] == now:
            code = lcodes[i]
            if before[code] < 0:
                before[code] = copies_of(kind, counts[code, 0], counts[code, 1])
                touched[m] = code
                m += 1
            counts[code, 0] += lweights[i]
            i += 1
        while j < len(rts) and rts[j] == now:
            code = rcodes[j]
            if before[code] < 0:
                before[code] = copies_of(kind, counts[code, 0], counts[code, 1])
                touched[m] = code
                m += 1
            counts[code, 1] += rweights[j]
            j += 1
        for k in range(m):
            code = touched[k]
            change = copies_of(kind, counts[code, 0], counts[code, 1]) - before[code]
            before[code] = -1
            if change != 0:
                out[0, n] = now
                out[1, n] = code
                out[2, n] = change
                n += 1
    return n


@kernel
def idle_codes(codes, counts, before, idle):
    """List, each once, the codes that have no copies on either side; return how many.

    `before`, -1 for each code, is scratch and left so.
    """
    n = 0
    for i in range(len(codes)):
        code = codes[i]
        if counts[code, 0] == 0 and counts[code, 1] == 0 and before[code] < 0:
            before[code] = 0
            idle[n] = code
            n += 1
    for k in range(n):
        before[idle[k]] = -1
    return n
