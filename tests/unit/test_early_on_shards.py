"""What `auto` aggregates early on shards: by what streams declare, once for a checkpoint."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.reference.shards import ShardSet

from windrow.core.errors import StateError
from windrow.operators import early_watching
from windrow.optimize import calibration
from windrow.optimize.calibration import SHIPPED, VARIABLE
from windrow.runtime.shards.checkpoint import (
    NAME,
    open_checkpoint,
    placed_by,
)
from windrow.runtime.shards.clocks import BatchClock, InputTimes
from windrow.runtime.shards.layout import layout_of
from windrow.runtime.shards.ports import TIME
from windrow.runtime.shards.program import Placements, Program
from windrow.runtime.spark.own import together

pytestmark = pytest.mark.long

MANY, HUGE, FEW = (1_000, 20), (200_000, 20), (1, 100_000)
"""Tuples a tick, and their keys: of many tuples with few keys, most are one entry with others."""

SUMS = "SELECT a.g, SUM(b.x) AS s, COUNT(*) AS n FROM {} WHERE a.k = b.k GROUP BY a.g"
PLAIN, SLIDING = "a [RANGE 9], b [RANGE 9]", "a [RANGE 9 SLIDE 3], b [RANGE 9 SLIDE 3]"
OWN = "SELECT a.k, MIN(b.x) AS s FROM a [RANGE 9], b [RANGE 9] WHERE a.k = b.k GROUP BY a.k"


def declared(*expected: tuple[int, int] | None) -> str:
    """Return streams a and b with what they expect, and c of which nobody knows."""
    return "".join(
        f"CREATE STREAM {name} (t BIGINT, k BIGINT, g BIGINT, x BIGINT)"
        + (
            f" USING parquet OPTIONS (path 'x', expect_rate '{of[0]}', expect_keys '{of[1]}')"
            if of is not None
            else ""
        )
        + " TIMESTAMP BY t;"
        for name, of in zip("abc", (*expected, None), strict=True)
    )


def program(
    text: str, *expected: tuple[int, int] | None, sets: str = "", shards: int = 2
) -> Program:
    declarations = declared(*(expected or (MANY, MANY)))
    return Program(f"{sets}{declarations}CREATE QUERY q AS {text}", ("q",), shards=shards)


def placed(of: Program) -> Placements:
    begun = of.placed().begun
    assert begun is not None
    return begun.placements


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        (SUMS.format(PLAIN), "{a,b}"),
        (SUMS.format(SLIDING), "{a,b}"),
        (OWN, "{a,b}"),
        ("SELECT COUNT(*) AS n FROM a [RANGE 9], b [RANGE 9]", "{a,b}"),
    ],
)
def test_declared_rates_decide_and_it_is_as_if_the_placement_was_named(
    text: str, taken: str
) -> None:
    chosen = program(text)
    assert [early for *_, early in placed(chosen)] == [taken]
    named = program(text, sets=f"SET early_aggregation = '{taken}';")
    assert chosen.joins() == named.joins() == [f"entries of 2, early {taken}"]
    assert chosen.folded() == named.folded()
    assert layout_of(chosen).ports == layout_of(named).ports


@pytest.mark.parametrize("expected", [(None, None), (MANY, None), (None, MANY), (FEW, FEW)])
@pytest.mark.parametrize("text", [SUMS.format(PLAIN), SUMS.format(SLIDING), OWN])
def test_without_a_rate_of_every_stream_or_a_gain_inputs_are_joined_first(
    text: str, expected: tuple[tuple[int, int] | None, ...]
) -> None:
    chosen = program(text, *expected)
    assert {early for *_, early in placed(chosen)} == {"none"}
    assert chosen.joins() == []
    plain = program(text, *expected, sets="SET early_aggregation = 'none';")
    assert chosen.fingerprint == plain.fingerprint


@pytest.mark.parametrize("call", ["MIN(b.x)", "MAX(a.x)", "COUNT(DISTINCT b.x)", "MEDIAN(b.x)"])
@pytest.mark.parametrize("windows", [PLAIN, SLIDING])
def test_groups_that_cannot_be_folded_before_an_exchange_fall_back(call: str, windows: str) -> None:
    chosen = program(SUMS.format(windows).replace("SUM(b.x)", call))
    assert placed(chosen) == ()
    assert (chosen.joins(), chosen.folded()) == ([], [])


@pytest.mark.parametrize(
    "sets",
    [
        "SET partials = 'off';",
        "SET join_algorithm = 'hash';",
        "SET expiry = 'negative';",
        "SET early_aggregation = 'none';",
    ],
)
def test_what_is_set_otherwise_counts(sets: str) -> None:
    assert not any("early" in form for form in program(SUMS.format(PLAIN), sets=sets).joins())
    assert replace(program(SUMS.format(PLAIN)), strategy="direct").joins() == []


def test_tuples_are_merged_before_they_move_where_a_placement_lets_them() -> None:
    chosen = program(SUMS.format(SLIDING), sets="SET partials = 'on';")
    assert chosen.merged() == ["q"]
    assert program(SUMS.format(SLIDING), None, None, sets="SET partials = 'on';").joins() == []


def test_names_are_aggregated_early_without_slide_too() -> None:
    named = program(SUMS.format(PLAIN), None, None, sets="SET early_aggregation = {b};")
    assert named.joins() == ["entries of 2, early {b}"]
    assert named.folded() == ["q"]


# -- a checkpoint keeps what it was begun with ---------------------------------------------------


@pytest.mark.parametrize("first", [(MANY, MANY), (HUGE, HUGE), (FEW, FEW), (None, None)])
@pytest.mark.parametrize("then", [(FEW, FEW), (HUGE, HUGE), (None, MANY)])
def test_a_checkpoint_stays_with_its_plans_whatever_is_declared_by_then(
    tmp_path: Path,
    first: tuple[tuple[int, int] | None, ...],
    then: tuple[tuple[int, int] | None, ...],
) -> None:
    before, after = program(SUMS.format(SLIDING), *first), program(SUMS.format(SLIDING), *then)
    begun = open_checkpoint(str(tmp_path), before)
    again = placed_by(str(tmp_path), after)
    assert placed(again) == placed(before)
    for one in (again, begun.program):
        assert one.joins() == before.joins()
        assert one.folded() == before.folded()
        assert one.merged() == before.merged()
        assert layout_of(one).levels == layout_of(before).levels
    assert open_checkpoint(str(tmp_path), again) == begun


def test_declarations_decide_what_the_plans_of_those_tests_are() -> None:
    """So that there is something to stay with."""
    many, huge, few, none = (
        program(SUMS.format(SLIDING), of, of) for of in (MANY, HUGE, FEW, None)
    )
    assert [placed(p)[0][2] for p in (many, huge, few, none)] == ["{a,b}", "{a,b}", "none", "none"]
    assert [len(p.merged()) for p in (many, huge, few, none)] == [0, 1, 0, 0]
    assert [p.folded() for p in (many, huge, few, none)] == [["q"], ["q"], [], ["q"]]


def test_a_checkpoint_stays_with_its_placements_wherever_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here contributions take so long that nothing would be aggregated early."""
    text = SUMS.format(SLIDING)
    begun = open_checkpoint(str(tmp_path / "state"), program(text))
    monkeypatch.setenv(VARIABLE, str(tmp_path / "machine.json"))
    slow = replace(SHIPPED, early=replace(SHIPPED.early, change=1e9, contribute=1e9))
    calibration.save(slow, tmp_path / "machine.json")
    other = program(text, sets="SET hold = 0;")
    assert other.joins() == []
    again = placed_by(str(tmp_path / "state"), other)
    assert open_checkpoint(str(tmp_path / "state"), again) == begun
    monkeypatch.undo()
    calibration.here.cache_clear()


def test_a_checkpoint_that_does_not_tell_how_it_was_begun_is_refused_in_words(
    tmp_path: Path,
) -> None:
    chosen = program(SUMS.format(SLIDING))
    open_checkpoint(str(tmp_path), chosen)
    said = json.loads((tmp_path / NAME).read_text())
    del said["program"]["begun"]
    (tmp_path / NAME).write_text(json.dumps(said))
    again = placed_by(str(tmp_path), chosen)
    assert placed(again) == ()
    with pytest.raises(StateError, match="made by another version of windrow"):
        open_checkpoint(str(tmp_path), again)


# -- answers ------------------------------------------------------------------------------------


def told(chosen: Program, restart_at: frozenset[int] = frozenset()) -> Counter[str]:
    """Run a program over random rows; return its net changes."""
    run, drawn, net = ShardSet(chosen, seed=3), np.random.default_rng(5), Counter[str]()
    for batch in range(6):
        t = np.sort(drawn.integers(5 * batch, 5 * batch + 5, 60))
        columns = {
            n: drawn.integers(0, many, len(t)) for n, many in (("k", 6), ("g", 6), ("x", 99))
        }
        table = pa.table({"t": t, TIME: t, **columns})
        ports = [p.number for p in run.layout.ports if p.entry is not None and not p.merges]
        for changes in run.batch(dict.fromkeys(ports, table), {}, drain=batch == 5):
            for row in changes.to_pylist():
                sign = row.pop("_sign")
                net[str(row)] += sign
        if batch in restart_at:
            run.restart()
    return Counter({row: n for row, n in net.items() if n})


@pytest.mark.parametrize("sets", ["", "SET partials = 'on';"])
@pytest.mark.parametrize("text", [SUMS.format(PLAIN), SUMS.format(SLIDING), OWN])
def test_answers_are_those_of_joining_first_on_any_number_of_shards(text: str, sets: str) -> None:
    truth = told(program(text, sets="SET early_aggregation = 'none'; SET partials = 'off';"))
    assert len(truth) > 10
    for shards in (1, 2, 3):
        chosen = program(text, sets=sets, shards=shards)
        assert chosen.joins(), "nothing is aggregated early"
        assert told(chosen, frozenset({1, 3})) == truth


def test_merged_rows_of_an_input_of_which_nothing_is_read_count_as_their_tuples() -> None:
    text = "SELECT COUNT(*) AS n FROM a [RANGE 9 SLIDE 3], b [RANGE 9 SLIDE 3]"
    truth = told(program(text, sets="SET early_aggregation = 'none'; SET partials = 'off';"))
    for early in ("{a}", "{b}", "{a,b}", "auto"):
        sets = f"SET partials = 'on'; SET early_aggregation = '{early}';"
        chosen = program(text, sets=sets)
        assert chosen.merged() == ["q"]
        assert told(chosen) == truth


# -- while it runs ------------------------------------------------------------------------------

FEW_KEYS, MANY_KEYS = (10, 3), (100_000, 100_000)
"""Keys and groups: of few, tuples become few entries; of many, each is one of its own."""

ROWS = 400


class Fed:
    """Shards under auto, fed with as many tuples of each stream a batch."""

    def __init__(self, text: str, shards: int = 2, sets: str = "") -> None:
        self.run = ShardSet(program(text, None, None, sets=sets, shards=shards), seed=1)
        self.at, self.net = 0, Counter[str]()

    def push(self, keys: int, groups: int, *, drain: bool = False) -> None:
        drawn = np.random.default_rng(self.at)
        t = np.arange(self.at, self.at + ROWS)
        self.at += ROWS
        given = {
            p.number: pa.table(
                {
                    "t": t,
                    TIME: t,
                    "k": drawn.integers(0, keys, ROWS),
                    "g": drawn.integers(0, groups, ROWS),
                    "x": drawn.integers(0, 9, ROWS),
                }
            )
            for p in self.run.layout.ports
            if p.entry is not None and not p.merges
        }
        for table in self.run.batch(given, {}, drain=drain):
            for row in table.to_pylist():
                sign = row.pop("_sign")
                self.net[str(row)] += sign
        for shard in self.run.shards:
            shard.queries[0].flow.flow.check()

    @property
    def followed(self) -> list[dict[str, str]]:
        return [shard.queries[0].followed for shard in self.run.shards]

    def story(self, restarts: Collection[int] = ()) -> list[list[dict[str, str]]]:
        """Feed few keys, then many, then few; return the placements after each batch."""
        told = []
        for batch in range(18):
            few = batch < 6 or batch > 11
            self.push(*(FEW_KEYS if few else MANY_KEYS), drain=batch == 17)
            told.append([dict(f) for f in self.followed])
            if batch in restarts:
                self.run.restart()
        self.net = Counter({row: n for row, n in self.net.items() if n})
        return told


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look often, as with large windows."""
    for name, value in (("FIRST_LOOK", 256), ("LEAST", 512), ("CONTENTS", 1)):
        monkeypatch.setattr(early_watching, name, value)


WIDE = "a [RANGE 400 SLIDE 40], b [RANGE 400 SLIDE 40]"
RUNNING = (
    SUMS.format(WIDE),
    OWN.replace("RANGE 9", "RANGE 400"),
    f"SELECT SUM(b.x) AS s FROM {WIDE} WHERE a.k = b.k",
)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("text", RUNNING)
def test_each_shard_follows_its_streams_and_nobody_sees_it(text: str) -> None:
    truth = Fed(text, sets="SET early_aggregation = 'none';")
    assert all(not any(f) for f in truth.story())
    for shards in (1, 3):
        fed = Fed(text, shards)
        taken = [f[0].get("a,b") for f in fed.story()]
        assert taken[5] == taken[17] == "{a,b}"
        assert taken[11] == "none"
        assert fed.net == truth.net


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("text", RUNNING)
def test_a_shard_that_is_brought_back_has_the_placements_that_it_would_have(text: str) -> None:
    whole, cut = Fed(text), Fed(text)
    assert whole.story() == cut.story(restarts=range(18))
    assert cut.net == whole.net
    for one, other in zip(whole.run.shards, cut.run.shards, strict=True):
        mine, theirs = one.save()["queries"][0], other.save()["queries"][0]  # type: ignore[index]
        for part in ("plan", "followed", "watches", "since"):
            assert mine[part] == theirs[part]


@pytest.mark.usefixtures("eager")
def test_what_crosses_is_the_same_whatever_a_shard_has_changed_to() -> None:
    """So a batch may be told in part by a shard that has changed, in part by one that has not."""
    free, bound = (
        Fed(RUNNING[0], sets=f"SET early_aggregation = '{a}';") for a in ("auto", "none")
    )
    for batch in range(8):
        for fed in (free, bound):
            fed.push(*FEW_KEYS)
        if batch == 4:
            free.run.restart()
    assert all(free.followed)
    ports = [p.number for p in free.run.layout.ports if p.entry is not None]
    table = pa.table({n: np.arange(4_000, 4_100) % m for n, m in (("k", 10), ("g", 3), ("x", 9))})
    for name in ("t", TIME):
        table = table.append_column(name, pa.array(np.arange(4_000, 4_100)))
    batch_clock = BatchClock({n: InputTimes(4_000, 4_099, 100) for n in "ab"}, 0, drain=False)
    told = []
    for fed in (free, bound):
        for port in ports:
            fed.run._enter(fed.run.layout.ports[port], table)
        stepped = [shard.step(0, batch_clock) for shard in fed.run.shards]
        rows = (r for s in stepped for t in s.forwarded.values() for r in t.to_pylist())
        told.append(Counter(map(str, rows)))
    assert told[0] == told[1]
    assert sum(told[0].values()) > 3


@pytest.mark.usefixtures("eager")
def test_a_shard_follows_beside_groups_whose_tuples_are_merged() -> None:
    text = (
        "SELECT k, COUNT(*) AS n FROM c [RANGE 400 SLIDE 40] GROUP BY k UNION ALL "
        f"SELECT a.k, COUNT(*) AS n FROM {WIDE} WHERE a.k = b.k GROUP BY a.k"
    )
    fed = Fed(text, sets="SET partials = 'on';")
    assert [p.entry.name for p in fed.run.layout.ports if p.merges and p.entry] == ["c"]
    truth = Fed(text, sets="SET early_aggregation = 'none'; SET partials = 'off';")
    taken = [f[0].get("a,b") for f in fed.story(restarts=(3, 8, 9, 15))]
    assert (taken[5], taken[11], taken[17]) == ("{a,b}", "none", "{a,b}")
    truth.story()
    assert fed.net == truth.net


@pytest.mark.usefixtures("eager")
def test_rows_that_cross_as_they_are_stay_so() -> None:
    """Without SLIDE nothing is folded before the exchange, and other shards rely on it."""
    fed = Fed(SUMS.format("a [RANGE 400], b [RANGE 400]"))
    for _ in range(4):
        fed.push(*FEW_KEYS)
    assert not any(fed.followed)


@pytest.mark.usefixtures("eager")
def test_tuples_without_end_are_folded_for_good() -> None:
    """Nobody keeps them one by one, so nobody can say what another placement would cost."""
    text = OWN.replace("MIN", "SUM").replace(
        "a [RANGE 9], b [RANGE 9]", "a [UNBOUNDED], b [RANGE 99]"
    )
    fed, truth = Fed(text), Fed(text, sets="SET early_aggregation = 'none';")
    assert [f[0].get("a,b") for f in fed.story(restarts=(8,))][4:] == ["{a,b}"] * 14
    truth.story()
    assert fed.net == truth.net


@pytest.mark.usefixtures("eager")
def test_stats_of_shards_with_other_operators_stand_by_themselves() -> None:
    fed = Fed(RUNNING[1])
    other = Fed(RUNNING[1], sets="SET early_aggregation = 'none';")
    for each in (fed, other):
        each.push(*FEW_KEYS)
    assert all(fed.followed)
    shards = (fed.run.shards[0], other.run.shards[0], fed.run.shards[1])
    mixed = together([shard.queries[0].operators() for shard in shards])
    (early,) = (op for op in mixed if op["operator"] == "AggregationJoin")
    assert (early["early_aggregation"], early["placements_changed"]) == ("{a,b}", 2)
    assert [op["operator"] for op in mixed].count("Join") == 1
