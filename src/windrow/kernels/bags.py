"""Bags of rows by code: counting copies, and netting the changes of an instant.

codes:   row of the batch -> code of its value        counts:  code -> copies
"""

from __future__ import annotations

from windrow.kernels.jit import inlined, kernel

EXCEPT_ALL, EXCEPT, INTERSECT_ALL, INTERSECT = 0, 1, 2, 3
"""How the copies of a row on two sides make the copies of the result."""


@kernel
def add_copies(codes, weights, counts, idle):
    """Add the weights to the counts; `idle` gets each code left with none, once; return how many.

    Needs counts above -2^62, so that a collected code can be told by its mark.
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


@kernel
def mixed_rows(ts, weights, rows):
    """List the rows of instants that have both signs; return how many.

    ts       3  5  5  5  9  9
    weights  +  -  +  +  -  -      rows: the three of instant 5
    """
    n = 0
    start = 0
    while start < len(ts):
        end = start
        ups, downs = 0, 0
        while end < len(ts) and ts[end] == ts[start]:
            if weights[end] > 0:
                ups += 1
            else:
                downs += 1
            end += 1
        if ups > 0 and downs > 0:
            for i in range(start, end):
                rows[n] = i
                n += 1
        start = end
    return n


@kernel
def net_rows(ts, weights, codes, first, kept):
    """Net the changes of each value within an instant; return how many rows are kept.

    `codes` is -1 for rows that stay as they are. `first`, -1 for each code, is scratch and left
    so. `weights` of the first row of a value become the net; `kept` lists, instant by instant,
    the rows that leave and then those that come.
    """
    n = 0
    start = 0
    while start < len(ts):
        end = start
        while end < len(ts) and ts[end] == ts[start]:
            code = codes[end]
            if code >= 0:
                if first[code] < 0:
                    first[code] = end
                else:
                    weights[first[code]] += weights[end]
                    weights[end] = 0
            end += 1
        for i in range(start, end):
            if codes[i] >= 0:
                first[codes[i]] = -1
            if weights[i] < 0:
                kept[n] = i
                n += 1
        for i in range(start, end):
            if weights[i] > 0:
                kept[n] = i
                n += 1
        start = end
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
