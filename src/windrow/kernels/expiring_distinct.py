"""DISTINCT of an unsigned edge that emits the expirations of its results.

    value a   ●━━━━━━━━━┓        +a when the first tuple comes,
                   ●━━━━┻━━━━┫   -a when the last has expired; what happens between is not shown

Of each value only the latest `exp` of its tuples matters. A calendar queue has each value once, at
the `exp` that was the latest when it was queued; if a later one has come since, it is queued again.
"""

from __future__ import annotations

from windrow.kernels.jit import kernel

NOT_THERE = -(2**63)
"""What `ends` holds for a value that no tuple has."""


@kernel
def emit_arrivals(ts, exp, codes, ends, out, fresh):
    """Emit the values that appear, and those that had expired before they came again.

        ends:  code -> latest `exp` of its tuples
        out:   [ts, weight, code]  a line each, with room for two of each arrival

    A value that expires at the very instant at which it comes again just stays. `fresh` gets the
    codes that were not there. Returns how many changes are emitted, and how many codes are fresh.
    """
    n, new = 0, 0
    for i in range(len(ts)):
        code, now = codes[i], ts[i]
        end = ends[code]
        # At `end == now` the value just stays: its retraction and insertion would cancel.
        if end < now:
            if end == NOT_THERE:
                fresh[new] = code
                new += 1
            else:
                out[0, n] = end
                out[1, n] = -1
                out[2, n] = code
                n += 1
            out[0, n] = now
            out[1, n] = 1
            out[2, n] = code
            n += 1
        ends[code] = max(end, exp[i])
    return n, new


@kernel
def emit_expirations(codes, clock, ends, out, n, again, dead):
    """Emit a retraction of each value that has expired by `clock`.

    `again` gets the codes that are still there, `dead` those that are gone. Returns how many
    changes are emitted, how many values are there, and how many gone.
    """
    more, gone = 0, 0
    for k in range(len(codes)):
        code = codes[k]
        # A later tuple came since the value was queued.
        if ends[code] > clock:
            again[more] = code
            more += 1
        else:
            out[0, n] = ends[code]
            out[1, n] = -1
            out[2, n] = code
            n += 1
            ends[code] = NOT_THERE
            dead[gone] = code
            gone += 1
    return n, more, gone
