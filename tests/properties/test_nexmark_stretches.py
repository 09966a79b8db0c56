"""Nexmark's events are functions of their number: made apart they are what they are together."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from windrow_lab.generate.nexmark.events import STREAMS, batches, stretch
from windrow_lab.generate.nexmark.scale import STRIDE, Nexmark

groups = st.integers(1, 3 * STRIDE).filter(lambda n: n % STRIDE)
scales = st.builds(
    Nexmark,
    events=st.integers(1, 2_500),
    rate=st.integers(1, 100_000),
    seed=st.sampled_from((7, 0, -1, 2**64)),
    group=groups,
    hot_auctions=st.integers(1, 5),
)


@given(scales, st.integers(1, 5), st.integers(0, 30))
def test_a_split_into_stretches_is_invisible(scale: Nexmark, pieces: int, more: int) -> None:
    whole = stretch(scale, 0, scale.events)
    parts = list(batches(scale, scale.events // pieces + 1 + more))
    for name in STREAMS:
        assert pa.concat_tables([part[name] for part in parts]) == whole[name]


@given(scales)
def test_disorder_is_a_permutation_within_the_slack(scale: Nexmark) -> None:
    events = scale.numbers(0, scale.events)
    assert sorted(events) == list(range(scale.events))
    times = scale.times(events)
    behind = np.maximum.accumulate(times) - times
    assert behind.max() <= scale.slack


@given(scales)
def test_no_auction_runs_longer_than_is_said(scale: Nexmark) -> None:
    made = stretch(scale, 0, scale.events)["auction"]
    opened, closed = (made[c].cast(pa.int64()).to_numpy() for c in ("dateTime", "expires"))
    assert ((closed - opened) > 0).all()
    assert ((closed - opened) <= scale.longest_auction).all()
