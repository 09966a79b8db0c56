"""Any plan of a query goes on from any other, at any instant: the changelog is the oracle's."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from tests.generate.effort import examples
from tests.generate.queries import queries
from tests.generate.streams import worlds_of
from tests.properties.test_engine_matches_oracle import STRATEGIES, assert_same, drives
from tests.properties.test_negation_forms import QUERIES as NEGATIONS
from tests.properties.test_negation_forms import WINDOWS
from tests.reference.drive import Drive
from tests.reference.histories import World

from windrow.optimize.statistics import UNKNOWN, Statistics

pytestmark = pytest.mark.long

FORMS = (
    *NEGATIONS,
    "SELECT 1 AS one FROM (SELECT a.k FROM a [{w1}]) AS z",
    "SELECT DISTINCT a.k FROM a [{w1}]",
    "SELECT DISTINCT a.k % 2 AS p, b.s FROM a [{w1}], b [{w2}] WHERE a.k = b.k",
    "SELECT z.k, b.v FROM (SELECT DISTINCT k FROM a [{w1}]) AS z, b [{w2}] WHERE z.k = b.k",
    "SELECT z.k, n.w FROM (SELECT DISTINCT k FROM a [{w1}]) AS z, n WHERE z.k = n.k",
    "SELECT DISTINCT k FROM (SELECT k FROM a [{w1}] UNION ALL SELECT b.k FROM b [{w2}], c [{w3}] "
    "WHERE b.k = c.k) AS u",
    "SELECT a.v, b.v FROM a [{w1}], b [{w2}] WHERE a.k + 1 = b.k + 1 AND a.v <= b.v",
    "SELECT a.v, b.v FROM a [{w1}], b [{w2}] WHERE WINDOW(a, b) = 2",
    "SELECT a.k, MIN(b.x), MAX(b.s), SUM(b.v) FROM a [{w1}], b [{w2}] WHERE a.k = b.k GROUP BY a.k",
    "SELECT MIN(v), MAX(x) FILTER (WHERE k > 0), MEDIAN(v), COUNT(DISTINCT k) FROM a [{w1}]",
    "SELECT k, MAX(v) FROM (SELECT k, v FROM a [{w1}] UNION ALL SELECT k, v FROM b [{w2}]) AS u "
    "GROUP BY k",
    "SELECT a.v, b.v FROM a [{w1}] LEFT JOIN b [{w2}] ON a.k = b.k",
    "SELECT a.v, b.v FROM a [{w1}] FULL JOIN b [{w2}] ON a.k + 1 = b.k AND a.v < b.v",
    "SELECT z.k, COUNT(c.v) FROM (SELECT a.k FROM a [{w1}], b [{w2}] WHERE a.k = b.k) AS z "
    "LEFT JOIN c [{w3}] ON z.k = c.k GROUP BY z.k",
    "SELECT k, v FROM a [{w1}] INTERSECT ALL SELECT k, v FROM b [{w2}]",
    "SELECT k FROM a [{w1}] EXCEPT SELECT k FROM b [{w2}]",
    "SELECT v FROM a [{w1}] WHERE k IN (SELECT k FROM b [{w2}])",
    "SELECT v FROM a [{w1}] WHERE k NOT IN (SELECT k FROM b [{w2}])",
    "SELECT a.v, r.w FROM a [{w1}], r WHERE a.k = r.k",
    "SELECT v FROM a [{w1}] ORDER BY v DESC, id LIMIT 2",
    "DSTREAM(SELECT DISTINCT v FROM a [{w1}])",
    "ISTREAM(SELECT ts, v FROM a [{w1}] WHERE v > 0)",
    "ISTREAM(SELECT a.ts, a.v, b.ts AS t FROM a [{w1}], b [{w2}] WHERE a.k = b.k)",
    "ISTREAM(SELECT a.ts, b.ts AS t FROM a [{w1}], b [UNBOUNDED] WHERE a.k = b.k)",
    "ISTREAM(SELECT k FROM a [UNBOUNDED])",
    "WSTREAM(SELECT k FROM a [RANGE 5 INTERNAL] UNION ALL SELECT v FROM a [RANGE 5])[RANGE 5]",
    "SELECT v + 1 AS z FROM a [{w1}] WHERE v > 0 UNION ALL SELECT v FROM b [{w2}]",
)

MEASURED = (
    UNKNOWN,
    Statistics(premature=0.0),
    Statistics({"a": 5.0, "b": 0.1, "c": 1.0}, premature=0.9),
    Statistics({"a": 0.1, "b": 5.0, "c": 5.0}, premature=0.5),
)


@st.composite
def switching(draw: st.DrawFn, world: World) -> Drive:
    """A drive with switches, some of which are written to bytes and read back at once."""
    switch = st.tuples(st.integers(0, 6), st.sampled_from(STRATEGIES), st.sampled_from(MEASURED))
    switches = draw(st.lists(switch, min_size=1, max_size=4))
    return replace(draw(drives(world)), switches=tuple(switches))


@given(st.data())
@examples(60)
def test_a_switch_of_forms_is_invisible(data: st.DataObject) -> None:
    spans = {name: data.draw(st.sampled_from(WINDOWS)) for name in ("w1", "w2", "w3")}
    text = data.draw(st.sampled_from(FORMS)).format(**spans)
    world = data.draw(worlds_of(text))
    plan = data.draw(switching(world))
    note(f"{text}\n{plan}")
    assert_same(text, world, plan)


@given(st.data())
@examples(40)
def test_a_switch_is_invisible_whatever_the_query(data: st.DataObject) -> None:
    text = data.draw(queries())
    world = data.draw(worlds_of(text))
    plan = data.draw(switching(world))
    note(f"{text}\n{plan}")
    assert_same(text, world, plan)
