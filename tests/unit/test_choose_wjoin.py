"""Which W-join is chosen, and why."""

from windrow.optimize.choose_wjoin import WJoinFacts, choose_wjoin


def facts(
    *rates: float, window: float = 1.0, equi: bool = False, share: float = 0.1, swing: float = 1.0
) -> WJoinFacts:
    n = len(rates)
    return WJoinFacts(rates, ((window,) * n,) * n, equi, share, (1.0,) * (n - 1) + (swing,))


def test_an_equality_is_hashed() -> None:
    choice = choose_wjoin(facts(1000, 1000, 1000, equi=True, share=0.001))
    assert choice.name == "hash_w"
    assert choice.costs["hash_w"] * 100 < choice.costs["nested_w"]
    assert choice.why == (
        "an equality ties all streams; rows looked at for a tuple: "
        "hash_w 4, merge_w 2e+03, nested_w 2e+03"
    )


def test_a_stream_that_is_often_silent_calls_for_merging() -> None:
    choice = choose_wjoin(facts(1000, 1000, 0.1))
    assert choice.name == "merge_w"
    assert "no equality ties all streams, and merged loops begin with the fewest" in choice.why


def test_a_stream_whose_rate_swings_calls_for_merging() -> None:
    assert choose_wjoin(facts(1000, 1000, 1000, swing=100.0)).name == "merge_w"


def test_at_comparable_rates_merged_loops_are_like_nested_ones() -> None:
    """Then they are taken [WJOIN 4.3]."""
    choice = choose_wjoin(facts(1000, 1000, 1000, 1000))
    assert choice.name == "merge_w"
    assert choice.costs["merge_w"] < 1.1 * choice.costs["nested_w"]


def test_loops_over_next_to_nothing_are_plain() -> None:
    assert choose_wjoin(facts(100, 100, 100, window=0.001)).name == "nested_w"
