"""A calendar queue: rows wait in partitions by the time of their end [THESIS 3.5.2].

        time ──►  ·····│ cur │cur+1│cur+2│ ··· │cur+B│ ·········
                   run + heap   unsorted chains          far: one chain, beyond the circle

    partition b holds  b << shift <= exp < (b + 1) << shift,  in slot b & (B - 1)

A partition is sorted when its time comes; it is then the `run`. Rows that are pushed later for a
time at or before the open partition go to a small heap. Everything is indexed by row number:

    entries[row, EXP], entries[row, NEXT] (row + 1; 0 ends a chain), entries[row, SEQ]
    slots[HEAD, slot] (row + 1), slots[COUNT, slot]
    run[0..1]: ends and rows of the open partition; run[2..3]: room to merge
"""

from __future__ import annotations

from windrow.kernels.lean import lean

EXP, NEXT, SEQ = 0, 1, 2
HEAD, COUNT = 0, 1
(
    SHIFT,
    CUR,
    ROWS,
    IN_SLOTS,
    RUN_AT,
    RUN_END,
    HEAP,
    FAR_HEAD,
    FAR,
    FAR_MIN,
    SCANNED,
    SERIAL,
    WANTED,
) = range(13)
META = 13

SMALL_SORT = 16


@lean
def is_before(entries, a, b):
    """Tell whether row a leaves before row b: by end, then by age."""
    if entries[a, EXP] != entries[b, EXP]:
        return entries[a, EXP] < entries[b, EXP]
    return entries[a, SEQ] < entries[b, SEQ]


@lean
def is_earlier(entries, run, line, a, b):
    """Tell whether place a of a line of the run leaves before place b."""
    if run[line, a] != run[line, b]:
        return run[line, a] < run[line, b]
    return entries[run[line + 1, a], SEQ] < entries[run[line + 1, b], SEQ]


@lean
def heap_push(entries, heap, size, row):
    """Add a row to a heap of `size` rows."""
    at = size
    while at > 0:
        parent = (at - 1) >> 1
        if not is_before(entries, row, heap[parent]):
            break
        heap[at] = heap[parent]
        at = parent
    heap[at] = row


@lean
def heap_pop(entries, heap, size):
    """Take the first row off a heap of `size` rows."""
    last = heap[size - 1]
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size - 1:
            break
        if child + 1 < size - 1 and is_before(entries, heap[child + 1], heap[child]):
            child += 1
        if not is_before(entries, heap[child], last):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = last


@lean
def link(entries, slots, meta, row, partition):
    """Put a row into the chain of its partition."""
    slot = partition & (slots.shape[1] - 1)
    entries[row, NEXT] = slots[HEAD, slot]
    slots[HEAD, slot] = row + 1
    slots[COUNT, slot] += 1
    meta[IN_SLOTS] += 1


@lean
def link_far(entries, meta, row, partition):
    """Put a row into the chain beyond the circle."""
    entries[row, NEXT] = meta[FAR_HEAD]
    meta[FAR_HEAD] = row + 1
    if meta[FAR] == 0 or partition < meta[FAR_MIN]:
        meta[FAR_MIN] = partition
    meta[FAR] += 1


@lean
def push_rows(exp, rows, start, fresh, entries, slots, heap, meta):
    """Queue rows from `start` on; return the first that the heap has no room for.

    `fresh` rows get a new serial number; others keep theirs (they are being queued anew).
    """
    shift = meta[SHIFT]
    cur = meta[CUR]
    beyond = cur + slots.shape[1]
    for i in range(start, len(rows)):
        row = rows[i]
        partition = exp[i] >> shift
        if partition <= cur and meta[HEAP] == len(heap):
            return i
        entries[row, EXP] = exp[i]
        if fresh:
            entries[row, SEQ] = meta[SERIAL]
            meta[SERIAL] += 1
        if partition <= cur:
            heap_push(entries, heap, meta[HEAP], row)
            meta[HEAP] += 1
        elif partition < beyond:
            link(entries, slots, meta, row, partition)
        else:
            link_far(entries, meta, row, partition)
        meta[ROWS] += 1
    return len(rows)


@lean
def bring_near(entries, slots, meta):
    """Move the rows that the circle now reaches from the far chain to their partitions."""
    beyond = meta[CUR] + slots.shape[1]
    at = meta[FAR_HEAD]
    meta[FAR_HEAD] = 0
    meta[FAR] = 0
    while at != 0:
        row = at - 1
        at = entries[row, NEXT]
        partition = entries[row, EXP] >> meta[SHIFT]
        if partition < beyond:
            link(entries, slots, meta, row, partition)
        else:
            link_far(entries, meta, row, partition)
    meta[SCANNED] = meta[CUR]


@lean
def sort_run(entries, run, count):
    """Sort the first `count` rows of the run by end, then age: blocks, then merges."""
    in_order = True
    for i in range(1, count):
        if is_earlier(entries, run, 0, i, i - 1):
            in_order = False
            break
    if in_order:
        return
    for low in range(0, count, SMALL_SORT):
        for i in range(low + 1, min(low + SMALL_SORT, count)):
            exp = run[0, i]
            row = run[1, i]
            j = i
            while j > low and (
                exp < run[0, j - 1]
                or (exp == run[0, j - 1] and entries[row, SEQ] < entries[run[1, j - 1], SEQ])
            ):
                run[0, j] = run[0, j - 1]
                run[1, j] = run[1, j - 1]
                j -= 1
            run[0, j] = exp
            run[1, j] = row
    source = 0
    width = SMALL_SORT
    while width < count:
        target = 2 - source
        for low in range(0, count, 2 * width):
            mid = min(low + width, count)
            high = min(low + 2 * width, count)
            i = low
            j = mid
            for out in range(low, high):
                left = i < mid
                if left and j < high:
                    left = not is_earlier(entries, run, source, j, i)
                if left:
                    run[target, out] = run[source, i]
                    run[target + 1, out] = run[source + 1, i]
                    i += 1
                else:
                    run[target, out] = run[source, j]
                    run[target + 1, out] = run[source + 1, j]
                    j += 1
        source = target
        width *= 2
    if source == 2:
        for i in range(count):
            run[0, i] = run[2, i]
            run[1, i] = run[3, i]


@lean
def open_partition(entries, slots, run, meta, slot):
    """Move a partition's rows into the run, which is used up, in order."""
    count = slots[COUNT, slot]
    at = slots[HEAD, slot]
    for i in range(count):
        row = at - 1
        run[0, count - 1 - i] = entries[row, EXP]
        run[1, count - 1 - i] = row
        at = entries[row, NEXT]
    slots[HEAD, slot] = 0
    slots[COUNT, slot] = 0
    meta[IN_SLOTS] -= count
    meta[RUN_AT] = 0
    meta[RUN_END] = count
    sort_run(entries, run, count)


@lean
def pop_rows(clock, entries, slots, run, heap, out, meta):
    """Fill `out` (ends, rows) with what ends at or before `clock`, in order; return how many.

    Stops early when `out` is full, or when the next partition does not fit the run:
    meta[WANTED] then says how long the run must be. Call again after making room.
    """
    target = clock >> meta[SHIFT]
    circle = slots.shape[1]
    n = 0
    meta[WANTED] = 0
    while True:
        while n < out.shape[1]:
            from_run = meta[RUN_AT] < meta[RUN_END]
            if meta[HEAP] > 0:
                row = heap[0]
                if from_run and is_before(entries, run[1, meta[RUN_AT]], row):
                    row = run[1, meta[RUN_AT]]
                else:
                    from_run = False
            elif from_run:
                row = run[1, meta[RUN_AT]]
            else:
                break
            if entries[row, EXP] > clock:
                break
            if from_run:
                meta[RUN_AT] += 1
            else:
                heap_pop(entries, heap, meta[HEAP])
                meta[HEAP] -= 1
            out[0, n] = entries[row, EXP]
            out[1, n] = row
            n += 1
        if n == out.shape[1] or meta[CUR] >= target:
            break
        if meta[IN_SLOTS] == 0:
            if meta[FAR] == 0 or meta[FAR_MIN] > target:
                meta[CUR] = target
                break
            meta[CUR] = meta[FAR_MIN] - 1
        if meta[FAR] > 0 and 2 * (meta[CUR] - meta[SCANNED]) >= circle:
            bring_near(entries, slots, meta)
        slot = (meta[CUR] + 1) & (circle - 1)
        if slots[COUNT, slot] > run.shape[1]:
            meta[WANTED] = slots[COUNT, slot]
            break
        meta[CUR] += 1
        if slots[COUNT, slot] > 0:
            open_partition(entries, slots, run, meta, slot)
    meta[ROWS] -= n
    return n


@lean
def queued_rows(entries, slots, run, heap, out, meta):
    """Fill `out` with all queued rows, in no order; return how many."""
    n = 0
    for i in range(meta[RUN_AT], meta[RUN_END]):
        out[n] = run[1, i]
        n += 1
    for i in range(meta[HEAP]):
        out[n] = heap[i]
        n += 1
    for slot in range(-1, slots.shape[1]):
        at = meta[FAR_HEAD] if slot < 0 else slots[HEAD, slot]
        while at != 0:
            out[n] = at - 1
            n += 1
            at = entries[at - 1, NEXT]
    return n
