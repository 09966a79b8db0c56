"""The experiment about holds, in small: its truth is the equation, and wrong answers are found."""

import pyarrow as pa
import pytest

from windrow.core.errors import RunError
from windrow_lab.experiments.holds import streams, waiting
from windrow_lab.experiments.holds.truth import emitted, valid
from windrow_lab.experiments.library.experiment import Options
from windrow_lab.experiments.library.run import Result, run
from windrow_lab.experiments.library.spread import Spread
from windrow_lab.experiments.library.table import Row, Table
from windrow_lab.experiments.library.verdict import verdict

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
        (0, 7, 10, 12),
        (1, 7, 13, 16),
        (2, 7, 49, 50),
    ]
    begins = [(row["id"], row["begins"]) for row in emitted(stretches, 2).to_pylist()]
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
    for query, measures in {
        waiting.ALONE: (waiting.CHANGELOG, waiting.EARLY),
        waiting.JOINED: (waiting.CHANGELOG, waiting.EARLY, waiting.READ, waiting.ABOVE),
    }.items():
        for measure in measures:
            found = [row.number(measure) for row in result.table.where(query=query).rows]
            assert found == sorted(found, reverse=True), measure
            assert found[0] > 2 * found[-1], measure
    assert [finding.outcome for finding in result.findings[:2]] == ["held", "held"]


@pytest.mark.usefixtures("in_small")
def test_counts_of_the_engine_are_those_of_the_stretches() -> None:
    """A negation's changelog has a row for each stretch that is emitted, and one for its end."""
    result = short(factors={**waiting.ThesisHold.factors, "hold": (0, 1)})
    last = (waiting.WINDOW + waiting.STRETCH, waiting.WINDOW + 2 * waiting.STRETCH)
    links = waiting.Traffic().made(last[1], waiting.ThesisHold.seed)
    tuples = len(streams.part(links, *last)["link1"])
    for row in result.table.where(query=waiting.ALONE).rows:
        hold = round(row.number("hold") * streams.SECOND)
        shown = emitted(valid(links, waiting.WINDOW), hold)
        begins, ends = (shown[name].to_numpy() for name in ("begins", "ends"))
        own = links["link1"]["ts"].to_numpy()[shown["id"].to_numpy()] + waiting.WINDOW
        left = (last[0] <= ends) & (ends < last[1])
        expected = {
            waiting.EMITTED: ((last[0] <= begins) & (begins < last[1])).sum(),
            waiting.CHANGELOG: left.sum(),
            waiting.EARLY: (left & (ends < own)).sum(),
        }
        found = {name: row.number(name) * tuples / 1e3 for name in expected}
        assert found == pytest.approx(expected)


def table_of(counts: dict[str, dict[float, float]]) -> Table:
    """A table in which all other counts and clocks are alike."""
    rows = []
    for query in (waiting.ALONE, waiting.JOINED):
        for hold in (0, 0.1, 1):
            names = (waiting.EMITTED, waiting.CHANGELOG, waiting.EARLY, waiting.READ, waiting.ABOVE)
            falling = dict.fromkeys(names, 100 / (1 + 10 * hold))
            everywhere = counts[query][hold]
            clock = Spread.of([2.0 - hold] * 5)
            rows.append(
                Row(
                    {"query": query, "hold": hold},
                    {waiting.CLOCK: clock},
                    falling | {waiting.EVERYWHERE: everywhere},
                )
            )
    return Table(tuple(rows))


def test_a_hold_with_more_negatives_in_all_refutes_that_part_of_the_claim() -> None:
    fewer = {0: 300.0, 0.1: 250.0, 1: 200.0}
    kind = waiting.ThesisHold()
    held = kind.findings(table_of({waiting.ALONE: fewer, waiting.JOINED: fewer}))
    assert verdict(held) == "held"
    more = {waiting.ALONE: fewer | {0.1: 301.0}, waiting.JOINED: fewer}
    refuted = [f.claim for f in kind.findings(table_of(more)) if f.outcome == "not held"]
    assert [claim.partition(":")[0] for claim in refuted] == [
        "To wait reduces the negative tuples of all operators together"
    ]


@pytest.mark.usefixtures("in_small")
def test_an_answer_that_is_not_held_as_long_as_it_says_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    right = waiting.emitted

    def later(stretches: pa.Table, hold: int) -> pa.Table:
        return right(stretches, hold + (hold > 0))

    monkeypatch.setattr(waiting, "emitted", later)
    with pytest.raises(RunError) as caught:
        short(factors={"query": (waiting.ALONE,), "hold": (0, 1)})
    assert "rows should not be there" in caught.value.detail
