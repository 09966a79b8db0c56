"""Constants are fitted to what samples took, kept for the machine, and told by the doctor."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest

from windrow.cli.checks import check_calibration
from windrow.core.errors import StateError
from windrow.optimize import calibration
from windrow.optimize.aggregation_costs import placements
from windrow.optimize.calibration import SHIPPED, VARIABLE, Sample, errors, fitted, fitted_early
from windrow.optimize.choose_early import EarlyInput, choose_early
from windrow.optimize.early_costs import DEFAULTS, cost, two_inputs, work


def test_a_machine_that_is_twice_as_slow_is_found_to_be_so() -> None:
    """Samples made by known constants give these back, and the model is right about each."""
    slow = replace(DEFAULTS, **{name: 2 * value for name, value in asdict(DEFAULTS).items()})
    samples = []
    for groups, share in ((1, 0.1), (50, 0.01), (2_000, 0.05), (5_000, 0.0005)):
        facts = two_inputs(
            (EarlyInput("a", min(2_000, groups / share), groups, 1), 300, 2_000),
            (EarlyInput("b", min(2_000, 1 / share), 1, 1), 500, 2_000),
            share,
            calls=2,
        )
        samples += [Sample(work(facts, p), cost(facts, p, slow)) for p in placements(2)]
    found, error = fitted_early(samples)
    assert error < 0.01
    assert max(errors(samples, asdict(found))) < 1.05
    assert found.pair == pytest.approx(slow.pair, rel=0.05)


def test_what_no_sample_tells_stays_in_proportion() -> None:
    found = fitted([Sample({"a": 10.0}, 1_000.0)], {"a": 50.0, "b": 7.0})
    assert found == {"a": pytest.approx(100.0), "b": pytest.approx(14.0)}


def test_no_constant_falls_to_nothing() -> None:
    """Samples that contradict each other do not make a step free."""
    samples = [Sample({"a": 1.0}, 10.0), Sample({"a": 1.0, "b": 1.0}, 5.0)]
    assert min(fitted(samples, {"a": 10.0, "b": 10.0}).values()) >= calibration.LEAST


def test_constants_are_kept_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = tmp_path / "deep" / "here.json"
    monkeypatch.setenv(VARIABLE, str(kept))
    calibration.here.cache_clear()
    assert calibration.here() == SHIPPED
    mine = replace(SHIPPED, early=replace(DEFAULTS, show=77.0), date="2026-01-01")
    calibration.save(mine, kept)
    assert calibration.here() == mine
    kept.write_text(kept.read_text().replace('"version": 1', '"version": 0'))
    calibration.here.cache_clear()
    assert calibration.here() == SHIPPED
    kept.write_text("{")
    with pytest.raises(StateError, match="is no calibration"):
        calibration.load(kept)
    calibration.here.cache_clear()


def test_the_choice_goes_by_the_constants_that_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where contributions cost a hundred times as much as results, nothing is aggregated early."""
    facts = two_inputs(
        (EarlyInput("a", 1_500, 150), 300, 5_000), (EarlyInput("b", 10, 1, 1), 300, 5_000), 0.1
    )
    assert choose_early(facts).early_aggregation == "{a,b}"
    kept = tmp_path / "slow.json"
    monkeypatch.setenv(VARIABLE, str(kept))
    dear = replace(DEFAULTS, contribute=100 * DEFAULTS.pair)
    calibration.save(replace(SHIPPED, early=dear), kept)
    assert choose_early(facts).early_aggregation == "none"
    monkeypatch.setenv(VARIABLE, "none")
    calibration.here.cache_clear()
    assert choose_early(facts).early_aggregation == "{a,b}"


def test_a_damaged_file_in_the_cache_is_as_good_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kept = calibration.path()
    assert kept is not None
    assert kept.is_relative_to(tmp_path / "windrow")
    kept.parent.mkdir(parents=True)
    kept.write_text("[]")
    calibration.here.cache_clear()
    assert calibration.here() == SHIPPED
    assert check_calibration(kept).status == "warn"
    calibration.here.cache_clear()


def test_the_doctor_tells_whether_there_is_one(tmp_path: Path) -> None:
    kept = tmp_path / "here.json"
    assert check_calibration(None).found == "not wanted"
    assert "windrow calibrate" in check_calibration(kept).next_step
    calibration.save(replace(SHIPPED, date="2026-01-01"), kept)
    assert check_calibration(kept).found == "of 2026-01-01"
