"""Sub-queries that are values, ANY, ALL and IN of several columns: as DuckDB says of the same text.

The oracle of plans would see what the binder has made of them; so the answers at the end of all
histories are compared with those of the text itself, where every window is [UNBOUNDED], and those
at every instant with the oracle's, for windows that expire.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from tests.generate.catalog import DECLARATIONS
from tests.generate.effort import examples
from tests.generate.streams import worlds_of
from tests.properties.test_engine_matches_oracle import assert_same, drives
from tests.properties.test_shards_match_oracle import assert_sharded, sharded_drives
from tests.reference.drive import drive, net_at
from tests.reference.histories import same_rows
from tests.reference.plain_sql import PlainTables, plain_sql

A, B, C = "a [{w1}]", "b [{w2}]", "c [{w2}]"
NOTHING = "b.k = 77"
NULLS_ABOUT = {("", "<>", "ALL"), ("NOT ", "=", "ANY"), ("NOT ", "=", "SOME")}
"""NOT IN by other names: refused where it is correlated and there may be NULLs."""

TEXTS = (
    f"SELECT a.id, (SELECT COUNT(*) FROM {B}) AS n FROM {A}",
    f"SELECT a.id, (SELECT SUM(b.v) FROM {B}) + 1 AS n FROM {A}",
    f"SELECT a.id, (SELECT COUNT(*) FROM {B} WHERE b.k = a.k) AS n FROM {A}",
    f"SELECT a.id, (SELECT COUNT(b.v) + 1 FROM {B} WHERE b.k = a.k AND b.v > 0) AS n FROM {A}",
    f"SELECT a.id, (SELECT MAX(b.v) FROM {B} WHERE b.k = a.k AND a.v = b.v) AS n FROM {A}",
    f"SELECT a.id, (SELECT COALESCE(SUM(b.v), -1) FROM {B} WHERE a.k = b.k + 1) AS n FROM {A}",
    f"SELECT a.id, (SELECT SUM(b.v) FROM {B} WHERE {NOTHING}) AS n FROM {A}",
    f"SELECT a.id FROM {A} WHERE a.v > (SELECT AVG(b.v) FROM {B})",
    f"SELECT a.id FROM {A} WHERE a.v >= (SELECT MIN(b.v) FROM {B} WHERE b.k = a.k)",
    f"SELECT a.id FROM {A} WHERE 1 = (SELECT COUNT(*) FROM {B} WHERE b.k = a.k)",
    f"SELECT a.id FROM {A} WHERE 0 = (SELECT COUNT(*) FROM {B} WHERE b.k = a.k) AND a.v > 0",
    f"SELECT a.id, b.id FROM {A}, {B} WHERE a.k = b.k"
    f" AND a.v < (SELECT SUM(c.v) FROM {C} WHERE c.k = b.k)",
    f"SELECT a.k, COUNT(*) AS n FROM {A} GROUP BY a.k"
    f" HAVING COUNT(*) >= (SELECT COUNT(*) FROM {B} WHERE b.k = a.k)",
    f"SELECT a.k, SUM(a.v) + (SELECT COUNT(*) FROM {B} WHERE b.k = a.k) AS n FROM {A} GROUP BY a.k",
    f"SELECT COUNT(*) - (SELECT COUNT(*) FROM {B}) AS n FROM {A}",
    f"SELECT a.id, (SELECT b.v FROM {B} ORDER BY b.id DESC LIMIT 1) AS n FROM {A}",
    f"SELECT a.id, (SELECT SUM(b.v) FROM {B} HAVING COUNT(*) > 2) AS n FROM {A}",
    f"SELECT a.id, (SELECT COUNT(*) FROM {B} WHERE b.v > (SELECT MIN(c.v) FROM {C})) AS n FROM {A}",
    f"SELECT a.id, (SELECT q.n FROM (SELECT COUNT(*) AS n FROM {B}) AS q WHERE q.n > 1) AS m"
    f" FROM {A}",
    f"SELECT a.id, EXISTS (SELECT * FROM {B} WHERE b.k = a.k) AS e FROM {A}",
    f"SELECT a.id FROM {A} WHERE a.v > 2 OR EXISTS (SELECT * FROM {B} WHERE b.k = a.k)",
    f"SELECT a.id FROM {A} WHERE a.v > 2 OR NOT EXISTS (SELECT * FROM {B})",
    f"SELECT a.id, (SELECT MAX(r.w) FROM r WHERE r.k = a.k) AS w FROM {A}",
    f"SELECT r.k, (SELECT COUNT(*) FROM {A} WHERE a.k = r.k) AS n FROM r",
    f"SELECT a.id FROM {A} WHERE (a.k, a.v) IN (SELECT b.k, b.v FROM {B})",
    f"SELECT a.id FROM {A} WHERE (a.k, a.v) IN (SELECT k, COUNT(*) FROM {B} GROUP BY k)",
    f"SELECT a.id FROM {A} WHERE (a.id, a.id) NOT IN (SELECT b.id, b.id FROM {B})",
    f"SELECT a.id FROM {A} WHERE a.k = ANY (SELECT b.k FROM {B})",
    f"SELECT a.id FROM {A} WHERE a.k <> ALL (SELECT b.k FROM {B})",
    *(
        f"SELECT a.id FROM {A} WHERE {no}a.v {op} {word} (SELECT b.v FROM {B}{where})"
        for no in ("", "NOT ")
        for op in ("<", ">=", "<>", "=")
        for word in ("ANY", "ALL", "SOME")
        for where in ("", " WHERE b.k = a.k")
        if not (where and (no, op, word) in NULLS_ABOUT)
    ),
)

WINDOWS = ("RANGE 5", "RANGE 3", "ROWS 2", "UNBOUNDED")


@pytest.mark.parametrize("text", TEXTS)
@given(data=st.data())
@examples(2)
def test_what_stays_is_what_duckdb_says_of_the_text(text: str, data: st.DataObject) -> None:
    whole = text.format(w1="UNBOUNDED", w2="UNBOUNDED")
    world = data.draw(worlds_of(whole))
    plan = data.draw(drives(world))
    note(f"{whole}\n{plan}")
    times = [t for h in (*world.streams.values(), *world.relations.values()) for t in h.times]
    if not any(h.times for h in world.streams.values()):
        return
    end = max(times) + 1
    tables = PlainTables(DECLARATIONS)
    tables.load(world)
    [got] = net_at(drive(whole, world, plan, end), [end])
    assert same_rows(got, Counter(tables.answer(plain_sql(whole))))


@given(st.data())
@examples(40)
def test_every_instant_is_right(data: st.DataObject) -> None:
    spans = {name: data.draw(st.sampled_from(WINDOWS)) for name in ("w1", "w2")}
    text = data.draw(st.sampled_from(TEXTS)).format(**spans)
    world = data.draw(worlds_of(text))
    plan = data.draw(drives(world))
    note(f"{text}\n{plan}")
    assert_same(text, world, plan)


@given(st.data())
@examples(25)
def test_every_instant_is_right_on_shards(data: st.DataObject) -> None:
    spans = {name: data.draw(st.sampled_from(WINDOWS)) for name in ("w1", "w2")}
    text = data.draw(st.sampled_from(TEXTS)).format(**spans)
    world = data.draw(worlds_of(text))
    plan = data.draw(sharded_drives(world))
    note(f"{text}\n{plan}")
    assert_sharded(text, world, plan)
