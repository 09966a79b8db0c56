"""The generators reach everything: every node, window, aggregate, output and pattern."""

from collections import Counter
from functools import cache
from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import given, settings
from tests.generate.catalog import bind
from tests.generate.grammar import OPERATORS, OUTPUTS, WINDOWS
from tests.generate.queries import queries, random_query
from tests.generate.streams import cut_times, disordered, in_order, stream_histories, worlds
from tests.reference.oracle_tables import walk

from windrow.plan.functions.aggregates import SHIPPED
from windrow.plan.nodes import Aggregate, AntiJoin, Join, Plan, Refresh, Window
from windrow.plan.patterns import PatternKind, pattern_of
from windrow.plan.windows import WindowSpec

pytestmark = pytest.mark.long

EXAMPLES = 600
WORLDS = 60


@cache
def sampled() -> tuple[Counter[str], Counter[str]]:
    """What occurs in the plans, and in the texts, of some hundred queries."""
    texts = [random_query(seed) for seed in range(EXAMPLES)]
    plans = [bind(text).root for text in texts]
    in_plans = Counter(
        word for plan in plans for word in {w for node in walk(plan) for w in words_of(node)}
    )
    return in_plans, Counter(word for text in texts for word in MARKS if word in text)


def words_of(node: Plan) -> set[str]:
    words = {type(node).__name__, pattern_of(node).kind.name}
    match node:
        case Window(spec=spec, expiry_column=expiry):
            words |= {type(spec).__name__, "expiry" if expiry else ""}
        case Aggregate(calls=calls):
            words |= {call.name for call in calls}
            words |= {"DISTINCT" for call in calls if call.distinct}
            words |= {"FILTER" for call in calls if call.filter}
        case Join(on=on):
            words |= {"band" if on.bands else "", "residual" if on.residual else ""}
        case AntiJoin(null_aware=True):
            words.add("null aware")
        case Refresh(restore=True):
            words.add("restore")
    return words


MARKS = (
    *("ISTREAM(", "DSTREAM(", "RSTREAM(", "WSTREAM(", " RESTORE", "INTERNAL", "WITH ", "[NOW]"),
    *(" SLIDE ", "TUMBLE ", "PARTITION BY ", "SINCE ", "UNBOUNDED", "WINDOW(", "DWINDOW("),
    *("WINDOW = ", "HAVING ", "ORDER BY ", "LIMIT ", "OFFSET ", "NOT IN (", "NOT EXISTS ("),
    *(
        " LEFT JOIN ",
        " RIGHT JOIN ",
        " FULL JOIN ",
        " IN (SELECT",
        "UNION ALL",
        "EXCEPT ALL",
        "INTERSECT ALL",
        "(SELECT ",
        " n ",
    ),
)


PLACED_LATER = {"Exchange", "Hold", "Numbered", "RecentAnswers", "Stamped", "Versions"}
"""Nodes that the binder does not make, or only by SET hold."""


@pytest.mark.parametrize("node", sorted({n.__name__ for n in get_args(Plan)} - PLACED_LATER))
def test_every_plan_node_occurs(node):
    assert sampled()[0][node] >= 3


@pytest.mark.parametrize("spec", [spec.__name__ for spec in get_args(WindowSpec)])
def test_every_window_occurs(spec):
    assert sampled()[0][spec] >= 3


@pytest.mark.parametrize("name", [f.name for f in SHIPPED])
def test_every_aggregate_occurs(name):
    assert sampled()[0][name] >= 1


@pytest.mark.parametrize("kind", PatternKind)
def test_every_pattern_occurs(kind):
    assert sampled()[0][kind.name] >= EXAMPLES // 10


@pytest.mark.parametrize(
    "detail", ["DISTINCT", "FILTER", "band", "residual", "null aware", "restore", "expiry"]
)
def test_every_detail_of_a_node_occurs(detail):
    assert sampled()[0][detail] >= 2


@pytest.mark.parametrize("word", MARKS)
def test_every_construct_is_written(word):
    assert sampled()[1][word] >= 2


def test_streams_hold_ties_gaps_nulls_and_joins():
    seen: Counter[str] = Counter()

    @settings(max_examples=WORLDS, database=None, derandomize=True)
    @given(worlds())
    def look(world) -> None:
        rows = [row for history in world.streams.values() for row in history.rows]
        times = world.streams["a"].times
        gaps = [later - earlier for earlier, later in pairwise(times)]
        keys = [{row[2] for row in world.streams[name].rows} for name in "ab"]
        changes = [change for history in world.relations.values() for change in history.changes]
        assert len({row[-1] for row in rows}) == len(rows), "ids are unique"
        assert cut_times(world) == sorted(set(cut_times(world)))
        seen.update(
            {
                "tie": 0 in gaps,
                "gap": any(gap > 5 for gap in gaps),
                "null": any(None in row for row in rows),
                "join": bool(keys[0] & keys[1]),
                "deletion": any(sign < 0 for _, sign, _ in changes),
                "empty": not times,
                "long": len(times) > 8,
            }
        )

    look()
    assert min(seen.values()) >= WORLDS // 20, seen


@given(stream_histories(max_rows=40).flatmap(lambda h: disordered(h, 5).map(lambda d: (h, d))))
def test_disorder_stays_within_its_slack(drawn):
    history, arrivals = drawn
    newest = -(2**62)
    for row in arrivals:
        assert row[0] >= newest - 5
        newest = max(newest, row[0])
    assert sorted(arrivals, key=repr) == sorted(history.rows, key=repr)
    assert in_order(arrivals).times == history.times


KNOBS = [
    *({"windows": [w]} for w in WINDOWS if w != "internal"),
    *({"operators": [o]} for o in OPERATORS),
    *({"outputs": [o]} for o in OUTPUTS),
    {"max_sources": 1},
    {"depth": 0},
    {"keep_ids": True},
]


@pytest.mark.parametrize("knobs", KNOBS, ids=repr)
def test_every_knob_leaves_queries_legal(knobs):
    for seed in range(20):
        bind(random_query(seed, **knobs))


@given(queries(monotone_only=True, outputs=["view"]))
def test_monotone_only_keeps_the_promise(text):
    assert pattern_of(bind(text).root).kind is PatternKind.MON


@given(queries(predictable_only=True, outputs=["view"]))
def test_predictable_only_keeps_the_promise(text):
    assert pattern_of(bind(text).root).predictable
