"""Relations that reach back, joined above a negation: at every instant the answer is SQL's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.generate.effort import examples

import windrow

DECLARATIONS = """
    CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts;
    CREATE STREAM t (ts BIGINT, k BIGINT) TIMESTAMP BY ts;
    CREATE RELATION r (k BIGINT);
    CREATE RELATION j (k BIGINT);
    CREATE RELATION z (k BIGINT, w BIGINT);
"""
WIDTH = 5
Bags = dict[str, Counter]


def except_all(left: Counter, right: Counter) -> Counter:
    return left - right


def except_(left: Counter, right: Counter) -> Counter:
    return Counter(k for k in left if k not in right)


def not_exists(left: Counter, right: Counter) -> Counter:
    return Counter({k: n for k, n in left.items() if k not in right})


QUERIES: dict[str, tuple[Callable[[Counter, Counter], Counter], str, str]] = {
    "SELECT x.k, w FROM (SELECT k FROM r EXCEPT SELECT k FROM j) AS x JOIN z ON x.k = z.k": (
        *(except_, "r", "j"),
    ),
    "SELECT x.k, w FROM (SELECT k FROM r EXCEPT ALL SELECT k FROM j) AS x, z WHERE x.k = z.k": (
        *(except_all, "r", "j"),
    ),
    "SELECT x.k, w FROM z JOIN (SELECT k FROM s [RANGE 5] EXCEPT SELECT k FROM j) AS x "
    "ON x.k = z.k": (except_, "s", "j"),
    "SELECT x.k, w FROM (SELECT k FROM s [RANGE 5] EXCEPT ALL SELECT k FROM t [RANGE 5]) AS x "
    "JOIN (SELECT k, w FROM z WHERE w >= 0) AS y ON x.k = y.k": (except_all, "s", "t"),
    "SELECT x.k, w FROM (SELECT k FROM s [RANGE 5] WHERE NOT EXISTS "
    "(SELECT * FROM t [RANGE 5] WHERE t.k = s.k)) AS x JOIN z ON x.k = z.k": (
        *(not_exists, "s", "t"),
    ),
    "SELECT x.k, w FROM (SELECT k FROM r WHERE k NOT IN (SELECT k FROM t [RANGE 5])) AS x "
    "JOIN z ON x.k = z.k": (not_exists, "r", "t"),
}


def joined(keys: Counter, rows: Counter) -> Counter:
    answer: Counter = Counter()
    for key, copies in keys.items():
        for (k, w), n in rows.items():
            if k == key:
                answer[(k, w)] += copies * n
    return answer


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("strategy", ["upa", "direct", "negative"])
@examples(4)
@given(
    events=st.lists(
        st.tuples(
            st.sampled_from(["s", "t", "r", "j", "z", "z"]),
            st.integers(0, 2),
            st.integers(1, 2),
            st.booleans(),
        ),
        max_size=16,
    )
)
def test_the_answer_is_that_of_sql(text: str, strategy: str, events: list[tuple]) -> None:
    negate, left, right = QUERIES[text]
    with windrow.connect() as db:
        db.execute(DECLARATIONS)
        db.push("s", [{"ts": 0, "k": 9}])
        query = db.query(text, strategy=strategy)
        bags: Bags = {name: Counter() for name in ("r", "j", "z")}
        tuples: dict[str, list[tuple[int, int]]] = {"s": [], "t": []}
        told: Counter = Counter()
        at = 0
        for name, gap, k, inserts in [*events, ("s", 0, 9, True), ("s", WIDTH + 1, 9, True)]:
            at += gap
            if name in tuples:
                db.push(name, [{"ts": at, "k": k}])
                tuples[name].append((at, k))
            else:
                row = (k, at % 2) if name == "z" else (k,)
                if not inserts and not bags[name][row]:
                    continue
                names = ("k", "w") if name == "z" else ("k",)
                sign = 1 if inserts else -1
                db.push(name, [{**dict(zip(names, row, strict=True)), "_ts": at, "_sign": sign}])
                bags[name][row] += sign
            db.advance(at)
            alive = {
                n: Counter(k for ts, k in rows if ts > at - WIDTH) for n, rows in tuples.items()
            }
            keys = {n: Counter({row[0]: c for row, c in bags[n].items() if c}) for n in "rj"}
            known = {**alive, **keys}
            right_answer = joined(negate(known[left], known[right]), +bags["z"])
            for change in query.changes().to_pylist():
                told[(change["k"], change["w"])] += change["_sign"]
            answer = Counter((row["k"], row["w"]) for row in query.answer().to_pylist())
            assert answer == +told == right_answer
