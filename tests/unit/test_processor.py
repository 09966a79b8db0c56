"""A processor as somebody gives it: what it takes, when it begins, what it tells."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from types import MappingProxyType

import pytest

import windrow as wr
from windrow.core.errors import BindError, RunError
from windrow.core.processor import OPERATORS
from windrow.core.scheduling import Ready
from windrow.runtime.local.database import Database
from windrow.runtime.local.handle import QueryHandle


@dataclass(frozen=True)
class First:
    """A scheduler of somebody's own, that cannot be changed."""

    slice: int = 1

    def choose(self, ready: Sequence[Ready]) -> int:
        return ready[0].stage


def counting(processor: wr.Processor, start: int, tuples: int = 10) -> tuple[Database, QueryHandle]:
    db = wr.connect(processor=processor)
    db.execute("CREATE STREAM s (t BIGINT, k BIGINT) TIMESTAMP BY t")
    q = db.query("SELECT COUNT(*) AS n FROM s [RANGE 1000]")
    for t in range(start, start + tuples * 10, 10):
        db.push("s", [{"t": t, "k": 1}])
    return db, q


@pytest.mark.parametrize("start", [-1000, -1, 0, 7, 10**15])
def test_time_begins_with_the_first_event(start: int) -> None:
    _, q = counting(wr.Processor({"Aggregate": wr.Costs(2.0)}), start)
    told = [(row["_ts"] - start, row["_sign"], row["n"]) for row in q.changes().to_pylist()]
    assert told[-1] == (80, 1, 9)  # the tenth is still being read
    assert q.stats()["processor"] == {"now": start + 92, "busy": 20.0}


@pytest.mark.parametrize("cost", [-1.0, float("nan"), float("inf"), "much"])
def test_what_is_no_time_is_refused(cost: float) -> None:
    with pytest.raises(BindError, match="work takes some time"):
        wr.Costs(cost)


def test_a_number_for_costs_is_refused() -> None:
    with pytest.raises(BindError, match=r"3.0 does not say what work takes") as refused:
        wr.Processor({"Join": 3.0})  # type: ignore[dict-item]
    assert "Costs(3.0)" in refused.value.hint
    with pytest.raises(BindError, match="does not say"):
        wr.Processor(other=2.0)  # type: ignore[arg-type]


def test_what_cannot_schedule_is_refused() -> None:
    with pytest.raises(BindError, match="a slice cannot be None"):
        wr.Processor(scheduler=3)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Guarded(First):
    """A scheduler with something that cannot be copied."""

    lock: object = field(default_factory=Lock)


def test_a_scheduler_that_cannot_be_copied_is_refused() -> None:
    with pytest.raises(BindError, match="the scheduler Guarded cannot be copied") as refused:
        counting(wr.Processor(scheduler=Guarded()), 0)
    assert "works on a copy of the processor" in refused.value.detail
    assert "TypeError: cannot pickle" in refused.value.detail
    assert "__deepcopy__" in refused.value.hint
    assert isinstance(refused.value.__cause__, TypeError)


class Shared(Guarded):
    """One that says how it is copied."""

    def __deepcopy__(self, memo: object) -> Shared:
        return self


def test_a_scheduler_may_say_how_it_is_copied() -> None:
    _, q = counting(wr.Processor({"Aggregate": wr.Costs(2.0)}, scheduler=Shared()), 0)
    assert q.answer().to_pylist() == [{"n": 9}]


def test_costs_may_be_any_mapping() -> None:
    costs = MappingProxyType({"Aggregate": wr.Costs(2.0)})
    _, q = counting(wr.Processor(costs), 0)
    assert q.answer().to_pylist() == [{"n": 9}]


@dataclass
class Elsewhere:
    """A scheduler that chooses what is not ready."""

    slice: int = 1

    def choose(self, ready: Sequence[Ready]) -> int:
        return 99


def test_a_scheduler_that_chooses_what_is_not_ready_is_told() -> None:
    with pytest.raises(RunError, match="has chosen 99") as refused:
        counting(wr.Processor(scheduler=Elsewhere()), 0)
    assert "Ready were" in refused.value.detail


def test_what_came_before_a_version_is_worked_off_first() -> None:
    """Three tuples take 10 each; a change at the last one's instant waits, and reaches none."""
    db = wr.connect(processor=wr.Processor({"Join": wr.Costs(10.0)}))
    db.execute(
        "CREATE STREAM a (t BIGINT, k BIGINT) TIMESTAMP BY t;"
        "CREATE NON RETROACTIVE RELATION n (k BIGINT, w BIGINT)"
    )
    db.push("n", [{"k": 1, "w": 0}])
    q = db.query("SELECT a.t, n.w FROM a [RANGE 1000], n WHERE a.k = n.k")
    for t in (1, 2, 3):
        db.push("a", [{"t": t, "k": 1}])
    db.push("n", [{"k": 1, "w": 5}])
    assert q.stats()["processor"]["busy"] == pytest.approx(30.0, abs=11)
    assert 31 <= q.stats()["processor"]["now"] <= 51
    db.push("a", [{"t": 60, "k": 1}])
    db.advance(100)
    told = [(row["t"], row["w"], row["_ts"]) for row in q.changes().to_pylist()]
    assert sorted(told) == [(1, 0, 1), (2, 0, 2), (3, 0, 3), (60, 0, 60), (60, 5, 60)]
    assert q.stats()["processor"]["now"] == 100.0
    db.drain()
    assert q.stats()["processor"]["now"] == 100.0
    assert q.stats()["delay"]["max"] < 60


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Agregate", "Did you mean Aggregate"),
        ("join", "Did you mean Join"),
        ("Join hash", "Write Join: costs go by the first word of a name."),
        ("Zebra", "q.explain()"),
        ("", "q.explain()"),
    ],
)
def test_costs_of_an_operator_that_there_is_not_are_refused(name: str, hint: str) -> None:
    with pytest.raises(BindError, match="no operator is called") as refused:
        wr.Processor({"Aggregate": wr.Costs(1.0), name: wr.Costs(1.0)})
    assert hint in refused.value.hint
    assert "Aggregate, AggregationJoin, AntiJoin" in refused.value.detail


LOWERING = Path(wr.__file__).parent / "optimize" / "physical"
BY_PLAN = {"AntiJoin", "SemiJoin", "Istream", "Dstream"}
"""Names that are computed from plan nodes."""
WITHOUT_TASK = {"Stream", "Relation", "Exchange"}
"""Inputs, and edges from other shards: nothing is computed there."""
BAGS = {f"{kind}{copies}" for kind in ("except", "intersect") for copies in ("", "_all")}


def labels(tree: ast.AST) -> Iterator[str]:
    """Yield what stands behind ``label=`` or ``label :=``, as far as it is written there."""
    for node in ast.walk(tree):
        value = getattr(node, "value", None)
        if (isinstance(node, ast.keyword) and node.arg == "label") or (
            isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "label"
        ):
            yield from (
                str(part.value).split()[0]
                for part in ast.walk(value)
                if isinstance(part, ast.Constant) and str(part.value).strip()
            )


def test_the_known_operators_are_those_that_plans_are_made_of() -> None:
    written = {
        name for path in LOWERING.glob("*.py") for name in labels(ast.parse(path.read_text()))
    }
    made = {name for name in written - WITHOUT_TASK if not name.startswith("__")}
    assert made | BY_PLAN | BAGS == set(OPERATORS)


@pytest.mark.parametrize("scheduler", [wr.RoundRobin, wr.LongestQueue, wr.OldestFirst, First])
@pytest.mark.parametrize("slice_", [0, -1, float("nan"), float("inf")])
def test_a_slice_of_no_length_is_refused(scheduler: type[wr.RoundRobin], slice_: int) -> None:
    with pytest.raises(BindError, match=f"a slice cannot be {slice_}"):
        wr.Processor(scheduler=scheduler(slice_))


def test_a_scheduler_of_ones_own_may_be_frozen() -> None:
    db, q = counting(wr.Processor(other=wr.Costs(2.0), scheduler=First()), 0)
    assert q.answer(at=500).to_pylist() == [{"n": 10}]
    q.restore(q.snapshot())
    db.drain()
    assert q.answer().to_pylist() == [{"n": 10}]


def test_a_backlog_before_a_join_is_worked_through_in_linear_time() -> None:
    def looked(tuples: int) -> int:
        db = wr.connect(processor=wr.Processor({"Join": wr.Costs(100.0)}))
        for name in "ab":
            db.execute(f"CREATE STREAM {name} (t BIGINT, k BIGINT) TIMESTAMP BY t")
        q = db.query("SELECT a.k FROM a [RANGE 9], b [RANGE 9] WHERE a.k = b.k")
        counted = 0
        for queue in db.running(q.name).pipeline.queues.values():  # type: ignore[union-attr]
            original = type(queue).last

        def last(self: object, *args: int) -> object:
            nonlocal counted
            counted += 1 + len(self._parts) * (len(args) < 2)  # type: ignore[attr-defined]
            return original(self, *args)  # type: ignore[arg-type]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(queue), "last", last)
            for t in range(tuples):
                db.push("a", [{"t": t, "k": t}])
                db.push("b", [{"t": t, "k": t}])
            db.drain()
        return counted

    assert looked(80) < 3 * looked(40)
