"""When a snapshot is due: what a restart replays is bounded, and so is what snapshots write."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.core.errors import LimitError
from windrow.runtime.shards import due
from windrow.runtime.shards.due import LogSize, Written, asked_rows, why_due


@given(
    st.integers(1, 2_000_000),
    st.integers(16, 200),
    st.floats(0, 3),
    st.integers(0, 20_000_000),
    st.integers(20, 200),
)
def test_no_log_grows_over_the_bounds(
    rows: int, width: int, seconds: float, state_rows: int, state_width: int
) -> None:
    """Batches of any size over a state of any size, for as long as it takes to see three."""
    log, last, gaps = LogSize(), None, []
    for _ in range(3 * due.MOST_VERSIONS + due.FIRST_VERSIONS):
        log.versions += 1
        log.add(rows, rows * width, seconds)
        if why_due(log, state_rows, last) is not None:
            gaps.append(log)
            log, last = LogSize(), Written(state_rows * state_width, 0.5)
    assert len(gaps) >= 3
    first, *others = gaps
    assert first.rows < due.FIRST_ROWS + rows or first.versions == 1
    for gap in others:
        assert gap.rows < max(due.MOST_ROWS, state_rows) + rows
        assert gap.seconds < due.MOST_SECONDS + seconds + 1e-6
        assert gap.versions <= due.MOST_VERSIONS


def test_snapshots_write_little_where_only_bytes_count() -> None:
    last = Written(100 << 20)
    assert why_due(LogSize(10, 1_000, 249 << 20, 0.1), 1_000, last) is None
    assert why_due(LogSize(10, 1_000, 250 << 20, 0.1), 1_000, last) == "bytes"


def test_a_slow_disk_is_not_asked_all_the_time() -> None:
    log = LogSize(10, 1_000, 1 << 20, 50.0)
    assert why_due(log, 1_000, Written(1 << 30, 1.0)) == "seconds"
    assert why_due(log, 1_000, Written(1 << 30, 30.0)) is None


def test_the_user_may_ask_for_more() -> None:
    log = LogSize(10, 250_000, 1 << 20, 0.1)
    assert why_due(log, 5_000_000, Written(1 << 30)) is None
    assert why_due(log, 5_000_000, Written(1 << 30), asked_rows(" 250000 ")) == "rows"
    assert asked_rows("") is None
    for wrong in ("many", "-1", "0"):
        with pytest.raises(LimitError, match=f"WINDROW_SNAPSHOT_ROWS={wrong} is no number of rows"):
            asked_rows(wrong)


def test_after_a_failure_the_next_try_waits_for_as_much_again() -> None:
    failed = LogSize(16, 100_000, 1 << 20, 1.0)
    half = failed.halved()
    assert why_due(half, 0, None) is None
    assert why_due(half.plus(half), 0, None) == "first"
