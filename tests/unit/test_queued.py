"""Queues, tables of ends, delays, schedulers, and a processor in virtual time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.core.errors import BindError
from windrow.core.processor import Costs, Processor
from windrow.core.scheduling import LongestQueue, OldestFirst, Ready, RoundRobin, Scheduler
from windrow.core.schema import Field, Schema
from windrow.core.time import FOREVER
from windrow.core.types import BIGINT
from windrow.operators.delta import Delta
from windrow.operators.queued.announced import Announced
from windrow.operators.queued.approach import approach
from windrow.operators.queued.delays import Delays
from windrow.operators.queued.queue import ANY, Entries, Queue
from windrow.operators.state.saved import from_bytes, to_bytes
from windrow.operators.vector import I64, Vector
from windrow.runtime.local.database import Database

SCHEMA = Schema((Field("k", BIGINT),))


def numbers(values: list[int]) -> I64:
    return np.array(values, np.int64)


# A plain queue: a list of (ts, at, k), where k is None for a message.

Entry = tuple[int, int, int | None]


def entries_of(plain: list[Entry]) -> Entries:
    """Entries as an operator puts them."""
    rows = [e for e in plain if e[2] is not None]
    ts = numbers([e[0] for e in rows])
    column = Vector(BIGINT, numbers([e[2] for e in rows]), None)
    delta = Delta(ts, {"k": column}, ts + 10, None)
    every = (numbers([e[i] for e in plain]) for i in (0, 1))
    return Entries(*every, np.array([e[2] is not None for e in plain], np.bool_), delta)


def plain_of(entries: Entries) -> list[Entry]:
    keys = iter(entries.delta.columns["k"].data.tolist())
    found = zip(entries.ts.tolist(), entries.at.tolist(), entries.is_row.tolist(), strict=True)
    return [(ts, at, next(keys) if is_row else None) for ts, at, is_row in found]


def taken_plainly(
    waiting: list[Entry], clock: int, now: int, most: int, *, purges: bool
) -> tuple[list[Entry], list[Entry], int]:
    """Take from a plain queue: return what is read, what is left, how many messages are dropped.

    What may be read is read in order. A message is dropped if something that is there follows it.
    """
    n = 0
    while n < len(waiting) and waiting[n][0] <= clock and waiting[n][1] <= now:
        n += 1
    more = n < len(waiting) and waiting[n][1] <= now
    there = [
        entry
        for i, entry in enumerate(waiting[:n])
        if not purges or entry[2] is not None or (i + 1 == n and not more)
    ]
    return there[:most], there[most:] + waiting[n:], n - len(there)


@st.composite
def operations(draw: st.DrawFn) -> list[tuple[str, object]]:
    """Puts of later and later entries, and takes up to later and later clocks; the last takes all.

    An operator's clock, and its processor's, do not go back.
    """
    found: list[tuple[str, object]] = []
    ts = at = key = clock = now = 0
    for _ in range(draw(st.integers(1, 10))):
        if draw(st.booleans()):
            part: list[Entry] = []
            for gap, wait, is_row in draw(
                st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.booleans()), max_size=5)
            ):
                ts, key = ts + gap, key + 1
                at = max(at + wait, ts)
                part.append((ts, at, key if is_row else None))
            found.append(("put", part))
        else:
            clock, now = clock + draw(st.integers(0, 4)), now + draw(st.integers(0, 4))
            found.append(("take", (clock, now, draw(st.sampled_from((1, 2, 3, ANY))))))
    return [*found, ("take", (FOREVER, FOREVER, ANY))]


@given(operations(), st.booleans(), st.booleans(), st.booleans())
@settings(max_examples=200, deadline=None)
def test_a_queue_is_a_list_whose_messages_go_when_more_follows(
    todo: list[tuple[str, object]], purges: bool, restarts: bool, thins: bool
) -> None:
    """Whether messages that nobody will read are forgotten before makes no difference."""
    queue = Queue(SCHEMA, signed=False, purges=purges)
    waiting: list[Entry] = []
    read, now = Counter[str](), 0
    for verb, what in todo:
        if verb == "put":
            queue.put(entries_of(what))  # type: ignore[arg-type]
            waiting = [*waiting, *what]  # type: ignore[misc]
        else:
            taken = plain_of(queue.take(*what))  # type: ignore[misc]
            expected, waiting, purged = taken_plainly(waiting, *what, purges=purges)  # type: ignore[misc]
            assert taken == expected
            if taken:
                assert queue.reached >= taken[-1][0]
            assert queue.reached <= min([e[0] for e in waiting], default=FOREVER)
            read.update(purged=purged, rows=sum(e[2] is not None for e in taken))
            read["messages"] += sum(e[2] is None for e in taken)
            now = what[1]  # type: ignore[index]
        if thins:
            queue._many = 1
            before = (queue.head, queue.since, queue.newest(now), queue.last(now, 1))
            queue.thin(now)
            assert (queue.head, queue.since, queue.newest(now), queue.last(now, 1)) == before
        queue.check()
        keys = [k for part in queue._parts for k in part.delta.columns["k"].data.tolist()]
        assert keys == [k for _, _, k in waiting if k is not None]
        last_is_message = bool(waiting) and waiting[-1][2] is None
        assert len(queue) == (len(keys) + last_is_message if purges else len(waiting))
        if restarts:
            saved = from_bytes(to_bytes(queue.save()))
            queue = Queue(SCHEMA, signed=False, purges=purges, counts=queue.counts)
            queue.load(saved)
    counts = queue.counts
    found = (counts.rows, counts.messages, counts.purged)
    assert found == (read["rows"], read["messages"], read["purged"])
    assert len(queue) == 0


def test_of_many_messages_behind_all_rows_the_first_and_the_last_are_kept() -> None:
    queue = Queue(SCHEMA, signed=False, purges=True)
    for t in range(1, 1_000):
        queue.put(entries_of([(t, t, None)]))
        queue.thin(t)
        assert queue._waiting <= 64 + 1
    for entry in [
        (1_000, 1_000, 7),
        (1_001, 1_001, None),
        (1_002, 1_002, None),
        (1_003, 1_003, None),
    ]:
        queue.put(entries_of([entry]))
    queue._many = 1
    queue.thin(1_002)  # the last is still to come: that of 1,002 may be read before
    left = [t for part in queue._parts for t, _, _ in plain_of(part)]
    assert left[0] == 1
    assert left[-5:] == [999, 1_000, 1_001, 1_002, 1_003]
    queue.check()
    before = queue.counts.purged
    assert before == 1_002 - len(left) + 1
    assert plain_of(queue.take(FOREVER, 1_002)) == [(1_000, 1_000, 7), (1_002, 1_002, None)]
    assert queue.counts.purged == before + len(left) - 3


def test_where_messages_are_read_each_all_of_them_are_kept() -> None:
    queue = Queue(SCHEMA, signed=False, purges=False)
    queue.put(entries_of([(t, t, None) for t in range(200)]))
    queue.thin(200)
    assert len(queue.take(FOREVER, 200)) == 200


def test_what_waits_first_and_last() -> None:
    queue = Queue(SCHEMA, signed=False, purges=False)
    assert (queue.head, queue.since, queue.last(99)) == (FOREVER, FOREVER, (None, FOREVER))
    queue.put(entries_of([(3, 4, 1), (5, 6, None)]))
    queue.put(entries_of([(5, 8, 2)]))
    assert (queue.head, queue.since) == (3, 4)
    assert queue.last(3) == (None, 3)
    assert queue.last(4) == (3, 5)
    assert queue.last(7) == (5, 5)
    assert queue.last(8) == (5, FOREVER)
    assert queue.last(8, most=1) == (3, 5)


def test_what_other_queues_of_an_operator_bring_follows_as_well() -> None:
    for newest, left in ((5, [None]), (6, [])):
        queue = Queue(SCHEMA, signed=False, purges=True)
        queue.put(entries_of([(3, 3, 1), (5, 5, None)]))
        assert [k for _, _, k in plain_of(queue.take(9, 9, newest=newest))] == [1, *left]
        assert queue.reached == 5, "the operator hears of it all the same"


def test_messages_come_before_the_rows_of_their_instant() -> None:
    rows = entries_of([(3, 3, 1), (5, 5, 2), (5, 5, 3)]).delta
    merged = Entries.of(rows, rows.ts, numbers([1, 5]), numbers([1, 5]))
    keys = [k for _, _, k in plain_of(merged)]
    assert keys == [None, 1, None, 2, 3]


def test_a_queue_out_of_order_does_not_pass_its_check() -> None:
    queue = Queue(SCHEMA, signed=False, purges=False)
    queue.put(entries_of([(5, 5, 1), (3, 5, 2)]))
    with pytest.raises(AssertionError, match="invariant 1"):
        queue.check()


@given(
    st.lists(
        st.one_of(
            st.lists(st.one_of(st.integers(1, 30), st.just(FOREVER)), max_size=6),
            st.integers(0, 30),
        ),
        max_size=12,
    ),
    st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_ends_are_announced_once_however_many_leave(
    steps: list[list[int] | int], restarts: bool
) -> None:
    table, plain, clock = Announced(), set[int](), 0
    for step in steps:
        if isinstance(step, list):
            table.add(numbers([end for end in step if end > clock]))
            plain.update(end for end in step if clock < end < FOREVER)
        else:
            clock = max(clock, step)
            due = sorted(end for end in plain if end <= clock)
            assert table.due(clock).tolist() == due
            plain -= set(due)
        table.check()
        if restarts:
            saved = from_bytes(to_bytes(table.save()))
            table = Announced()
            table.load(saved)
            table.check()
    assert table.ends.tolist() == sorted(plain)
    assert table.due(FOREVER - 1).tolist() == sorted(plain)


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=200), st.integers(1, 7))
@settings(max_examples=60, deadline=None)
def test_delays_are_exact_on_average_and_at_most_and_percentiles_to_an_eighth(
    late: list[int], parts: int
) -> None:
    delays = Delays()
    for i in range(parts):
        part = numbers(late[i::parts])
        delays.note(np.full(len(part), 10**10) - part, 10**10)
    again = Delays()
    again.load(from_bytes(to_bytes(delays.save())))
    for mine in (delays, again):
        assert mine.count == len(late)
        assert mine.most == max(late)
        assert mine.average == pytest.approx(sum(late) / len(late), rel=1e-12)
        for share in (0.1, 0.5, 0.9, 0.99, 1.0):
            exact = sorted(late)[max(0, math.ceil(share * len(late)) - 1)]
            found = mine.percentile(share)
            assert exact <= found <= exact * 2 ** (1 / 8) + 1e-9 or found == exact == 0


def test_nothing_told_has_no_delay() -> None:
    assert Delays().figures() == dict.fromkeys(("average", "p50", "p90", "p99", "max"), 0.0) | {
        "changes": 0
    }


class TestSchedulers:
    """Events in, decisions out."""

    WAITING = (Ready(2, 5, 40), Ready(5, 9, 30), Ready(7, 9, 30))

    def test_round_robin_goes_up_and_starts_again(self) -> None:
        robin = RoundRobin()
        assert [robin.choose(self.WAITING) for _ in range(5)] == [2, 5, 7, 2, 5]
        assert robin.choose(self.WAITING[:1]) == 2

    def test_the_longest_queue_and_of_equal_ones_the_one_nearest_the_root(self) -> None:
        assert LongestQueue().choose(self.WAITING) == 7

    def test_the_oldest_entry_and_of_equal_ones_the_one_nearest_the_root(self) -> None:
        assert OldestFirst().choose(self.WAITING) == 7
        assert OldestFirst().choose(self.WAITING[:2]) == 5


def test_work_takes_no_negative_time() -> None:
    for wrong in ({"entry": -1.0}, {"entry": 1.0, "message": -1.0}, {"entry": 0.0, "expiry": -0.5}):
        with pytest.raises(BindError, match="work takes some time"):
            Costs(**wrong)
    assert Costs(3.0).of_message == 3.0
    assert Costs(3.0, message=0.0).of_message == 0.0


@pytest.mark.parametrize(
    ("name", "messages", "expected"),
    [
        ("input_triggered", False, (False, False, False)),
        ("negative", False, (True, True, False)),
        ("negative", True, (False, True, False)),
        ("piggyback", False, (False, True, True)),
        ("auto", False, (False, True, True)),
    ],
)
def test_an_approach_says_what_travels(
    name: str, messages: bool, expected: tuple[bool, bool, bool]
) -> None:
    found = approach(name, messages=messages)
    assert (found.signed, found.announces, found.purges) == expected


def test_no_other_approach_is_known() -> None:
    with pytest.raises(AssertionError, match="no approach is called eager"):
        approach("eager", messages=False)


class TestProcessor:
    """Work in virtual time: when each change shows, to the tick."""

    @staticmethod
    def shown(
        text: str,
        times: list[int],
        processor: Processor,
        until: int,
        key: Callable[[int], int] = lambda _: 1,
        **how: object,
    ) -> tuple[dict[int, list[int]], Database]:
        """Return when changes showed: their instants, by the tick after which they were told."""
        db = Database(processor)
        db.execute("CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts")
        query = db.query(text, name="q", **how)
        found: dict[int, list[int]] = {}
        for now in range(until + 1):
            for ts in times:
                if ts == now:
                    db.push("s", [{"ts": ts, "k": key(ts)}])
            db.advance(now)
            told = query.changes().column("_ts").to_pylist()
            if told:
                found[now] = told
        db.running("q").check()
        return found, db

    TALLY = "SELECT k FROM s [RANGE 100]"

    def test_three_tuples_at_three_ticks_each_show_at_three_six_and_nine(self) -> None:
        processor = Processor({"Expire": Costs(3.0)})
        shown, db = self.shown(self.TALLY, [0, 1, 2], processor, 12, expiry="piggyback")
        assert shown == {3: [0], 6: [1], 9: [2]}
        delay = db.query("q").stats()["delay"]
        assert (delay["average"], delay["max"]) == ((3 + 5 + 7) / 3, 7)
        assert db.running("q").pipeline.processor.busy == 9.0

    def test_without_costs_nothing_is_late(self) -> None:
        shown, db = self.shown(self.TALLY, [0, 1, 2], Processor(), 4, expiry="piggyback")
        assert shown == {0: [0], 1: [1], 2: [2]}
        assert db.running("q").pipeline.processor.busy == 0.0

    def test_an_idle_processor_starts_with_the_next_tuple(self) -> None:
        processor = Processor({"Expire": Costs(3.0)})
        shown, _ = self.shown(self.TALLY, [0, 10, 11], processor, 20, expiry="piggyback")
        assert shown == {3: [0], 13: [10], 16: [11]}

    def test_a_fraction_of_a_tick_shows_with_the_next_tick(self) -> None:
        processor = Processor({"Expire": Costs(0.4)}, scheduler=RoundRobin(slice=1))
        shown, _ = self.shown(self.TALLY, [0, 1, 2], processor, 5, expiry="piggyback")
        assert shown == {1: [0], 2: [1], 3: [2]}

    def test_two_operators_share_the_processor(self) -> None:
        """The aggregate reads for 2, and the projection for 1 the old count and for 1 the new."""
        processor = Processor({"Aggregate": Costs(2.0), "Project": Costs(1.0)})
        text = "SELECT COUNT(*) FROM s [RANGE 100]"
        shown, db = self.shown(text, [0], processor, 9, expiry="piggyback")
        assert shown == {0: [0], 3: [0], 4: [0]}
        assert db.running("q").pipeline.processor.busy == 4.0

    def test_a_slice_cuts(self) -> None:
        """In a slice of 4 an operator of 2 ticks an entry reads two, then it is others' turn."""
        text = "SELECT k, COUNT(*) FROM s [RANGE 100] GROUP BY k"
        costs = {"Aggregate": Costs(2.0), "Project": Costs(1.0)}

        def run(size: int) -> dict[int, list[int]]:
            processor = Processor(costs, scheduler=RoundRobin(slice=size))
            return self.shown(
                text, [0, 1, 2, 3], processor, 20, key=lambda ts: ts, expiry="piggyback"
            )[0]

        # [0] 0-2, told 2-3; then one by one, or all that came meanwhile
        assert run(2) == {3: [0], 6: [1], 9: [2], 12: [3]}
        assert run(4) == {3: [0], 8: [1], 9: [2], 12: [3]}
        assert run(20) == {3: [0], 10: [1], 11: [2], 12: [3]}

    def test_a_slice_is_of_all_that_takes_time(self) -> None:
        """A row of 1 tick makes a result of 3: in a slice of 8 an operator reads two, not eight."""
        text = "SELECT k, COUNT(*) FROM s [RANGE 100] GROUP BY k"
        costs = {"Aggregate": Costs(1.0, result=3.0), "Project": Costs(1.0)}

        def run(size: int) -> dict[int, list[int]]:
            processor = Processor(costs, scheduler=RoundRobin(slice=size))
            return self.shown(
                text, [0, 1, 2, 3], processor, 25, key=lambda ts: ts, expiry="piggyback"
            )[0]

        assert run(8) == {5: [0], 14: [1], 15: [2], 20: [3]}
        assert run(9) == {5: [0], 18: [1], 19: [2], 20: [3]}  # a third fits, and is finished

    @pytest.mark.parametrize(("size", "told"), [(4, 33), (7, 34)])
    def test_a_slice_counts_what_leaves(self, size: int, told: int) -> None:
        """At 23 two wait, and with the first two leave: it takes 5, alone in a slice of 4."""
        costs = {"Aggregate": Costs(1.0, expiry=2.0), "Project": Costs(5.0)}
        processor = Processor(costs, scheduler=RoundRobin(slice=size))
        text = "SELECT k, COUNT(*) FROM s [RANGE 18] GROUP BY k"
        shown, _ = self.shown(
            text, [0, 1, 17, 20, 21], processor, 50, key=lambda ts: ts, expiry="input_triggered"
        )
        assert shown == {6: [0], 12: [1], 23: [17], told: [18], 39: [19], 44: [20], 49: [21]}

    def test_an_operator_that_is_asked_for_its_clock_takes_time(self) -> None:
        """The join asks the count, which lets a tuple go for 7 ticks and has read nothing."""
        costs = {"Aggregate": Costs(0.0, expiry=7.0), "Join": Costs(1.0)}
        db = Database(Processor(costs))
        for name in "ab":
            db.execute(f"CREATE STREAM {name} (t BIGINT, k BIGINT) TIMESTAMP BY t")
        counts = "(SELECT k, COUNT(*) AS n FROM a [RANGE 5] GROUP BY k) AS c"
        text = f"SELECT c.n FROM {counts}, b [RANGE 99] WHERE c.k = b.k"
        q = db.query(text, expiry="input_triggered")
        db.push("a", [{"t": 0, "k": 1}])
        for t in (1, 20):
            db.advance(t, "a")
            db.push("b", [{"t": t, "k": 1}])
        db.advance(50)
        assert q.stats()["processor"]["busy"] == 4 * 1 + 7

    def test_results_cost(self) -> None:
        processor = Processor({"Expire": Costs(1.0, result=5.0)})
        shown, db = self.shown(self.TALLY, [0, 20], processor, 40, expiry="piggyback")
        assert shown == {6: [0], 26: [20]}
        assert db.running("q").pipeline.processor.busy == 12.0

    def test_expiries_cost(self) -> None:
        """The tuple of 20 brings the news of 0 and 1, under ITA and piggybacked: 3 + 2 x 4."""
        processor = Processor({"Expire": Costs(3.0, expiry=4.0)})
        text = "SELECT k FROM s [RANGE 5]"
        shown, db = self.shown(text, [0, 1, 20], processor, 40, expiry="input_triggered")
        assert shown == {3: [0], 6: [1], 31: [5, 6, 20]}
        assert db.running("q").pipeline.processor.busy == 17.0

    def test_messages_cost_what_they_are_said_to(self) -> None:
        processor = Processor({"Expire": Costs(3.0, message=1.0, expiry=4.0)})
        text = "SELECT k FROM s [RANGE 5]"
        shown, db = self.shown(text, [0], processor, 20, expiry="piggyback")
        assert shown == {3: [0], 10: [5]}
        assert db.running("q").pipeline.processor.busy == 8.0

    def test_under_load_negatives_double_the_work(self) -> None:
        """Every 4 ticks a tuple of 3: with its negative that is 6, and the queue only grows."""
        late = {}
        for expiry in ("input_triggered", "negative", "piggyback"):
            processor = Processor({"Aggregate": Costs(3.0)})
            text = "SELECT COUNT(*) FROM s [RANGE 20]"
            _, db = self.shown(text, list(range(0, 200, 4)), processor, 600, expiry=expiry)
            late[expiry] = db.query("q").stats()["delay"]["max"]
        assert (late["input_triggered"], late["piggyback"]) == (3, 3)
        # From 20 on each tuple comes with the negative of another: the last at 20 + 4 * 44.
        assert late["negative"] == 44 * (6 - 4) + 6

    def test_messages_that_wait_long_take_no_memory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A count is busy with its first tuple while 400 others end; then it reads on."""

        def run(many: int) -> tuple[int, object, dict[str, object]]:
            monkeypatch.setattr("windrow.operators.queued.queue.MANY", many)
            db = Database(Processor({"Aggregate": Costs(5_000.0, message=1.0)}))
            db.execute("CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts")
            query = db.query("SELECT COUNT(*) AS n FROM s [RANGE 1000]", expiry="piggyback")
            db.push("s", [{"ts": 0, "k": 0}, {"ts": 1, "k": 1}])
            held = 0
            for ts in range(2, 402):
                db.push("s", [{"ts": ts, "k": ts}])
            for now in range(1_000, 1_402):
                db.advance(now)
                queues = db.running(query.name).pipeline.queues.values()  # type: ignore[union-attr]
                held = max(held, *(queue._waiting - queue._rows for queue in queues))
            db.advance(3_000_000)
            db.drain()
            stats = query.stats()
            told = {k: stats[k] for k in ("delay", "processor")}
            told["read"] = [
                {k: v for k, v in op.items() if k.startswith(("rows_", "messages_"))}
                for op in stats["operators"]
            ]
            return held, query.changes().to_pylist(), told

        held, changes, told = run(10)
        most, all_changes, all_told = run(1 << 60)
        assert held < 25
        assert most > 300
        assert changes == all_changes
        assert told == all_told

    @pytest.mark.parametrize("scheduler", [RoundRobin, LongestQueue, OldestFirst])
    def test_a_scheduler_changes_when_and_not_how_much(self, scheduler: type[Scheduler]) -> None:
        text = "SELECT k, COUNT(*) FROM s [RANGE 7] GROUP BY k"
        costs = Processor(other=Costs(0.7, result=0.2), scheduler=scheduler(2))
        _, db = self.shown(
            text, [0, 1, 2, 3, 9, 10], costs, 60, key=lambda ts: ts % 2, expiry="negative"
        )
        plain = self.shown(
            text, [0, 1, 2, 3, 9, 10], Processor(), 60, key=lambda ts: ts % 2, expiry="negative"
        )[1]
        assert db.query("q").answer().equals(plain.query("q").answer())
        mine, none = (d.query("q").stats()["delay"] for d in (db, plain))
        assert mine["changes"] == none["changes"]
        assert mine["average"] > none["average"] == 0
