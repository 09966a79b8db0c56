"""The choice of early aggregation goes by the engine's work, and says what it went by."""

from dataclasses import replace

import pytest

from windrow.optimize import choose_early as choosing
from windrow.optimize.choose_early import (
    EarlyChoice,
    EarlyConstants,
    EarlyFacts,
    EarlyInput,
    explained,
    facts_of,
)
from windrow.optimize.early_costs import contributions, cost, joining, shown, two_inputs, work
from windrow.optimize.join_graph import GraphInput, JoinGraph

CONSTANTS = EarlyConstants(
    enter=60, pair=110, pair_combine=15, pair_call=10, change=100, partial=10, look=10,
    contribute=40, combine=25, call_late=10, call_early=10, show=100, show_far=1,
)  # fmt: skip
"""Those that windrow comes with change as it becomes faster."""


def choose_early(facts: EarlyFacts) -> EarlyChoice:
    return choosing.choose_early(facts, CONSTANTS)


PAPER = two_inputs(
    (EarlyInput("a", entries=1_500, groups=150), 300, 5_000),
    (EarlyInput("b", entries=10, calls=1), 300, 5_000),
    share=0.1,
)
"""The paper's default setting: g1 = 150, g2 = 1, σ = 0.1."""

NONE, FIRST, SECOND, BOTH = (False, False), (True, False), (False, True), (True, True)


def test_contributions_are_the_entries_that_a_change_meets() -> None:
    """A tuple of b meets 500 tuples or 150 entries of a; one of a, 500 tuples or 1 entry of b."""
    assert contributions(joining(PAPER, NONE)) == pytest.approx(2 * 300 * (500 + 500))
    assert contributions(joining(PAPER, FIRST)) == pytest.approx(2 * 300 * (500 + 150))
    assert contributions(joining(PAPER, SECOND)) == pytest.approx(2 * 300 * (1 + 500))
    assert contributions(joining(PAPER, BOTH)) == pytest.approx(2 * 300 * (1 + 150))


def test_the_papers_default_is_aggregated_early_on_both_inputs() -> None:
    choice = choose_early(PAPER)
    assert choice.placement == BOTH
    assert choice.early_aggregation == "{a,b}"
    assert choice.costs[NONE] > 3 * choice.costs[BOTH]
    assert set(choice.costs) == {NONE, FIRST, SECOND, BOTH}


def test_an_early_aggregation_that_saves_little_is_not_taken() -> None:
    """With as many entries as rows there is nothing to save."""
    facts = two_inputs(
        (EarlyInput("a", entries=5_000, groups=5_000), 300, 5_000),
        (EarlyInput("b", entries=5_000, groups=5_000, calls=1), 300, 5_000),
        share=0.0001,
    )
    assert choose_early(facts).early_aggregation == "none"


def test_where_nothing_is_expected_to_arrive_no_input_is_aggregated_early() -> None:
    """Inputs of relations alone have no rate: every placement costs nothing."""
    facts = two_inputs(
        (EarlyInput("a", entries=0, groups=0), 0, 0),
        (EarlyInput("b", entries=0, groups=0, calls=1), 0, 0),
        share=0.1,
    )
    choice = choose_early(facts)
    assert (choice.placement, choice.costs[BOTH]) == (NONE, 0)
    assert explained(choice)
    assert facts_of(choice)["early_aggregation"] == "none"


def test_of_two_alike_the_one_with_fewer_aggregation_sets_is_taken() -> None:
    """Early aggregation of a whose rows are all different changes nothing that is counted."""
    a = EarlyInput("a", entries=5_000, groups=50_000)
    facts = two_inputs(
        (a, 300, 5_000), (EarlyInput("b", entries=10, calls=1), 300, 5_000), share=0.1
    )
    assert choose_early(facts).placement == SECOND


def test_what_cannot_be_early_is_not_among_the_placements() -> None:
    a, b = PAPER.inputs
    facts = replace(PAPER, inputs=(a, replace(b, not_early="its window has no end")))
    choice = choose_early(facts)
    assert set(choice.costs) == {NONE, FIRST}
    assert "b: 5,000 rows alive, 10 entries if early; not early: its window has no end" in (
        "\n".join(explained(choice))
    )
    neither = replace(facts, inputs=(replace(a, not_early="so it is"), facts.inputs[1]))
    assert choose_early(neither).reason == "no input can be aggregated early"


def test_all_placements_are_told_and_the_taken_one_is_marked() -> None:
    lines = explained(choose_early(PAPER))
    assert lines[0].startswith("early aggregation: {a,b}; by cost: joining first costs")
    told = [line.strip().split(":")[0] for line in lines[3:]]
    assert told == ["► {a,b}", "{b}", "{a}", "none"]
    assert [p["early_aggregation"] for p in facts_of(choose_early(PAPER))["placements"]] == [  # type: ignore[index, attr-defined]
        "{a,b}", "{b}", "{a}", "none",
    ]  # fmt: skip


def test_an_instant_shows_a_group_once() -> None:
    """600 tuples a second, each change at its own instant, or all of a second together."""
    one_by_one, together = shown(PAPER), shown(replace(PAPER, instants=1.0))
    assert one_by_one == pytest.approx(
        600 * (1 + 150 * (1 - 2.718281828 ** (-500 / 150))), rel=0.01
    )
    assert together == pytest.approx(150, rel=0.01)


def test_three_inputs_have_eight_placements_and_contributions_multiply() -> None:
    graph = JoinGraph(tuple(GraphInput(200, 300, (10.0,)) for _ in range(3)))
    inputs = (
        EarlyInput("a", entries=200, groups=20),
        EarlyInput("b", entries=10),
        EarlyInput("c", entries=10, calls=1),
    )
    facts = EarlyFacts(graph, inputs)
    choice = choose_early(facts)
    assert len(choice.placed) == 8
    assert contributions(joining(facts, (False,) * 3)) == pytest.approx(6 * 200 * 30 * 30)
    assert contributions(joining(facts, (True,) * 3)) == pytest.approx(2 * 200 * (1 + 20 + 20))
    assert choice.placement == (True, True, True)


def test_a_join_along_a_chain_looks_at_entries_of_the_middle() -> None:
    """a - b by one column, b - c by another: entries between are looked at, too."""
    graph = JoinGraph(
        (
            GraphInput(10, 1_000, (100.0, 0.0)),
            GraphInput(10, 1_000, (100.0, 50.0)),
            GraphInput(10, 1_000, (0.0, 50.0)),
        )
    )
    inputs = (EarlyInput("a", 100), EarlyInput("b", 900), EarlyInput("c", 50, calls=1))
    facts = EarlyFacts(graph, inputs)
    dear = cost(facts, (True, True, True), replace(CONSTANTS, look=10 * CONSTANTS.look))
    assert dear > cost(facts, (True, True, True), CONSTANTS)
    assert choose_early(facts).placement[0]


def test_groups_with_keys_of_several_inputs_are_dearer() -> None:
    a, b = PAPER.inputs
    both = replace(PAPER, inputs=(a, replace(b, groups=2)))
    assert work(both, BOTH)["combine"] == work(both, BOTH)["contribute"]
    assert work(PAPER, BOTH)["combine"] == 0
    assert work(both, NONE)["pair_combine"] == work(both, NONE)["pair"]
    assert work(PAPER, NONE)["pair_combine"] == 0


def test_there_are_no_more_groups_than_results() -> None:
    a, b = (EarlyInput(name, 5_000, 5_000, 1) for name in "ab")
    assert two_inputs((a, 300, 5_000), (b, 300, 5_000), 0.001, calls=2).groups == 25_000
    assert PAPER.groups == 150


def test_the_shipped_constants_choose_as_the_paper_has_it() -> None:
    """Few groups on both inputs, on one, on none [AGGJOIN figure 10]."""

    def told(g1: float, g2: float, share: float, w: float) -> str:
        a = EarlyInput("a", min(w, g1 / share), g1, 1)
        b = EarlyInput("b", min(w, g2 / share), g2, 1)
        facts = two_inputs((a, 500, w), (b, 500, w), share, calls=2)
        return choosing.choose_early(facts, choosing.DEFAULTS).early_aggregation

    assert told(150, 1, 0.1, 5_000) == "{a,b}"
    assert told(1_500, 1_500, 0.001, 500) == "none"
