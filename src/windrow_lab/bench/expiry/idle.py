"""Nothing arrives any more: an end shows as soon as time has come to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter

import pyarrow as pa

from windrow.runtime.local.database import Database
from windrow_lab.contest.report import Bar, verdict_of
from windrow_lab.contest.truth import answer_difference, net_difference
from windrow_lab.experiments.negatives.model import APPROACHES, ITA, MESSAGES, NTA, PIGGYBACK

WIDTH, TUPLES = 1_000, 100
TIMELY = (NTA, MESSAGES, PIGGYBACK)
QUERY = f"SELECT COUNT(*) AS n FROM s1 [RANGE {WIDTH}], s2 [RANGE {WIDTH}] WHERE s1.k = s2.k"
TRUTH = (
    "SELECT now, COUNT(s1.k) AS n FROM emitted LEFT JOIN (s1 JOIN s2 USING (k)) "
    f"ON greatest(s1.t, s2.t) <= now AND now < least(s1.t, s2.t) + {WIDTH} GROUP BY now"
)
"""The query's answer at every instant that an answer was read at."""


@dataclass(slots=True)
class Idle:
    """What an approach emits while nothing arrives: how late each end, and the answer at each tick.

    `changes` are all that it has emitted by the end of the input.
    """

    late: list[int] = field(default_factory=list)
    answers: list[dict[str, int]] = field(default_factory=list)
    changes: pa.Table = field(init=False)


def measure() -> Bar:
    """Compare when each end shows with when it is; `ratio` is the share that shows exactly then."""
    start = perf_counter()
    found = {approach: idle(approach) for approach in (*TIMELY, ITA)}
    seconds = perf_counter() - start
    right = [late == 0 for approach in TIMELY for late in found[approach].late]
    return Bar(
        "idle",
        sum(right) / max(len(right), 1),
        1.0,
        seconds,
        2 * TUPLES * len(found) / seconds,
        verdict_of(wrong_in(found)),
        {"ends_input_triggered": len(found[ITA].late)},
        {"against": "ends at their own times, without input; ITA emits none of them"},
    )


def wrong_in(found: dict[str, Idle]) -> str:
    """Return what is not as it should be; empty if all is.

    Timely approaches have DuckDB's answer at every tick. ITA emits nothing while nothing arrives,
    so it has the answer that there was at the last tuple; at the end of the input it has emitted
    what the others have.
    """
    for approach in TIMELY:
        shown = found[approach]
        if len(shown.late) != TUPLES:
            return f"{approach} has emitted {len(shown.late)} of {TUPLES} ends"
        if differs := answer_difference(pa.Table.from_pylist(shown.answers), TRUTH, tuples()):
            return f"{approach}: the answer differs from DuckDB's: {differs}"
    if found[ITA].late:
        return f"{ITA} has emitted {len(found[ITA].late)} ends, and nothing has arrived"
    if {row["n"] for row in found[ITA].answers} != {TUPLES}:
        return f"{ITA} has changed its answer, and nothing has arrived"
    for approach, shown in found.items():
        if differs := net_difference(shown.changes, found[NTA].changes):
            return f"{approach}: the changes differ from those of {NTA}: {differs}"
    return ""


def tuples() -> dict[str, pa.Table]:
    """Return both streams: a tuple of each joins one of the other, at the same time."""
    rows = [{"t": 3 * i, "k": i} for i in range(TUPLES)]
    return dict.fromkeys(("s1", "s2"), pa.Table.from_pylist(rows))


def idle(approach: str) -> Idle:
    """Return what is emitted where time goes on tick by tick, and nothing arrives."""
    db = Database()
    for name in ("s1", "s2"):
        db.execute(f"CREATE STREAM {name} (t BIGINT, k BIGINT) TIMESTAMP BY t")
    query = db.query(QUERY, **APPROACHES[approach])
    for name, table in tuples().items():
        db.push(name, table)
    found, changes = Idle(), [query.changes()]
    last = 3 * (TUPLES - 1)
    for now in range(last + 1, last + WIDTH + 1):
        db.advance(now)
        changes.append(query.changes())
        found.late += [now - int(ts) for ts in set(changes[-1]["_ts"].to_pylist())]
        (row,) = query.answer().to_pylist()
        found.answers.append({"now": now, "n": row["n"]})
    db.drain()
    found.changes = pa.concat_tables([*changes, query.changes()]).combine_chunks()
    return found
