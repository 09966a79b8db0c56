"""The paper's formulas give the values that are reckoned by hand, and its figures' winners."""

import pytest

from windrow.optimize.aggregation_costs import (
    AggregationStream,
    Streams,
    Tuning,
    answer_size,
    cost,
    group_buckets,
    name_of,
    placements,
)
from windrow.optimize.early_grouping import Placement

ONE = Tuning()
DEFAULT = (AggregationStream(300, 5000, 150, 0.1), AggregationStream(300, 5000, 1, 0.1))
"""λ 300, w 5000, g1 150, g2 1, σ 0.1 [AGGJOIN figures 6 and 7]."""


def cheapest(streams: Streams, tuning: Tuning, *, hashed: bool) -> Placement:
    """Return the placement of the least cost."""
    return min(placements(len(streams)), key=lambda p: cost(streams, p, tuning, hashed=hashed))


def test_derived_parameters_are_those_of_equations_13_to_22() -> None:
    """α = 150 · 1, α1 = 150 / 0.1, α2 = 1 / 0.1, m = 0.1 · 5000, n = g, B = 1 / 0.1, Bg = g1."""
    one, two = DEFAULT
    assert answer_size(DEFAULT) == 150
    assert (one.set_size, two.set_size) == (1500, 10)
    assert (one.matches, two.matches) == (500, 500)
    assert (one.set_matches, two.set_matches) == (150, 1)
    assert (one.buckets(1021), one.buckets(5)) == (10, 5)
    assert (group_buckets(DEFAULT, 1021), group_buckets(DEFAULT, 100)) == (150, 100)


def test_windows_bound_aggregation_sets_and_groups() -> None:
    """min(w, g/σ) = 500, min(wσ, g) = 5, min(w, g) = 500."""
    many = AggregationStream(100, 500, 1500, 0.01)
    assert (many.set_size, many.set_matches) == (500, 5)
    assert answer_size((many, AggregationStream(500, 500, 1, 0.01))) == 500


@pytest.mark.parametrize(
    ("name", "hashed", "by_hand"),
    [
        ("LAP", True, 300 * 2 * (500 + 1 + 500) * 2),
        ("EAP10", True, 300 * 2 * (500 + 1 + 150 + 500) + 300 * 2 * (150 + 1 + 150)),
        ("EAP01", True, 300 * 2 * (1 + 1 + 1) + 300 * 2 * (500 + 1 + 1 + 500)),
        ("EAP11", True, 300 * 2 * (1 + 1 + 150 + 1) + 300 * 2 * (150 + 1 + 1 + 150)),
        ("LAP", False, 300 * 2 * (5000 + 1 + 500) * 2),
        ("EAP10", False, 300 * 2 * (5000 + 1 + 150 + 500) + 300 * 2 * (1500 + 1 + 150)),
        ("EAP01", False, 300 * 2 * (10 + 1 + 1) + 300 * 2 * (5000 + 1 + 500 + 1)),
        ("EAP11", False, 300 * 2 * (10 + 1 + 150 + 1) + 300 * 2 * (1500 + 1 + 1 + 150)),
    ],
)
def test_costs_are_those_of_equations_5_to_12(name: str, hashed: bool, by_hand: float) -> None:
    (placement,) = [p for p in placements(2) if name_of(p) == name]
    assert cost(DEFAULT, placement, ONE, hashed=hashed) == pytest.approx(by_hand)


def test_each_constant_has_its_share() -> None:
    """P, U and U_g of the hash LAP: 2λ(w/B P + U + m α/Bg Ug) for either stream."""
    assert cost(DEFAULT, (False, False), Tuning(3, 5, 7), hashed=True) == pytest.approx(
        1200 * (500 * 3 + 5 + 500 * 7)
    )


SHOWCASES = {
    "LAP": (1500, 1500, 0.01, 500),
    "EAP10": (1, 1500, 0.01, 500),
    "EAP01": (1500, 1, 0.01, 500),
    "EAP11": (150, 150, 0.1, 2000),
}
"""g1, g2, σ, w of figure 10; of its (a) and (b) only the words tell: both g high, or g1 low."""


@pytest.mark.parametrize("rate", [100, 300, 500])
@pytest.mark.parametrize("winner", SHOWCASES)
@pytest.mark.parametrize("group", [0.1, 1.0, 3.0])
def test_the_model_has_the_winners_of_figure_10(winner: str, rate: int, group: float) -> None:
    g1, g2, share, w = SHOWCASES[winner]
    streams = (AggregationStream(rate, w, g1, share), AggregationStream(500, w, g2, share))
    assert name_of(cheapest(streams, Tuning(group=group), hashed=False)) == winner


def test_a_third_stream_multiplies_what_is_found() -> None:
    """λ 200, w 300, g 20, 1, 1, σ 0.1 [figure 8]: each tuple matches 30 · 30 in windows.

    Late: 30 of the next, and 30 in the last for each: 30 + 900 probes. Early: n of the other two.
    """
    streams = tuple(AggregationStream(200, 300, g, 0.1) for g in (20, 1, 1))
    late = 3 * 2 * 200 * (1 + 30 + 900 + 900)
    assert cost(streams, (False,) * 3, ONE, hashed=True) == pytest.approx(late)
    first = 1 + (1 + 1) + 1 + 20
    others = 1 + (20 + 20) + 20 + 1
    early = 2 * 200 * (first + 2 * others)
    assert cost(streams, (True,) * 3, ONE, hashed=True) == pytest.approx(early)
    assert cheapest(streams, ONE, hashed=True) == (True, True, True)
