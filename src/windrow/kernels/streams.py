"""SLIDE with RESTORE: of a row p + m copies at each multiple of d.

    instants   ─+x──-x────+y─┊─────────┊─        p: sum of net increases since (k-1)·d
    multiple k·d             ╪ x y               m: least number of copies since (k-1)·d
    and (k+1)·d                        ╪ y       x was restored for one interval only

Of equal copies the last inserted expires first. So m of them were there all the time since (k-1)·d,
and p were produced since then, whether or not they are still there.

A code is *dirty* if it is to be looked at when the current interval ends, and *settled* if it
has been; a settled code that shows more than it has is dirty in the next interval.
"""

from __future__ import annotations

from windrow.kernels.jit import inlined, kernel

COPIES, SHOWN, UPS, LEAST, OPEN, INSTANT, INTERVAL, DIRTY, SETTLED, DEAD = range(10)
"""Columns of `rows`, by code: copies in the source, and in what was emitted; p and m of closed
instants; net of the open instant, and which it is; the interval that p and m are for; whether the
code is in each of the lists."""
ROW_WORDS = 10

CURRENT, DIRTIES, SETTLEDS, DEADS, MADE = range(5)
"""Places of `work`: the current multiple, the lengths of the lists, changes made."""
WORK_WORDS = 5


@inlined
def emit(rows, lists, work, out):
    """Bring what is shown up to date at the current multiple."""
    now = work[CURRENT]
    for k in range(work[DIRTIES]):
        code = lists[0, k]
        rows[code, DIRTY] = 0
        # p + m if the row changed within this interval, else what the source has.
        new = rows[code, COPIES]
        if rows[code, INTERVAL] == now:
            new = min(new, rows[code, LEAST]) + rows[code, UPS] + max(0, rows[code, OPEN])
        if new != rows[code, SHOWN]:
            n = work[MADE]
            out[0, n] = now
            out[1, n] = code
            out[2, n] = new - rows[code, SHOWN]
            rows[code, SHOWN] = new
            work[MADE] = n + 1
        if rows[code, SETTLED] == 0:
            rows[code, SETTLED] = 1
            lists[1, work[SETTLEDS]] = code
            work[SETTLEDS] += 1
    work[DIRTIES] = 0


@inlined
def close(rows, lists, work):
    """End the current interval: what shows more than it has is looked at again."""
    for k in range(work[SETTLEDS]):
        code = lists[1, k]
        rows[code, SETTLED] = 0
        # It was restored for this interval only: the next one corrects that.
        if rows[code, SHOWN] != rows[code, COPIES]:
            if rows[code, DIRTY] == 0:
                rows[code, DIRTY] = 1
                lists[0, work[DIRTIES]] = code
                work[DIRTIES] += 1
        elif rows[code, SHOWN] == 0 and rows[code, DEAD] == 0:
            rows[code, DEAD] = 1
            lists[2, work[DEADS]] = code
            work[DEADS] += 1
    work[SETTLEDS] = 0


@kernel
def restore_changes(changes, clock, slide, rows, lists, work, out):
    """Fold changes into `rows`; emit at each multiple up to `clock` what differs.

        changes:  [ts, multiple, code, weight]  a line each, ts ascending
        lists:    dirty, settled and dead codes, each as long as there may be codes
        out:      [multiple, code, weight]  a line each; room for two of each change and list entry

    Leaves in lists[2] the codes, each once, that nothing is left of.
    """
    for i in range(changes.shape[1]):
        now, due, code = changes[0, i], changes[1, i], changes[2, i]
        # The change is behind the current multiple: finish that, and those with dirty rows.
        while due > work[CURRENT]:
            emit(rows, lists, work, out)
            close(rows, lists, work)
            work[CURRENT] = work[CURRENT] + slide if work[DIRTIES] > 0 else due
        if rows[code, INTERVAL] != due:  # its first change since the last multiple
            rows[code, INTERVAL] = due
            rows[code, UPS] = 0
            rows[code, LEAST] = rows[code, COPIES]
            rows[code, OPEN] = 0
        elif rows[code, INSTANT] != now:  # the instant before is closed: its net counts
            rows[code, UPS] += max(0, rows[code, OPEN])
            rows[code, LEAST] = min(rows[code, LEAST], rows[code, COPIES])
            rows[code, OPEN] = 0
        rows[code, INSTANT] = now
        rows[code, OPEN] += changes[3, i]
        rows[code, COPIES] += changes[3, i]
        if rows[code, DIRTY] == 0:
            rows[code, DIRTY] = 1
            lists[0, work[DIRTIES]] = code
            work[DIRTIES] += 1
    # Multiples up to the clock; nothing changes after the last one with dirty rows.
    while work[CURRENT] <= clock and work[DIRTIES] + work[SETTLEDS] > 0:
        emit(rows, lists, work, out)
        if work[CURRENT] == clock:
            break
        close(rows, lists, work)
        if work[DIRTIES] > 0:
            work[CURRENT] += slide
    # Keep those that are still dead: a later change may have brought a row back.
    dead = 0
    for k in range(work[DEADS]):
        code = lists[2, k]
        rows[code, DEAD] = 0
        idle = rows[code, COPIES] == 0 and rows[code, SHOWN] == 0
        if idle and rows[code, DIRTY] == 0 and rows[code, SETTLED] == 0:
            lists[2, dead] = code
            dead += 1
    work[DEADS] = dead
