"""Loops over the early retractions of a partly signed edge: entries (row, end) with copies."""

from __future__ import annotations

from windrow.kernels.jit import kernel


@kernel
def note_withdrawals(codes, weight, pending, queued):
    """Note copies that are retracted, and let a copy that comes again undo that.

    `codes` are those of (row, end), in the order of the changes, -1 for an arrival of which none
    was retracted; `queued` gets 1 for each arrival that is to wait for its end. An arrival whose
    copy still waits, though withdrawn, is not queued again, so that a copy waits once however often
    it comes and goes.
    """
    for k in range(len(codes)):
        code = codes[k]
        if weight[k] < 0:
            pending[code] += 1
            queued[k] = 0
        elif code >= 0 and pending[code] > 0:
            pending[code] -= 1
            queued[k] = 0
        else:
            queued[k] = 1


@kernel
def pass_over(codes, pending, kept):
    """Mark with 0 in `kept` the rows that were withdrawn, one for each copy retracted.

    A code of -1 is a row of which none was; `pending` loses what is passed over.
    """
    for k in range(len(codes)):
        code = codes[k]
        kept[k] = 1
        if code >= 0 and pending[code] > 0:
            pending[code] -= 1
            kept[k] = 0


@kernel
def idle_codes(codes, pending, marks, idle):
    """List once each of the codes of which nothing is pending; return how many.

    `marks` is 0 everywhere between calls.
    """
    count = 0
    for k in range(len(codes)):
        code = codes[k]
        if code >= 0 and pending[code] == 0 and marks[code] == 0:
            marks[code] = 1
            idle[count] = code
            count += 1
    for k in range(count):
        marks[idle[k]] = 0
    return count
