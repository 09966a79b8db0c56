"""How late changes show under each approach, in virtual time: who is late, when, and why [NEG 8].

All is arithmetic: the same on every machine. A workload is drawn from its seed.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.expiry_stories import APPROACHES

from windrow.core.processor import Costs, Processor
from windrow.core.scheduling import LongestQueue, OldestFirst, RoundRobin
from windrow.operators.queued import Delays
from windrow.operators.vector import I64
from windrow.runtime.local.database import Database

DECLARATIONS = """
    CREATE STREAM a (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts;
    CREATE STREAM b (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts;
    CREATE NON RETROACTIVE RELATION n (k BIGINT);
"""

QUERIES = {
    "table": "SELECT SUM(a.v) FROM a [RANGE {w}], n WHERE a.k = n.k",
    "streams": "SELECT SUM(a.v + b.v) FROM a [RANGE {w}], b [RANGE {w}] WHERE a.k = b.k",
    "filter": "SELECT SUM(v) FROM a [RANGE {w}] WHERE k < 10",
}

KEYS = 10
"""Keys that join; as many rows has the table."""


@dataclass(frozen=True)
class Workload:
    """Tuples with a mean gap, of which a share joins; what reading one takes, and of a message."""

    query: str = "table"
    gap: int = 20
    share: float = 0.3
    held: int = 15  # tuples in a window, on average
    join: float = 1.0
    aggregate: float = 2.0
    message: float = 0.2  # of a tuple's cost, and the same for a row that expires
    scheduler: type = RoundRobin
    slice: int = 5
    tuples: int = 100
    seed: int = 1

    @property
    def window(self) -> int:
        return self.gap * self.held

    def processor(self) -> Processor:
        m = self.message
        return Processor(
            {
                "Join": Costs(self.join, message=m * self.join),
                "Aggregate": Costs(
                    self.aggregate, message=m * self.aggregate, expiry=m * self.aggregate
                ),
            },
            scheduler=self.scheduler(self.slice),
        )


class Noted(Delays):
    """Delays that remembers each."""

    def __init__(self) -> None:
        super().__init__()
        self.each: list[tuple[I64, I64]] = []

    def note(self, ts: I64, shown: I64 | int) -> None:
        self.each.append((ts, np.broadcast_to(np.asarray(shown), ts.shape)))
        super().note(ts, shown)


@dataclass
class Run:
    """What came of a workload under an approach."""

    ts: I64
    late: I64
    load: float
    operators: list[dict[str, object]] = field(repr=False)

    def counted(self, operator: str, counter: str) -> int:
        found = [op for op in self.operators if str(op["operator"]).startswith(operator)]
        return sum(int(op.get(counter, 0)) for op in found)  # type: ignore[call-overload]

    def average(self, until: int) -> float:
        """The mean delay of changes about instants up to one."""
        return float(self.late[self.ts <= until].mean())

    @property
    def negatives(self) -> int:
        """What the aggregate read for expiries: negative tuples and messages."""
        return self.counted("Aggregate", "negatives_in") + self.counted(
            "Aggregate", "messages_read"
        )

    @property
    def positives(self) -> int:
        """The tuples that it read."""
        rows = self.counted("Aggregate", "rows_read")
        return rows - self.counted("Aggregate", "negatives_in")


def ran(work: Workload, approach: str) -> Run:
    """Feed a workload, then let the processor finish what has come."""
    db = Database(work.processor())
    db.execute(DECLARATIONS)
    db.push("n", [{"k": k} for k in range(KEYS)])
    text = QUERIES[work.query].format(w=work.window)
    query = db.query(text, early_aggregation="none", **APPROACHES[approach])
    running = db.running(query.name)
    noted = running.pipeline.delays = Noted()
    draw = random.Random(work.seed)
    ts = 0
    for i in range(work.tuples):
        ts += draw.randint(1, 2 * work.gap - 1)
        key = draw.randrange(KEYS) if draw.random() < work.share else KEYS + draw.randrange(1000)
        stream = draw.choice("ab") if work.query == "streams" else "a"
        db.push(stream, [{"ts": ts, "k": key, "v": 1 << (i % 40)}])
        db.advance(ts)
    busy = running.pipeline.processor.busy
    db.advance(ts + 100_000)
    told, shown = (np.concatenate([pair[i] for pair in noted.each]) for i in (0, 1))
    running.check()
    return Run(told, np.maximum(shown - told, 0), busy / ts, query.stats()["operators"])


def noise(work: Workload) -> float:
    """What one more read before an operator's turn may add: a slice, and an entry of each."""
    return work.slice + work.join + work.aggregate


@cache
def compared(work: Workload, *approaches: str) -> dict[str, float]:
    """Mean delays under some approaches, or all, over the changes that all of them have told.

    Under ITA what expires after the last tuple that joins is told by nothing.
    """
    runs = {approach: ran(work, approach) for approach in approaches or APPROACHES}
    until = int(runs["input_triggered"].ts.max())
    late = {approach: run.average(until) for approach, run in runs.items()}
    return {**late, "load": runs["piggyback"].load}


def assert_piggyback_is_as_good_as_the_better(work: Workload) -> None:
    """Above the better of ITA and NTA by at most a tenth and one turn, if messages are cheap.

    A message has no columns and probes nothing; a fifth of a tuple's cost is cheap.
    """
    late = compared(work, "input_triggered", "negative", "piggyback")
    better = min(late["input_triggered"], late["negative"])
    assert late["piggyback"] <= 1.1 * better + noise(work), f"{work}: {late}"


@pytest.mark.long
def test_dear_messages_cost_near_saturation() -> None:
    """A message read while nothing follows is work that ITA does not have.

    At half of a tuple's cost, and where delay grows faster than load, that may show.
    """
    work = Workload("streams", 6, 1.0, 20, 4.0, 1.0, message=0.5, slice=1, seed=0)
    late = compared(work)
    assert 1.1 * late["input_triggered"] + noise(work) < late["piggyback"]
    assert late["piggyback"] < 1.5 * late["input_triggered"]
    assert late["piggyback"] < late["negative"] / 5


QUANTUM = 1.0
"""Ticks. Changes show at whole ticks, so a mean delay may be rounded up by so much."""

GRID = {
    # Tuples come so fast that whoever reads each of them twice falls behind: ITA is the better.
    "negative": [
        Workload("table", 5, 1.0, aggregate=3.0, scheduler=OldestFirst, slice=1, tuples=60),
        Workload("streams", 5, 1.0, aggregate=4.0, scheduler=LongestQueue, slice=1, tuples=60),
        Workload("filter", 4, 1.0, aggregate=4.0, scheduler=RoundRobin, slice=1, tuples=60),
    ],
    # Few get through, so who hears of time by them hears late: NTA is the better.
    "input_triggered": [
        Workload("table", 60, 0.2, aggregate=3.0, scheduler=OldestFirst, slice=1, tuples=60),
        Workload("streams", 30, 0.3, aggregate=3.0, scheduler=LongestQueue, slice=1, tuples=60),
        Workload("filter", 60, 0.2, aggregate=3.0, scheduler=RoundRobin, slice=1, tuples=60),
    ],
}
"""Workloads by the approach that is the worse one there, by far."""


def traces_the_better(delay: float, late: dict[str, float]) -> bool:
    """A tenth above the better of ITA and NTA at most, and less than half of the worse."""
    better, worse = sorted((late["input_triggered"], late["negative"]))
    return delay <= 1.1 * better + QUANTUM and delay < worse / 2


@pytest.mark.parametrize(
    ("worse", "work"),
    [(worse, work) for worse, works in GRID.items() for work in works],
    ids=lambda value: value if isinstance(value, str) else f"{value.query}-{value.gap}",
)
def test_piggyback_is_as_good_as_the_better_of_both(worse: str, work: Workload) -> None:
    late = compared(work)
    assert traces_the_better(late["piggyback"], late), late
    assert not traces_the_better(late[worse], late), "the workload tells the two apart"


@pytest.mark.parametrize("work", GRID["negative"], ids=lambda work: work.query)
def test_messages_that_nothing_drops_are_late_under_load(work: Workload) -> None:
    """Each end is read, though as a message: what piggybacking saves is to read them at all."""
    late = compared(work)
    assert not traces_the_better(late["messages"], late), late


@pytest.mark.long
@given(
    st.builds(
        Workload,
        query=st.sampled_from(list(QUERIES)),
        gap=st.sampled_from((3, 6, 20, 80)),
        share=st.sampled_from((0.05, 0.3, 1.0)),
        held=st.sampled_from((5, 20)),
        join=st.sampled_from((0.1, 1.0, 4.0)),
        aggregate=st.sampled_from((0.1, 1.0, 4.0)),
        message=st.sampled_from((0.0, 0.1, 0.2)),
        scheduler=st.sampled_from((RoundRobin, LongestQueue, OldestFirst)),
        slice=st.sampled_from((1, 10)),
        seed=st.integers(0, 10**6),
    )
)
@settings(max_examples=40, deadline=None)
def test_piggyback_is_as_good_as_the_better_whatever_the_workload(work: Workload) -> None:
    assert_piggyback_is_as_good_as_the_better(work)


def test_each_approach_is_best_somewhere_and_piggyback_everywhere() -> None:
    """NEG 8: a fast stream through a join that passes all, and a slow one through a selective."""
    fast = compared(Workload("table", gap=5, share=1.0, aggregate=3.0, tuples=60))
    slow = compared(Workload("table", gap=60, share=0.2, aggregate=3.0, tuples=60))
    assert fast["input_triggered"] < fast["negative"]
    assert slow["negative"] < slow["input_triggered"]
    assert fast["piggyback"] < fast["negative"] / 4
    assert slow["piggyback"] < slow["input_triggered"] / 4


@pytest.mark.parametrize("query", ["table", pytest.param("filter", marks=pytest.mark.long)])
def test_what_the_aggregate_reads_for_expiries(query: str) -> None:
    """NTA a negative for every tuple, ITA none, piggyback the fewer the faster tuples come."""
    shares = []
    for gap in (3, 8, 40):
        work = Workload(query, gap, share=1.0, held=10, aggregate=4.0, tuples=50)
        runs = {approach: ran(work, approach) for approach in APPROACHES}
        assert runs["input_triggered"].negatives == 0
        for approach in ("negative", "messages"):
            assert runs[approach].negatives == pytest.approx(runs[approach].positives, rel=0.01)
        shares.append(runs["piggyback"].negatives / runs["piggyback"].positives)
    assert shares == sorted(shares)
    assert shares[0] < 0.1
    assert shares[-1] > 0.8


@pytest.mark.parametrize("approach", ["messages", "piggyback"])
@pytest.mark.parametrize("query", ["table", "streams"])
def test_no_message_for_tuples_that_never_joined(query: str, approach: str) -> None:
    """The aggregate hears of results that end, and of nothing else: at most one message an end."""
    nothing = ran(replace(Workload(query), share=0.0, tuples=60), approach)
    assert nothing.counted("Join", "rows_read") >= 60
    assert (nothing.positives, nothing.negatives) == (0, 0)
    some = ran(replace(Workload(query), share=0.9, tuples=60), approach)
    assert 0 < some.negatives <= some.positives
