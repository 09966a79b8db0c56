"""SET expiry in the engine: snapshots amid queues, answers, hand-overs, errors, EXPLAIN."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from tests.reference.drive import read, switch
from tests.unit.expiry_stories import APPROACHES, DECLARATIONS, Story, parsed

import windrow as wr
from windrow.core.errors import BindError, InputError, StateError
from windrow.core.processor import Costs, Processor
from windrow.core.scheduling import LongestQueue, OldestFirst, Ready, RoundRobin
from windrow.operators.state.saved import to_bytes
from windrow.operators.task import Counters
from windrow.runtime.local import handover
from windrow.runtime.local.database import Database
from windrow.runtime.local.handle import QueryHandle

QUERIES = {
    "count": "SELECT COUNT(*) FROM s [RANGE 5], n WHERE s.k = n.k",
    "group": "SELECT k, SUM(v) FROM s [RANGE 5] GROUP BY k",
    "join": "SELECT s.v, r.v FROM s [RANGE 5], r [RANGE 7] WHERE s.k = r.k",
    "distinct": "SELECT DISTINCT k FROM s [RANGE 5]",
    "minus": "SELECT k FROM s [RANGE 5] EXCEPT ALL SELECT k FROM r [RANGE 5]",
    "not exists": "SELECT v FROM s [RANGE 5] WHERE NOT EXISTS "
    "(SELECT 1 FROM r [RANGE 5] WHERE r.k = s.k)",
}

FEED = (
    "1 s 5,1 | 2 r 5,2 | 2 s 4,3 | 3 s 5,4 | 4 r 4,5 | 4 s 6,6 | 5 s 5,7 | 6 r 6,8 | 7 s 4,9 | 9 | "
    "10 s 5,10 | 11 r 5,11 | 12 s 5,12 | 20 | 21 s 4,13 | 22"
)

by_approach = pytest.mark.parametrize("approach", APPROACHES)
by_query = pytest.mark.parametrize(
    "text",
    [
        pytest.param(text, id=name, marks=[] if name == "count" else [pytest.mark.long])
        for name, text in QUERIES.items()
    ],
)


def slow(scheduler: type = RoundRobin) -> Processor:
    """A processor that is always behind."""
    return Processor(other=Costs(0.9, result=0.3, expiry=0.2), scheduler=scheduler(2))


def opened(
    text: str, approach: str | None, processor: Processor | None
) -> tuple[Database, QueryHandle]:
    """Open a database with one query."""
    db = Database(processor)
    db.execute(DECLARATIONS)
    db.push("n", [{"k": 4}, {"k": 5}])
    return db, db.query(text, name="q", **({} if approach is None else APPROACHES[approach]))


def rows(query: QueryHandle, **when: int) -> Counter[tuple]:
    return Counter(tuple(row.values()) for row in query.answer(**when).to_pylist())


def driven(
    text: str,
    approach: str | None,
    processor: Processor | None,
    between: Callable[[Database, QueryHandle, int], None] = lambda *_: None,
) -> list[tuple[int, list[tuple[int, int, tuple]]]]:
    """Return what each event of the feed told; `between` events something may be done."""
    db, query = opened(text, approach, processor)
    told = []
    for i, (ts, name, row) in enumerate(parsed(FEED)):
        if name is not None:
            db.push(name, [row])
        db.advance(ts)
        told.append((ts, read(query.changes())))
        db.running("q").check()
        between(db, query, i)
    db.drain()
    return [*told, (-1, read(query.changes()))]


def net(told: list[tuple[int, list[tuple[int, int, tuple]]]]) -> Counter[tuple[int, tuple]]:
    found: Counter[tuple[int, tuple]] = Counter()
    for _, changes in told:
        for ts, sign, row in changes:
            found[ts, row] += sign
    return Counter({change: n for change, n in found.items() if n})


@pytest.mark.parametrize("scheduler", [RoundRobin, LongestQueue, OldestFirst])
@by_approach
@by_query
def test_a_snapshot_amid_full_queues_goes_on_to_the_tick(
    text: str, approach: str, scheduler: type
) -> None:
    waiting = []

    def restart(db: Database, query: QueryHandle, i: int) -> None:
        if i % 3 == 1:
            waiting.append(sum(op.get("waiting", 0) for op in query.stats()["operators"]))
            before = query.stats()["delay"]
            query.restore(query.snapshot())
            assert query.stats()["delay"] == before

    whole = driven(text, approach, slow(scheduler))
    assert driven(text, approach, slow(scheduler), restart) == whole
    assert max(waiting) > 0, "a snapshot amid empty queues shows nothing"


@pytest.mark.parametrize("processor", [None, slow()], ids=["at once", "slow"])
@pytest.mark.parametrize("approach", [None, *APPROACHES])
@by_query
def test_draining_tells_everything(
    text: str, approach: str | None, processor: Processor | None
) -> None:
    assert net(driven(text, approach, processor)) == net(driven(text, None, None))


@pytest.mark.parametrize("processor", [None, slow()], ids=["at once", "slow"])
@by_approach
@by_query
def test_the_answer_is_what_was_told_and_the_answer_at_an_instant_the_true_one(
    text: str, approach: str, processor: Processor | None
) -> None:
    mine, right = opened(text, approach, processor), opened(text, None, None)
    told: Counter[tuple] = Counter()
    for ts, name, row in parsed(FEED):
        for db, _ in (mine, right):
            if name is not None:
                db.push(name, [row])
            db.advance(ts)
        for _, sign, changed in read(mine[1].changes()):
            told[changed] += sign
        assert not -told, "nothing is taken back that was not told"
        assert rows(mine[1]) == +told
        for at in (ts, ts + 4):
            assert rows(mine[1], at=at) == rows(right[1], at=at)


@by_approach
@by_query
def test_before_any_tuple_the_answer_is_that_of_empty_streams(text: str, approach: str) -> None:
    for processor in (None, slow()):
        _, query = opened(text, approach, processor)
        assert rows(query) == rows(opened(text, None, None)[1])


@by_approach
@by_query
def test_a_hand_over_amid_full_queues_tells_the_same_in_the_end(text: str, approach: str) -> None:
    def reoptimize(_: Database, query: QueryHandle, i: int) -> None:
        if i % 4 == 2:
            busy = query._db.running("q").pipeline.processor.busy
            delay = query.stats()["delay"]["changes"]
            query.reoptimize()
            assert query._db.running("q").pipeline.processor.busy == busy
            assert query.stats()["delay"]["changes"] >= delay

    assert net(driven(text, approach, slow(), reoptimize)) == net(driven(text, None, None))


@pytest.mark.parametrize("approach", ["negative", "messages", "piggyback"])
@by_query
def test_after_a_hand_over_expiries_show_when_they_did_before(text: str, approach: str) -> None:
    """What operators have taken over is announced, to the tick."""
    strategies = ["negative"] if approach == "negative" else ["direct", "upa", "auto"]

    def reoptimize(_: Database, query: QueryHandle, i: int) -> None:
        if i % 4 == 3:
            query.reoptimize(strategies[i // 4 % len(strategies)])

    at_once = [(ts, net([(ts, told)])) for ts, told in driven(text, approach, None)]
    mine = [(ts, net([(ts, told)])) for ts, told in driven(text, approach, None, reoptimize)]
    assert mine == at_once


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) AS n FROM s [RANGE 5] WHERE k = 1",
        "SELECT COUNT(*) AS n FROM (SELECT k FROM s [RANGE 5]) AS x WHERE x.k = 1",
        "SELECT COUNT(*) AS n FROM s [RANGE 5], f WHERE s.k = f.k",
        "SELECT COUNT(*) AS n FROM s [RANGE 5], f WHERE s.k = f.k AND s.k < 5",
    ],
    ids=["filter", "filter above the window", "join", "filter below a join"],
)
@pytest.mark.parametrize("moves", ["tuples", "heartbeats"])
def test_punctuation_tells_of_time_where_no_tuple_gets_through(text: str, moves: str) -> None:
    """No later than it says; without it an answer stays, and `behind` tells for how long."""
    shown: dict[int | None, list[int]] = {}
    behind: dict[int | None, list[float]] = {}
    for wait in (2, None):
        db = Database()
        db.execute("CREATE STREAM s (t BIGINT, k BIGINT) TIMESTAMP BY t")
        db.execute("CREATE NON RETROACTIVE RELATION f (k BIGINT)")
        db.push("f", [{"k": 1}])
        settings = {} if wait is None else {"punctuation": wait}
        query = db.query(text, expiry="input_triggered", **settings)
        shown[wait], behind[wait] = [], []
        for t in range(20):
            if t < 2 or moves == "tuples":
                db.push("s", [{"t": t, "k": 1 if t < 2 else 9}])
            else:
                db.advance(t)
            shown[wait].append(query.answer().to_pylist()[0]["n"])
            behind[wait].append(query.stats()["delay"]["behind"])
    truth = [1, 2, 2, 2, 2, 1, *[0] * 14]
    assert all(n in truth[max(0, t - 1) : t + 1] for t, n in enumerate(shown[2]))
    assert max(behind[2]) < 2
    assert shown[None] == [1, *[2] * 19]
    assert behind[None] == [0, *range(19)]


@by_approach
@by_query
def test_what_a_hand_over_costs_ends_with_what_was_alive(text: str, approach: str) -> None:
    """After it as many messages travel as in a query that has always had the plan."""
    counts: dict[bool, list[list[int]]] = {False: [], True: []}

    def travelled(*, switches: bool) -> Callable[[Database, QueryHandle, int], None]:
        def count(db: Database, query: QueryHandle, i: int) -> None:
            if switches and i == 4:
                running = db.running("q")
                switch(db, "q", running.strategy, running.statistics)  # it keeps its form
            operators = query.stats()["operators"]
            names = ("messages_read", "messages_purged")
            counts[switches].append([op.get(name, 0) for op in operators for name in names])

        return count

    for switches in (False, True):
        driven(text, approach, None, travelled(switches=switches))
    since = next(i for i, (ts, _, _) in enumerate(parsed(FEED)) if ts >= 4 + 7)
    later = {
        switches: [[n - m for n, m in zip(now, told[since], strict=True)] for now in told[since:]]
        for switches, told in counts.items()
    }
    assert later[True] == later[False]


@pytest.mark.parametrize("processor", [None, slow()], ids=["at once", "slow"])
@by_approach
def test_what_waits_for_a_slower_input_waits_through_a_hand_over(
    approach: str, processor: Processor | None
) -> None:
    """Insertions lag behind tuples by an instant, and a union of both waits for them."""
    text = (
        "WSTREAM(SELECT k FROM s [RANGE 5 INTERNAL] UNION ALL SELECT v FROM s [RANGE 5])[RANGE 5]"
    )

    def reoptimize(_: Database, query: QueryHandle, i: int) -> None:
        if i % 2 == 0:
            query.reoptimize()

    assert net(driven(text, approach, processor, reoptimize)) == net(driven(text, None, None))


OWN = ("rows_read", "messages_read", "messages_purged", "messages_carried", "longest_queue")


@pytest.mark.parametrize("how", ["reoptimize", "restore"])
@pytest.mark.parametrize("processor", [None, slow()], ids=["at once", "slow"])
@pytest.mark.parametrize("approach", [None, *APPROACHES])
def test_counts_of_the_query_go_on_and_those_of_operators_begin_anew(
    approach: str | None, processor: Processor | None, how: str
) -> None:
    def renewed(db: Database, query: QueryHandle, i: int) -> None:
        before = query.stats()
        assert before["counted_since"] == (1 if i == 0 else db.running("q").clock - passed[i])
        if how == "restore":
            query.restore(query.snapshot())
            assert query.stats()["delay"] == before["delay"]
        else:
            query.reoptimize()
            assert query.stats()["delay"]["changes"] >= before["delay"]["changes"]
        after = query.stats()
        assert after["seconds"] == before["seconds"] > 0
        assert after.get("processor") == before.get("processor")
        assert after["counted_since"] == after["clock"] == before["clock"]
        waiting = sum(op.get("waiting", 0) for op in after["operators"])
        for name in (*OWN, *Counters.__slots__):
            counted = sum(op.get(name, 0) for op in after["operators"])
            assert counted == 0, f"{name} with {waiting} entries that wait"

    times = [ts for ts, _, _ in parsed(FEED)]
    passed = [b - a for a, b in zip([1, *times], times, strict=False)]
    driven(QUERIES["count"], approach, processor, renewed)


def test_rates_are_measured_since_a_restore() -> None:
    """The time before it is not counted, as the tuples of then are not."""
    db, query = opened(QUERIES["count"], None, None)
    assert "measured" not in query.reoptimize()
    for half in (range(1, 101), range(101, 201)):
        db.push("s", [{"ts": ts, "k": 5, "v": 1} for ts in half])
        query.restore(query.snapshot())
    db.push("s", [{"ts": ts, "k": 5, "v": 1} for ts in range(201, 301)])
    assert "measured: s 1 a tick" in query.reoptimize()


def test_rates_are_measured_after_a_switch_before_any_tuple() -> None:
    db, query = opened(QUERIES["count"], None, None)
    query.reoptimize()
    db.push("s", [{"ts": ts, "k": 5, "v": 1} for ts in range(101)])
    assert "measured: s 1.01 a tick" in query.reoptimize()


class Remembering(RoundRobin):
    """A scheduler that remembers something by itself."""

    served = 0

    def choose(self, ready: Sequence[Ready]) -> int:
        self.served += 1
        return super().choose(ready)


@pytest.mark.parametrize("processor", [None, slow(), slow(Remembering)])
@by_approach
@by_query
def test_a_refused_hand_over_has_touched_nothing(
    text: str, approach: str, processor: Processor | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StateError("the state does not hold what the plan needs")

    refusals = []

    def reoptimize(db: Database, query: QueryHandle, _: int) -> None:
        running = db.running("q")
        reports: list[object] = []
        report = query.report(every=1, to=lambda *told: reports.append(told))
        before = to_bytes(running.snapshot()), query.stats()
        with pytest.raises(StateError):
            query.reoptimize()
        assert db.running("q") is running
        assert (to_bytes(running.snapshot()), query.stats()) == before
        assert not reports, "nothing is told"
        assert not report.held_back(), "nor about to be"
        report.stop()
        refusals.append(before)

    whole = driven(text, approach, processor)
    monkeypatch.setattr(handover, "transfer", refuse)
    assert driven(text, approach, processor, reoptimize) == whole
    assert len(refusals) > 9


@pytest.mark.parametrize("processor", [None, slow()], ids=["at once", "slow"])
def test_a_plan_that_cannot_be_exchanged_goes_on_as_if_nobody_had_asked(
    processor: Processor | None,
) -> None:
    text = (
        "SELECT x.k FROM (ISTREAM(SELECT k, v FROM s [RANGE 5])) AS x [RANGE 5], r [RANGE 5] "
        "WHERE x.k = r.k"
    )
    refusals = []

    def reoptimize(_: Database, query: QueryHandle, __: int) -> None:
        try:
            query.reoptimize("direct")
        except StateError as refused:
            refusals.append(refused)

    whole = driven(text, "piggyback", processor)
    assert driven(text, "piggyback", processor, reoptimize) == whole
    assert len(refusals) > 9


@pytest.mark.parametrize("approach", [None, *APPROACHES])
def test_rows_there_before_any_tuple_meet_an_input_that_lags(approach: str | None) -> None:
    """They wait for the derived stream from the first instant on, and are not lost."""
    text = (
        "SELECT z.k FROM (ISTREAM(SELECT k FROM s [RANGE 5])) [RANGE 5 SLIDE 2] AS z "
        "WHERE z.k IN (SELECT t.k FROM t)"
    )
    for processor in (None, slow()):
        db = Database(processor)
        db.execute(DECLARATIONS)
        db.push("t", [{"k": 5}])
        query = db.query(text, **({} if approach is None else APPROACHES[approach]))
        db.push("s", [{"ts": 1, "k": 5, "v": 1}])
        db.advance(20)
        db.drain()
        assert read(query.changes()) == [(2, 1, (5,)), (6, -1, (5,))]


def test_after_the_end_the_answer_stays() -> None:
    for approach in APPROACHES:
        db, query = opened(QUERIES["count"], approach, slow())
        db.push("s", [{"ts": 1, "k": 5, "v": 1}])
        db.drain()
        assert rows(query) == rows(query, at=1) == Counter({(1,): 1})


class TestErrors:
    """What is refused, and how."""

    @pytest.mark.parametrize(
        ("how", "message"),
        [
            ({"expiry": "piggyback", "strategy": "negative"}, "expiry piggyback cannot go with"),
            (
                {"expiry": "input_triggered", "strategy": "negative"},
                "expiry input_triggered cannot",
            ),
            ({"expiry": "negative", "strategy": "upa"}, "expiry negative cannot go with strategy"),
            ({"expiry": "negative", "strategy": "direct"}, "expiry negative cannot go with"),
            (
                {"expiry": "negative", "join_messages": "on", "strategy": "negative"},
                "expiry negative cannot go with strategy negative",
            ),
            ({"expiry": "eager"}, "expiry cannot be eager"),
            ({"expiry": 3}, "expiry cannot be 3"),
            ({"join_messages": "maybe"}, "join_messages cannot be maybe"),
            ({"punctuation": "soon"}, "punctuation cannot be soon"),
            (
                {"expiry": "input_triggered", "punctuation": "2 seconds"},
                "an integer clock has no seconds",
            ),
            ({"expires": "negative"}, 'unknown setting "expires"'),
            (
                {"expiry": "piggyback", "join_messages": "off"},
                "expiry piggyback cannot go with join_messages off",
            ),
            ({"join_messages": "on"}, "join_messages = on has no effect on this query"),
            ({"join_messages": "off"}, "join_messages = off has no effect on this query"),
            (
                {"expiry": "input_triggered", "join_messages": "on"},
                "join_messages = on has no effect on this query",
            ),
            ({"punctuation": "3"}, "punctuation = 3 has no effect on this query"),
            (
                {"expiry": "negative", "punctuation": "3"},
                "punctuation = 3 has no effect on this query",
            ),
            ({"hold": "3"}, "hold = 3 has no effect on this query"),
            ({"expiry_pace": 3}, "expiry_pace = 3 has no effect on this query"),
            ({"partials": "on"}, "partials = on has no effect on this query"),
        ],
    )
    def test_settings_that_cannot_be(self, how: dict[str, str], message: str) -> None:
        db = Database()
        db.execute(DECLARATIONS)
        with pytest.raises(BindError, match=message) as refused:
            db.query("SELECT k FROM s [RANGE 5]", **how)
        assert refused.value.hint
        assert db.query("SELECT k FROM s [RANGE 5]").name == "query_1", "nothing is left of it"

    def test_what_goes_with_what(self) -> None:
        db = Database()
        db.execute(DECLARATIONS)
        for how in (
            {"expiry": "negative", "strategy": "negative"},
            {"expiry": "negative", "join_messages": "on", "strategy": "upa"},
            {"expiry": "piggyback", "strategy": "direct"},
            {"expiry": "auto", "strategy": "negative"},
            {"expiry": "piggyback", "join_messages": "on"},
            {"expiry": "auto", "join_messages": "auto", "punctuation": "none", "hold": 0},
            {"expiry": "auto", "expiry_pace": "off", "partials": "auto"},
        ):
            assert db.query("SELECT k FROM s [RANGE 5]", **how).stats()["expiry"] == how["expiry"]

    def test_a_switch_to_a_strategy_that_does_not_fit_leaves_all_as_it_is(self) -> None:
        story = Story(QUERIES["group"], "piggyback")
        story.feed("1 s 5 | 2 s 5")
        with pytest.raises(BindError, match="cannot go with strategy negative"):
            story.query.reoptimize("negative")
        assert story.feed("6 | 7") == "6 -5,2 +5,1 | 7 -5,1"

    def test_a_processor_is_a_processor(self) -> None:
        with pytest.raises(BindError, match="a processor is not a int"):
            wr.connect(processor=3)  # type: ignore[call-overload]
        with pytest.raises(BindError, match='"spark" has no processor'):
            wr.connect("spark", processor=Processor())  # type: ignore[call-overload]

    def test_punctuation_needs_a_clock_or_a_unit(self) -> None:
        db = Database()
        db.execute("CREATE RELATION t (k BIGINT); SET expiry = 'input_triggered'")
        with pytest.raises(BindError, match="reads no stream"):
            db.query("SELECT k FROM t", punctuation=3)
        assert db.query("SELECT k FROM t", punctuation="3 seconds").answer().num_rows == 0

    def test_a_snapshot_from_a_processor_needs_one(self) -> None:
        timed = opened(QUERIES["count"], "piggyback", slow())[1]
        plain = opened(QUERIES["count"], "piggyback", None)[1]
        auto = opened(QUERIES["count"], None, None)[1]
        with pytest.raises(StateError, match="was made on a processor"):
            plain.restore(timed.snapshot())
        with pytest.raises(StateError, match="was made without a processor"):
            timed.restore(plain.snapshot())
        plain.restore(auto.snapshot())
        assert plain.stats()["expiry"] == "auto", "a snapshot knows its own expiry"

    def test_the_past_is_not_kept(self) -> None:
        db, query = opened(QUERIES["count"], "input_triggered", None)
        db.push("s", [{"ts": 9, "k": 5, "v": 1}])
        with pytest.raises(InputError, match="has passed"):
            query.answer(at=8)


def test_set_is_for_the_queries_that_follow() -> None:
    db = Database()
    db.execute(DECLARATIONS + "SET expiry = 'PIGGYBACK'; SET join_messages = 'on';")
    first = db.query("SELECT k FROM s [RANGE 5]")
    (settings,) = db.session.execute("SHOW SETTINGS")
    assert {"name": "expiry", "value": "piggyback"} in settings.to_pylist()
    assert {"name": "join_messages", "value": "on"} in settings.to_pylist()
    db.execute("SET expiry = 'auto'")
    second = db.query("SELECT k FROM s [RANGE 5]")
    assert [q.stats()["expiry"] for q in (first, second)] == ["piggyback", "auto"]
    third = db.query("SELECT k FROM s [RANGE 5]", expiry="negative", join_messages="off")
    assert third.stats()["expiry"] == "negative"


class TestExplain:
    """EXPLAIN tells how expiries travel, and what was read for them."""

    @staticmethod
    def lines(approach: str | None, processor: Processor | None = None) -> list[str]:
        db, query = opened(QUERIES["count"], approach, processor)
        for ts, key in ((1, 5), (2, 3), (4, 4)):
            db.push("s", [{"ts": ts, "k": key, "v": 1}])
        db.advance(6)
        db.advance(7)
        return query.explain().split("\n\n")[-1].splitlines()

    @pytest.mark.parametrize(
        ("approach", "said", "aggregate"),
        [
            (
                "input_triggered",
                "expiry input_triggered: expiries show with the next tuple that reaches the "
                "operator that stores them",
                "Aggregate (signed, groups, ring, 3 rows kept, 2 rows read)",
            ),
            (
                "negative",
                "expiry negative: a negative tuple follows every tuple",
                "Aggregate (signed, groups, 1 rows kept, 3 rows read)",
            ),
            (
                "messages",
                "expiry negative: one message stands for all results that end together",
                "Aggregate (signed, groups, ring, 2 rows kept, 2 rows and 1 messages read)",
            ),
            (
                "piggyback",
                "expiry piggyback: tuples bring the news of expiries, messages where no tuple "
                "follows",
                "Aggregate (signed, groups, ring, 2 rows kept, 2 rows and 1 messages read)",
            ),
        ],
    )
    def test_each_approach_in_a_sentence(self, approach: str, said: str, aggregate: str) -> None:
        lines = self.lines(approach)
        assert lines[1] == said
        assert next(line for line in lines if "Aggregate" in line).endswith(aggregate)

    def test_auto_says_nothing_unless_work_takes_time(self) -> None:
        assert not any("expiry" in line or "read" in line for line in self.lines(None))
        assert self.lines(None, slow())[1].startswith("expiry auto on a processor: tuples bring")

    def test_punctuation_is_told(self) -> None:
        db = Database()
        db.execute(DECLARATIONS)
        query = db.query("SELECT k FROM s [RANGE 5]", expiry="input_triggered", punctuation=2)
        assert "expiries show with the next tuple or punctuation" in query.explain()
