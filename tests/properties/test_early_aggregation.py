"""Theorems 1 and 2 of AGGJOIN: whatever is aggregated before a join, the answer is the same.

γ(S₁ ⋈ ... ⋈ Sₘ)  =  γ(A₁ ⋈ ... ⋈ Aₘ),   each Aᵢ the tuples of Sᵢ or its aggregation set
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from tests.generate.catalog import bind
from tests.generate.effort import examples
from tests.generate.grouped import (
    VERSIONED,
    Grouped,
    grouped_joins,
    grouped_versions,
    placements,
)
from tests.generate.streams import worlds
from tests.properties.test_engine_matches_oracle import assert_same, drives
from tests.properties.test_shards_match_oracle import assert_sharded, sharded_drives
from tests.reference.drive import Drive, drive
from tests.reference.histories import World
from tests.reference.oracle import Oracle

from windrow.optimize.choose_early import (
    EarlyChoice,
    EarlyConstants,
    EarlyFacts,
    choose_early,
)

pytestmark = pytest.mark.long


@st.composite
def cases(draw: st.DrawFn) -> tuple[Grouped, World, Drive]:
    """A query, a world, and a way to feed it under some placement."""
    query = draw(grouped_joins())
    world = draw(worlds(max_rows=8))
    plan = draw(drives(world))
    algorithm = draw(st.sampled_from(("auto", "auto", "hash", "loops")))
    early = draw(placements(query.names))
    return query, world, replace(plan, early_aggregation=early, join_algorithm=algorithm)


@given(cases())
@examples(30)
def test_every_placement_is_right_at_every_instant(case: tuple[Grouped, World, Drive]) -> None:
    query, world, plan = case
    note(f"{query.text}\n{plan}")
    assert_same(query.text, world, plan)


@given(st.data())
@examples(10)
def test_a_stream_that_has_met_its_version_is_aggregated_early(data: st.DataObject) -> None:
    """The way round a NON RETROACTIVE RELATION in FROM that the documentation shows."""
    text = (
        f"SELECT q.w AS g0, COUNT(*) AS n, SUM(t.v) AS s, MIN(t.v) AS m FROM {VERSIONED}, "
        "a AS t [RANGE 3] WHERE q.k = t.k GROUP BY q.w"
    )
    world = data.draw(worlds(max_rows=8))
    plan = data.draw(drives(world))
    early = data.draw(st.sampled_from(("{q}", "{t}", "{q,t}")))
    note(f"{text}\n{plan}\n{early}")
    assert_same(text, world, replace(plan, early_aggregation=early, join_algorithm="auto"))


@given(st.data())
@examples(40)
def test_what_meets_versions_is_right_at_every_instant(data: st.DataObject) -> None:
    """Results meet a NON RETROACTIVE RELATION as of their own times, also summed up before."""
    query = data.draw(grouped_versions())
    world = data.draw(worlds(max_rows=8))
    plan = data.draw(drives(world))
    early = data.draw(placements(query.names))
    algorithm = data.draw(st.sampled_from(("auto", "auto", "loops")))
    note(f"{query.text}\n{plan}\n{early}")
    plan = replace(plan, early_aggregation=early, join_algorithm=algorithm)
    assert_same(query.text, world, plan)


@given(st.data())
@examples(20)
def test_what_meets_versions_is_right_on_shards(data: st.DataObject) -> None:
    query = data.draw(grouped_versions())
    world = data.draw(worlds(max_rows=8))
    plan = data.draw(sharded_drives(world, expiries=("auto",)))
    early, merge = data.draw(placements(query.names)), data.draw(st.booleans())
    note(f"{query.text}\n{plan}\n{early} {merge}")
    assert_sharded(query.text, world, replace(plan, early_aggregation=early, merge=merge))


@given(cases())
@examples(15)
def test_every_placement_tells_what_none_tells(case: tuple[Grouped, World, Drive]) -> None:
    """To the last bit: sums of numbers with fractions do not depend on what is added first."""
    query, world, plan = case
    note(f"{query.text}\n{plan}")
    instants = Oracle(bind(query.text), world).instants()
    until = instants[-1] if instants else 0
    late = replace(plan, early_aggregation="none", join_algorithm="auto")
    mine, theirs = (sorted(map(repr, drive(query.text, world, p, until))) for p in (plan, late))
    assert mine == theirs


@given(st.data())
@examples(20)
def test_a_switch_of_placements_is_invisible(data: st.DataObject) -> None:
    query, world, plan = data.draw(cases())
    switch = st.tuples(st.integers(0, 6), placements(query.names))
    plan = replace(plan, refolds=tuple(data.draw(st.lists(switch, min_size=1, max_size=4))))
    note(f"{query.text}\n{plan}")
    assert_same(query.text, world, plan)


@given(st.data())
@examples(15)
def test_placements_that_change_while_it_runs_are_invisible(data: st.DataObject) -> None:
    """However often another seems better, the changelog does not show what is chosen."""
    query, world, plan = data.draw(cases())
    plan = replace(plan, strategy="auto", join_algorithm="auto", early_aggregation="auto")
    turns = iter(data.draw(st.lists(st.integers(0, 15), min_size=40, max_size=40)))
    note(f"{query.text}\n{plan}")

    with restless(turns):
        assert_same(query.text, world, plan)


@contextmanager
def restless(turns: Iterator[int]) -> Iterator[None]:
    """Look after every batch, and find another placement better each time."""

    def chosen(facts: EarlyFacts, constants: EarlyConstants | None) -> EarlyChoice:
        choice = choose_early(facts, constants)
        another = choice.placed[next(turns, 0) % len(choice.placed)]
        return replace(
            choice,
            placement=another.placement,
            placed=tuple(replace(p, cost=0.0 if p is another else 1.0) for p in choice.placed),
        )

    watching = "windrow.operators.early_watching"
    with patch.multiple(
        watching, FIRST_LOOK=1, LEAST=1, CONTENTS=0, PATIENT=1, choose_early=chosen
    ):
        yield


@given(st.data())
@examples(25)
def test_placements_that_shards_change_by_themselves_are_invisible(data: st.DataObject) -> None:
    query = data.draw(grouped_joins())
    world = data.draw(worlds(max_rows=10))
    plan = replace(
        data.draw(sharded_drives(world, expiries=("auto",))),
        strategy="auto",
        cuts=tuple(range(0, 40, data.draw(st.integers(2, 6)))),
        merge=data.draw(st.booleans()),
        expect=data.draw(st.sampled_from((None, None, (100, 2)))),
    )
    turns = iter(data.draw(st.lists(st.integers(0, 15), min_size=40, max_size=40)))
    note(f"{query.text}\n{plan}")
    with restless(turns):
        assert_sharded(query.text, world, plan)
