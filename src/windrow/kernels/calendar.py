"""A calendar queue: rows wait in partitions by the time at which they expire [THESIS 3.5.2].

    time ──►  ·······│ cur │cur+1│cur+2│ ··· │limit-1│ limit ·········
              run and heap │  partitions, unsorted   │ far: one list, beyond the circle

    partition b holds  b << shift <= exp < (b + 1) << shift,  in slot b & (slots - 1)

A partition is a chain of chunks of pairs (exp, row), in order of age. When its time comes it is
sorted, stably, and is then the `run`. Rows that are pushed later for a time at or before the open
partition go to a small heap. Rows of one `exp` are thus never in two places, but for run and heap,
where those of the run are older: so rows of one `exp` are popped in order of age.

    chunks[c]  15 pairs, then the next chunk + 1          slots[s]  first chunk + 1, last + 1, rows
    run[0..1]  exp and rows; run[2..3] room to merge      heap[i]   exp, row, serial number
    far[i]     exp, row
"""

from __future__ import annotations

from windrow.kernels.jit import kernel

PAIRS = 15
NEXT = 30
CHUNK_WORDS = 32
FIRST, LAST, COUNT, SLOT_WORDS = 0, 1, 2, 4
EXP, ROW, SERIAL, HEAP_WORDS = 0, 1, 2, 3

# Places of `meta`.
SHIFT, CUR, LIMIT = 0, 1, 2  # log2 of a partition's width; the open partition; the first far one
ROWS, IN_SLOTS, HEAP, FAR = 3, 4, 7, 9  # how many rows there are in all, and in each part
RUN_AT, RUN_END = 5, 6  # what is left of the run
PUSHED, FAR_MIN = 8, 10  # serial number of the next row; least partition of `far`
CHUNKS, FREE_CHUNK, FREE_CHUNKS = 11, 12, 13  # ever used; first free one + 1; how many are free
RUN_WANTED = 14  # rows of a partition that does not fit the run
META = 15

SMALL_SORT = 16


@kernel
def is_before(heap, a, b):
    """Return whether place a of the heap is popped before place b: by `exp`, then by age."""
    if heap[a, EXP] != heap[b, EXP]:
        return heap[a, EXP] < heap[b, EXP]
    return heap[a, SERIAL] < heap[b, SERIAL]


@kernel
def swap(heap, a, b):
    """Exchange two places of the heap."""
    for k in range(HEAP_WORDS):
        heap[a, k], heap[b, k] = heap[b, k], heap[a, k]


@kernel
def heap_push(heap, size, exp, row, serial):
    """Add a row to a heap of `size` rows."""
    at = size
    heap[at, EXP] = exp
    heap[at, ROW] = row
    heap[at, SERIAL] = serial
    while at > 0 and is_before(heap, at, (at - 1) >> 1):
        swap(heap, at, (at - 1) >> 1)
        at = (at - 1) >> 1


@kernel
def heap_pop(heap, size):
    """Take the first row off a heap of `size` rows; it stands behind the others then."""
    last = size - 1
    swap(heap, 0, last)
    at = 0
    while 2 * at + 1 < last:
        child = 2 * at + 1
        if child + 1 < last and is_before(heap, child + 1, child):
            child += 1
        if not is_before(heap, child, at):
            break
        swap(heap, at, child)
        at = child


@kernel
def free_chunks(chunks, meta):
    """Return how many chunks can still be taken."""
    return meta[FREE_CHUNKS] + len(chunks) - meta[CHUNKS]


@kernel
def put(chunks, slots, meta, slot, exp, row):
    """Append a row to a partition. Needs a free chunk."""
    place = slots[slot, COUNT] % PAIRS
    # The last chunk is full, or there is none: chain a free one, or one never used, behind it.
    if place == 0:
        if meta[FREE_CHUNKS] > 0:
            chunk = meta[FREE_CHUNK] - 1
            meta[FREE_CHUNK] = chunks[chunk, NEXT]
            meta[FREE_CHUNKS] -= 1
        else:
            chunk = meta[CHUNKS]
            meta[CHUNKS] += 1
        chunks[chunk, NEXT] = 0
        if slots[slot, COUNT] == 0:
            slots[slot, FIRST] = chunk + 1
        else:
            chunks[slots[slot, LAST] - 1, NEXT] = chunk + 1
        slots[slot, LAST] = chunk + 1
    chunk = slots[slot, LAST] - 1
    chunks[chunk, 2 * place] = exp
    chunks[chunk, 2 * place + 1] = row
    slots[slot, COUNT] += 1
    meta[IN_SLOTS] += 1


@kernel
def push_rows(exp, rows, start, chunks, slots, heap, far, meta):
    """Queue rows from `start` on; return the first for which there is no room."""
    shift = meta[SHIFT]
    for i in range(start, len(rows)):
        partition = exp[i] >> shift
        # At or before the open partition, which is sorted already: the heap sorts these.
        if partition <= meta[CUR]:
            if meta[HEAP] == len(heap):
                return i
            heap_push(heap, meta[HEAP], exp[i], rows[i], meta[PUSHED])
            meta[HEAP] += 1
        # On the circle: each partition has a slot of its own.
        elif partition < meta[LIMIT]:
            if free_chunks(chunks, meta) == 0:
                return i
            put(chunks, slots, meta, partition & (len(slots) - 1), exp[i], rows[i])
        # Beyond the circle: its slot belongs to a nearer partition.
        else:
            if meta[FAR] == len(far):
                return i
            far[meta[FAR], EXP] = exp[i]
            far[meta[FAR], ROW] = rows[i]
            if meta[FAR] == 0 or partition < meta[FAR_MIN]:
                meta[FAR_MIN] = partition
            meta[FAR] += 1
        meta[PUSHED] += 1
        meta[ROWS] += 1
    return len(rows)


@kernel
def bring_near(chunks, slots, far, meta):
    """Let the circle begin after `cur`, and move what it now reaches from `far` to partitions.

    Returns False, changing nothing, if chunks might not be enough.
    """
    # At worst every slot begins a chunk, besides the chunks that become full.
    if free_chunks(chunks, meta) < min(meta[FAR], len(slots) + meta[FAR] // PAIRS):
        return False
    meta[LIMIT] = meta[CUR] + len(slots)
    # Rows that stay far are moved to the front of the list, in order.
    left = 0
    for i in range(meta[FAR]):
        partition = far[i, EXP] >> meta[SHIFT]
        if partition < meta[LIMIT]:
            put(chunks, slots, meta, partition & (len(slots) - 1), far[i, EXP], far[i, ROW])
        else:
            if left == 0 or partition < meta[FAR_MIN]:
                meta[FAR_MIN] = partition
            far[left, EXP] = far[i, EXP]
            far[left, ROW] = far[i, ROW]
            left += 1
    meta[FAR] = left
    return True


@kernel
def merge_halves(run, source, low, mid, high):
    """Merge two sorted stretches of the run's lines at `source` into the other lines."""
    target = 2 - source
    i = low
    j = mid
    for out in range(low, high):
        if i < mid and (j == high or run[source, i] <= run[source, j]):
            run[target, out] = run[source, i]
            run[target + 1, out] = run[source + 1, i]
            i += 1
        else:
            run[target, out] = run[source, j]
            run[target + 1, out] = run[source + 1, j]
            j += 1


@kernel
def sort_run(run, count):
    """Sort the first `count` rows of the run by `exp`, stably: small blocks, then merges."""
    # Windows of one length push in the order of `exp`: nothing is to be done.
    i = 1
    while i < count and run[0, i - 1] <= run[0, i]:
        i += 1
    if i >= count:
        return
    # Insertion sort within small blocks: faster than merges of one or two rows.
    for low in range(0, count, SMALL_SORT):
        for i in range(low + 1, min(low + SMALL_SORT, count)):
            exp = run[0, i]
            row = run[1, i]
            j = i
            while j > low and exp < run[0, j - 1]:
                run[0, j] = run[0, j - 1]
                run[1, j] = run[1, j - 1]
                j -= 1
            run[0, j] = exp
            run[1, j] = row
    # Merge pairs of blocks, from lines 0 and 1 to lines 2 and 3 and back.
    source = 0
    width = SMALL_SORT
    while width < count:
        for low in range(0, count, 2 * width):
            merge_halves(run, source, low, min(low + width, count), min(low + 2 * width, count))
        source = 2 - source
        width *= 2
    if source == 2:
        for i in range(count):
            run[0, i] = run[2, i]
            run[1, i] = run[3, i]


@kernel
def copy_partition(chunks, slots, slot, exps, rows, start):
    """Copy a partition's rows to `exps` and `rows` from `start` on; return where they stop."""
    chunk = slots[slot, FIRST] - 1
    count = slots[slot, COUNT]
    for i in range(count):
        place = i % PAIRS
        if i > 0 and place == 0:
            chunk = chunks[chunk, NEXT] - 1
        exps[start + i] = chunks[chunk, 2 * place]
        rows[start + i] = chunks[chunk, 2 * place + 1]
    return start + count


@kernel
def open_partition(chunks, slots, run, meta, slot):
    """Move a partition's rows into the run, which is used up, and sort them."""
    count = copy_partition(chunks, slots, slot, run[0], run[1], 0)
    if count > 0:
        # Its chunks, still chained, go before the free ones.
        chunks[slots[slot, LAST] - 1, NEXT] = meta[FREE_CHUNK]
        meta[FREE_CHUNK] = slots[slot, FIRST]
        meta[FREE_CHUNKS] += (count + PAIRS - 1) // PAIRS
        slots[slot, COUNT] = 0
        meta[IN_SLOTS] -= count
        sort_run(run, count)
    meta[RUN_AT] = 0
    meta[RUN_END] = count


@kernel
def take_due(clock, run, heap, out, n, meta):
    """Move what is due from run and heap to `out`, from place n on; return the next place."""
    while n < out.shape[1]:
        from_run = meta[RUN_AT] < meta[RUN_END]
        # Of one `exp`, rows of the run are older than those of the heap.
        if meta[HEAP] > 0 and not (from_run and run[0, meta[RUN_AT]] <= heap[0, EXP]):
            if heap[0, EXP] > clock:
                break
            heap_pop(heap, meta[HEAP])
            meta[HEAP] -= 1
            out[0, n] = heap[meta[HEAP], EXP]
            out[1, n] = heap[meta[HEAP], ROW]
        elif from_run:
            if run[0, meta[RUN_AT]] > clock:
                break
            out[0, n] = run[0, meta[RUN_AT]]
            out[1, n] = run[1, meta[RUN_AT]]
            meta[RUN_AT] += 1
        else:
            break
        n += 1
    return n


@kernel
def pop_rows(clock, chunks, slots, run, heap, far, out, meta):
    """Fill `out` (exp, row) with what expires at or before `clock`, in order.

    Returns how many, and whether that is all. If not, `out` is full, or the next partition has
    meta[RUN_WANTED] rows and does not fit the run, or chunks are short: make room, call again.
    """
    target = clock >> meta[SHIFT]
    n = 0
    meta[RUN_WANTED] = 0
    while True:
        n = take_due(clock, run, heap, out, n, meta)
        if n == out.shape[1]:
            break
        if meta[CUR] >= target:
            meta[ROWS] -= n
            return n, True
        # No partition has rows: jump to the first that `far` has, or to the clock.
        if meta[IN_SLOTS] == 0:
            near = meta[FAR] > 0 and meta[FAR_MIN] <= target
            meta[CUR] = meta[FAR_MIN] - 1 if near else target
            if not near:
                bring_near(chunks, slots, far, meta)
                continue
        # Half of the circle is used up: let it reach further, so that `far` is read seldom.
        if 2 * (meta[LIMIT] - meta[CUR]) <= len(slots) and not bring_near(chunks, slots, far, meta):
            break
        slot = (meta[CUR] + 1) & (len(slots) - 1)
        if slots[slot, COUNT] > run.shape[1]:
            meta[RUN_WANTED] = slots[slot, COUNT]
            break
        meta[CUR] += 1
        open_partition(chunks, slots, run, meta, slot)
    meta[ROWS] -= n
    return n, False


@kernel
def drain(chunks, slots, run, heap, far, meta, exps, rows):
    """Fill `exps` and `rows` with all that is queued; rows of one `exp` are in order of age.

    The heap is sorted on the way, and still a heap.
    """
    n = 0
    for i in range(meta[RUN_AT], meta[RUN_END]):
        exps[n] = run[0, i]
        rows[n] = run[1, i]
        n += 1
    # Each pop puts the least behind the others: afterwards the heap is sorted, least last. Turned
    # round it is ascending, which is a heap.
    for left in range(meta[HEAP], 0, -1):
        heap_pop(heap, left)
    for i in range(meta[HEAP] // 2):
        swap(heap, i, meta[HEAP] - 1 - i)
    for i in range(meta[HEAP]):
        exps[n] = heap[i, EXP]
        rows[n] = heap[i, ROW]
        n += 1
    for slot in range(len(slots)):
        if slots[slot, COUNT] > 0:
            n = copy_partition(chunks, slots, slot, exps, rows, n)
    for i in range(meta[FAR]):
        exps[n] = far[i, EXP]
        rows[n] = far[i, ROW]
        n += 1
    return n
