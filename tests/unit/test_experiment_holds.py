"""The experiment about holds, in small: its truth is the equation, and wrong answers are found."""

import pyarrow as pa
import pytest

from windrow.core.errors import RunError
from windrow.experiments.holds import streams, waiting
from windrow.experiments.holds.truth import told, valid
from windrow.experiments.library.experiment import Options
from windrow.experiments.library.run import Result, run

pytestmark = pytest.mark.long


def table(**columns: list[int]) -> pa.Table:
    return pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()})


def test_a_tuple_is_valid_between_those_that_block_it() -> None:
    links = {
        "link1": table(ts=[5, 6, 40], id=[0, 1, 2], src=[1, 2, 1], dst=[7, 7, 7]),
        "link2": table(ts=[0, 3, 12, 39], src=[1, 2, 1, 1]),
    }
    stretches = valid(links, 10)
    assert [tuple(row.values()) for row in stretches.to_pylist()] == [
        (0, 7, 10, 12, 15),
        (1, 7, 13, 16, 16),
        (2, 7, 49, 50, 50),
    ]
    begins = [(row["id"], row["begins"]) for row in told(stretches, 2).to_pylist()]
    assert begins == [(1, 15)]


@pytest.fixture
def in_small(monkeypatch: pytest.MonkeyPatch) -> None:
    few = streams.Traffic(rate=200.0, sources=2_000, destinations=20, others=20.0)
    monkeypatch.setattr(waiting, "Traffic", lambda: few)


def short(**more: object) -> Result:
    kind = waiting.ThesisHold
    return run(type(kind.__name__, (kind,), {"__doc__": kind.__doc__, **more})(Options(repeats=1)))


@pytest.mark.usefixtures("in_small")
def test_a_longer_hold_has_fewer_negatives() -> None:
    result = short(factors={**waiting.ThesisHold.factors, "hold": (0, 0.5, 1)})
    early = [row.number(waiting.EARLY) for row in result.table.where(query=waiting.ALONE).rows]
    assert early == sorted(early, reverse=True)
    assert early[0] > 2 * early[-1]
    joined = result.table.where(query=waiting.JOINED)
    taken = [row.number(waiting.ABOVE) for row in joined.rows]
    assert taken == sorted(taken, reverse=True)
    assert result.findings[0].outcome == "held"


@pytest.mark.usefixtures("in_small")
def test_an_answer_that_is_not_held_as_long_as_it_says_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = waiting.told

    def later(stretches: pa.Table, hold: int) -> pa.Table:
        return right(stretches, hold + (hold > 0))

    monkeypatch.setattr(waiting, "told", later)
    with pytest.raises(RunError) as caught:
        short(factors={"query": (waiting.ALONE,), "hold": (0, 1)})
    assert "rows should not be there" in caught.value.detail
