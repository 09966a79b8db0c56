"""Queues between operators: messages woven in among rows, and how late changes are."""

from __future__ import annotations

from windrow.core.time import BEGINNING
from windrow.kernels.jit import kernel


@kernel
def weave(rows, messages, ts, at, is_row):
    """Fill entries with rows and messages by time; at one instant messages come first.

    rows, messages:  their times, and when each came, both ascending
    at:              when each entry came, or one before it did
    """
    row_ts, row_at = rows
    message_ts, message_at = messages
    i = j = 0
    came = BEGINNING
    for n in range(len(ts)):
        # The earlier of both heads; a message before a row of its instant.
        is_row[n] = j == len(message_ts) or (i < len(row_ts) and row_ts[i] < message_ts[j])
        if is_row[n]:
            ts[n] = row_ts[i]
            came = max(came, row_at[i])
            i += 1
        else:
            ts[n] = message_ts[j]
            came = max(came, message_at[j])
            j += 1
        at[n] = came


@kernel
def count_delays(ts, shown, bounds, classes):
    """Count how late changes are at `shown`, class by class, and return the sum and the most of it.

    bounds:  the least delay of each class, ascending from 0

    Delays of one batch differ little from one to the next: most are of the class before.
    """
    total = most = place = 0
    for i in range(len(ts)):
        delay = max(shown - ts[i], 0)
        total += delay
        most = max(most, delay)
        # The class before, if it fits; else search all that are left.
        low, high = 0, len(bounds)
        if bounds[place] <= delay:
            low = place
            if place + 1 == high or delay < bounds[place + 1]:
                high = place + 1
        while high - low > 1:  # bounds[low] <= delay < bounds[high]
            middle = (low + high) // 2
            if bounds[middle] <= delay:
                low = middle
            else:
                high = middle
        place = low
        classes[place] += 1
    return total, most
