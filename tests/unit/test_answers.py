"""`answer()`: the rows in the order that was asked for, and nothing that no change has emitted."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.generate.effort import examples

from windrow.operators.queued import Costs, Processor
from windrow.runtime.local.database import Database

DECLARATIONS = """
    CREATE STREAM s (ts BIGINT, k BIGINT, v DOUBLE, w STRING) TIMESTAMP BY ts;
    CREATE STREAM z (ts BIGINT, k BIGINT) TIMESTAMP BY ts;
    CREATE RELATION r (k BIGINT, n BIGINT);
"""


def opened(processor: Processor | None = None) -> Database:
    db = Database(processor)
    db.execute(DECLARATIONS)
    return db


def rank(value: object, *, descending: bool, nulls_first: bool) -> tuple:
    """Return the place of a value: NULL where it was said, NaN above all numbers."""
    if value is None:
        return (0 if nulls_first else 2, 0, 0)
    if isinstance(value, str):
        return (1, 0, (*(-ord(c) for c in value), 1) if descending else tuple(map(ord, value)))
    nan = math.isnan(value)
    return (1, -nan if descending else nan, 0 if nan else -value if descending else value)


TERMS = {  # what is written after ORDER BY: its value of a row
    "v": lambda row: row["v"],
    "-v": lambda row: None if row["v"] is None else -row["v"],
    "k % 3": lambda row: row["k"] % 3,
    "k + v": lambda row: None if row["v"] is None else row["k"] + row["v"],
    "w": lambda row: row["w"],
    "1": lambda row: row["k"],
    "shown": lambda row: row["k"],
    "ts": lambda row: row["ts"],
}
ORDERS = st.lists(
    st.tuples(st.sampled_from(sorted(TERMS)), st.booleans(), st.sampled_from([None, True, False])),
    min_size=1,
    max_size=3,
    unique_by=lambda term: term[0],
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "ts": st.integers(0, 6),
            "k": st.integers(0, 4),
            "v": st.sampled_from([None, -1.5, 0.0, 2.0, math.nan, math.inf]),
            "w": st.sampled_from([None, "a", "b", "ba"]),
        }
    ),
    max_size=9,
)


def written(term: str, descending: bool, nulls: bool | None) -> str:
    last = "" if nulls is None else f" NULLS {'FIRST' if nulls else 'LAST'}"
    return f"{term}{' DESC' if descending else ''}{last}"


@examples(60)
@given(
    ROWS,
    ORDERS,
    st.sampled_from(["k AS shown", "k AS shown, ts", "k AS shown, v, ts"]),
    st.integers(1, 4),
    st.sampled_from(["[ROWS 20]", "[RANGE 4]", "[RANGE 4 SLIDE 2]"]),
    st.booleans(),
)
def test_an_ordered_answer_is_in_order(rows, orders, selected, limit, window, processor) -> None:
    """Where LIMIT cuts, keys may be columns that are not selected, and expressions of them."""
    rows = sorted(rows, key=lambda row: row["ts"])
    text = ", ".join(written(*order) for order in orders)
    db = opened(Processor({"TopN": Costs(0.0)}) if processor else None)
    query = db.query(f"SELECT {selected} FROM s {window} ORDER BY {text} LIMIT {limit}")
    seen: Counter = Counter()
    for row in rows:
        db.push("s", [row])
        for change in query.changes().to_pylist():
            sign, _ = change.pop("_sign"), change.pop("_ts")
            seen[repr(change)] += sign
        answer = query.answer().to_pylist()
        assert Counter(map(repr, answer)) == +seen, "changes add up to the answer"
    db.advance(6)
    at = 6
    alive = [r for r in rows if "ROWS" in window or r["ts"] > at - 4]

    def place(row: dict) -> tuple:
        return tuple(
            rank(
                TERMS[term](row),
                descending=down,
                nulls_first=not down if nulls is None else nulls,
            )
            for term, down, nulls in orders
        )

    names = query.answer().schema.names
    right = [[r["k"] if n == "shown" else r[n] for n in names] for r in sorted(alive, key=place)]
    places = {}
    for row in alive:
        visible = repr([row["k"] if n == "shown" else row[n] for n in names])
        places.setdefault(visible, set()).add(place(row))
    got = [list(row.values()) for row in query.answer().to_pylist()]
    assert len(got) == min(limit, len(right))
    wanted = [place(row) for row in sorted(alive, key=place)][: len(got)]
    for row, expected in zip(got, wanted, strict=True):
        assert expected in places[repr(row)], f"{got} by {text}, of {right}"


def test_keys_that_are_not_selected_are_in_no_change_report_or_snapshot() -> None:
    db = opened()
    query = db.query("SELECT w FROM s [RANGE 9] ORDER BY v DESC LIMIT 2", name="q")
    seen = []
    query.report(every=2, to=lambda at, answer: seen.append((at, answer.to_pylist())))
    for ts, v in enumerate((1.0, 3.0, 2.0, 5.0)):
        db.push("s", [{"ts": ts, "v": v, "w": "same" if v > 2 else f"{v}"}])
    assert query.answer().to_pylist() == [{"w": "same"}, {"w": "same"}]
    assert query.changes().column_names == ["_ts", "_sign", "w"]
    assert seen == [(0, [{"w": "1.0"}]), (2, [{"w": "same"}, {"w": "2.0"}])]
    saved = query.snapshot()
    query.reoptimize("negative")
    assert query.answer().to_pylist() == [{"w": "same"}, {"w": "same"}]
    query.restore(saved)
    db.advance(10)
    assert query.answer().to_pylist() == [{"w": "same"}, {"w": "2.0"}]


VIEWS = (
    "SELECT COUNT(*) AS n FROM s [RANGE 3]",
    "SELECT COUNT(*) AS n, SUM(s.k) AS total FROM s [RANGE 3], z [RANGE 4] WHERE s.k = z.k",
    "SELECT COUNT(*) AS n FROM s [RANGE 3] HAVING COUNT(*) < 2",
    "SELECT COUNT(*) AS n FROM s [RANGE 4 SLIDE 2]",
    "SELECT k FROM s [RANGE 3] UNION ALL SELECT n FROM r",
    "SELECT n FROM r WHERE NOT EXISTS (SELECT * FROM s [RANGE 3] WHERE s.k = r.k)",
    "SELECT COUNT(*) AS n FROM s [RANGE 3] JOIN r ON s.k = r.k",
    "SELECT COUNT(*) + 1 AS n FROM (SELECT DISTINCT k FROM z [ROWS 2]) AS q",
    "SELECT MAX(n) AS n FROM (SELECT COUNT(*) AS n FROM s [NOW]) AS q",
)


@pytest.mark.parametrize("text", VIEWS)
@examples(6)
@given(
    events=st.lists(
        st.tuples(st.sampled_from(["s", "z", "r", "advance"]), st.integers(0, 2)), max_size=8
    ),
    strategy=st.sampled_from(["auto", "negative", "direct"]),
    processor=st.booleans(),
)
def test_changes_always_add_up_to_the_answer(text, events, strategy, processor) -> None:
    """From the beginning on: before a query's first event it has neither."""
    db = opened(Processor({}) if processor else None)
    query = db.query(text, strategy=strategy)
    at, told = 0, Counter()
    for name, gap in [("advance", 0), *events]:
        at += gap
        match name:
            case "advance":
                db.advance(at)
            case "r":
                db.push("r", [{"k": 1, "n": at}])
            case _:
                db.push(name, [{"ts": at, "k": 1}])
        for change in query.changes().to_pylist():
            sign, _ = change.pop("_sign"), change.pop("_ts")
            told[repr(change)] += sign
        assert Counter(map(repr, query.answer().to_pylist())) == +told
