"""Results counted one by one: numbers, slides, arrivals, and answers of the last while."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.changelogs import (
    KEY,
    ROW,
    Driver,
    answers,
    changes_between,
    delta,
    histories,
    keys,
    lives,
    net,
    plain_value,
    rows,
    signed_changes,
    streams,
)
from tests.unit.test_streams_output import ordered, told

import windrow as wr
from windrow.core.time import next_multiple
from windrow.operators.interner import Interner
from windrow.operators.streams import (
    NumberTask,
    ProducedTask,
    RecentAnswersTask,
    RstreamTask,
    SlideInstantsTask,
)
from windrow.operators.window import RowsWindow

LAST = 80
YEAR = 365 * 24 * 3600


@given(st.data(), lives(rows))
def test_each_result_that_travels_is_produced_once_whenever_others_expire(data, results):
    interner = Interner()
    driver = Driver(data.draw, (ROW,), interner, unsigned=True)
    made = driver.run(lambda: ProducedTask(ROW, interner), results, LAST)
    arrived = Counter((c.ts, tuple(map(plain_value, c.row))) for c in results)
    assert told(made, interner) == ordered(arrived)


@given(st.data(), streams(rows), st.integers(0, 3))
def test_no_two_tuples_have_one_number_on_any_shard(data, stream, shard):
    def make():
        task = NumberTask("n")
        task.shard = shard
        return task

    interner = Interner()
    made = Driver(data.draw, (ROW,), interner).run(make, stream, LAST)
    numbers = np.concatenate([d.columns["n"].data for d in made])
    assert numbers.tolist() == [shard * 2**48 + i + 1 for i in range(len(stream))]


@given(st.data(), streams(keys), st.integers(1, 5))
def test_a_count_window_slides_once_at_an_instant_that_passes_a_multiple(data, stream, step):
    interner = Interner()
    driver = Driver(data.draw, (KEY,), interner)
    made = driver.run(lambda: SlideInstantsTask("at", step), stream, LAST)
    times = [c.ts for c in stream]
    passed = {t: times.count(t) and sum(u <= t for u in times) // step for t in set(times)}
    before = {t: sum(u < t for u in times) // step for t in set(times)}
    expected = sorted(t for t in passed if passed[t] > before[t])
    assert [t for d in made for t in d.ts.tolist()] == expected
    assert [t for d in made for t in d.columns["at"].data.tolist()] == expected


@given(st.data(), histories(rows), st.integers(1, 5), st.integers(1, 4))
def test_recent_answers_are_those_of_the_refreshes_in_the_range(data, history, slide, count):
    interner = Interner()
    driver = Driver(data.draw, (ROW,), interner)
    made = driver.run(lambda: RecentAnswersTask(ROW, slide, slide * count), history, LAST)
    got = [c for d in made for c in signed_changes(d, interner)]
    start = next_multiple(history[0].ts if history else 0, slide)
    bags, whole = answers(history, LAST), {}
    for now in range(LAST + 1):
        refreshes = [m for m in range(start, now + 1, slide) if now - slide * count < m]
        whole[now] = sum((bags[m] for m in refreshes), Counter())
    assert net(got) == changes_between(whole)


@given(st.data(), histories(keys), st.integers(1, 3), st.integers(1, 4))
def test_a_count_window_does_not_see_the_refreshes_that_are_left_out(data, history, slide, count):
    """The window over all refreshes and over those that are seen has the same content."""
    interner = Interner()

    def contents(seen):
        whole = RstreamTask(KEY, slide, interner, seen)
        window = RowsWindow(KEY, count, 1, None)
        whole.begin(history[0].ts if history else 0)
        stream = whole.step((delta(history, KEY, interner),), LAST)
        emitted = [window.step((d,), LAST) for d in (stream, whole.finish(LAST))]
        return net([c for d in emitted for c in signed_changes(d, interner)])

    every, few = contents(None), contents(count)
    assert every == few


@pytest.mark.parametrize("rows_window", ["ROWS 10", "RANGE 1 MINUTE", "PARTITION BY s ROWS 3"])
def test_a_pause_of_a_year_costs_what_can_be_seen_of_it(rows_window):
    db = wr.connect(engine="local")
    db.execute("CREATE STREAM a (ts TIMESTAMP, v BIGINT) TIMESTAMP BY ts")
    inner = "SELECT SUM(v) AS s FROM a [RANGE 6 SECONDS SLIDE 6 SECONDS INTERNAL]"
    query = db.query(f"SELECT COUNT(*) AS n, SUM(s) AS s FROM ({inner}) AS x [{rows_window}]")
    db.push("a", [{"ts": 1, "v": 5}, {"ts": 9 * 10**6, "v": 7}])
    db.push("a", [{"ts": YEAR * 10**6, "v": 1}])
    read = sum(s["tuples_in"] for s in query.stats()["operators"])
    assert read < 500, "most refreshes of the pause are passed over"
    kept = 5 if "PARTITION" in rows_window else 10  # of 5 one, of 7 one, of NULL three
    assert query.answer().to_pylist()[0]["n"] == kept
