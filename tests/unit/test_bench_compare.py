"""What has moved since the last accepted ratios."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from windrow_lab.bench.compare import compare
from windrow_lab.contest.report import Bar


def printed(path: Path, **ratios: float) -> Path:
    """Write what a benchmark prints: lines of JSON, then a table."""
    lines = [Bar(name, ratio, 1.0, 0.1, 10.0).line() for name, ratio in ratios.items()]
    path.write_text("\n".join([*lines, "met  join  2.00", "", "every bar is met"]))
    return path


def ran(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(compare, [str(a) for a in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


@pytest.fixture
def accepted(tmp_path: Path) -> Path:
    path = tmp_path / "accepted" / "kernel.jsonl"
    code, said = ran(printed(tmp_path / "first.txt", join=2.0, group=1.0), path, "--accept")
    assert code == 0
    assert "2 ratios" in said
    return path


def test_what_is_accepted_holds_no_times_of_this_machine(accepted: Path) -> None:
    kept = [json.loads(line) for line in accepted.read_text().splitlines()]
    assert [bar["name"] for bar in kept] == ["join", "group"]
    assert not {"seconds", "rows_per_second"} & {key for bar in kept for key in bar}


def test_of_work_only_what_is_counted_is_accepted(tmp_path: Path) -> None:
    work = {"probes": 7, "seconds_a_batch": [0.25], "state_bytes_written_a_batch": 1.5}
    new = tmp_path / "new.txt"
    new.write_text(Bar("join", 2.0, 1.0, 0.1, 10.0, work=work).line())
    ran(new, tmp_path / "accepted.jsonl", "--accept")
    assert json.loads((tmp_path / "accepted.jsonl").read_text())["work"] == {"probes": 7}


def test_noise_is_no_move(tmp_path: Path, accepted: Path) -> None:
    code, said = ran(printed(tmp_path / "new.txt", join=1.6, group=1.3), accepted)
    assert code == 0
    assert "no ratio has fallen" in said


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ({"join": 1.4, "group": 1.0}, "look at: join"),
        ({"group": 1.0}, "look at: join"),
        ({"join": 0.1, "group": 0.1}, "look at: join, group"),
    ],
)
def test_what_falls_or_goes_is_named(
    ratios: dict[str, float], verdict: str, tmp_path: Path, accepted: Path
) -> None:
    code, said = ran(printed(tmp_path / "new.txt", **ratios), accepted)
    assert code == 1
    assert verdict in said


def test_what_rises_or_is_new_is_told(tmp_path: Path, accepted: Path) -> None:
    code, said = ran(printed(tmp_path / "new.txt", join=4.0, group=1.0, other=1.0), accepted)
    assert code == 0
    for word in ("+100%", "up", "new"):
        assert word in said


def test_a_wrong_answer_is_never_accepted(tmp_path: Path, accepted: Path) -> None:
    before = accepted.read_text()
    wrong = tmp_path / "wrong.txt"
    wrong.write_text(Bar("join", 9.0, 1.0, 0.1, 10.0, "3 rows differ").line())
    code, said = ran(wrong, accepted)
    assert code == 1
    assert "wrong answer" in said
    with pytest.raises(Exception, match="not accepted: join"):
        ran(wrong, accepted, "--accept")
    assert accepted.read_text() == before


def test_without_accepted_ratios_the_next_step_is_told(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="is not there"):
        ran(printed(tmp_path / "new.txt", join=1.0), tmp_path / "none.jsonl")


def with_work(path: Path, **work: object) -> Path:
    path.write_text(Bar("join", 2.0, 1.0, 0.1, 10.0, work=work).line())
    return path


@pytest.mark.parametrize(
    ("before", "after", "told", "bad"),
    [
        (1_000, 1_005, "", False),
        (1_000, 995, "", False),
        (1_000, 1_020, "work: probes +2.0%", False),
        (1_000, 500, "work: probes -50.0%", False),
        (1_000, 1_101, "work: probes +10.1%", True),
        (0, 1, "work: probes 0 to 1", True),
        (0, 0, "", False),
        (1_000, None, "work: probes gone", False),
        ([0.1, 0.2], [0.9, 0.8], "", False),
        (0.5, 5.0, "", False),
    ],
)
def test_work_that_changes_is_told_and_looked_at_if_it_grows(
    before: object, after: object, told: str, bad: bool, tmp_path: Path
) -> None:
    accepted, new = tmp_path / "accepted.jsonl", tmp_path / "new.txt"
    ran(with_work(tmp_path / "old.txt", probes=before, rows=7), accepted, "--accept")
    now = {"rows": 7} if after is None else {"probes": after, "rows": 7}
    code, said = ran(with_work(new, **now), accepted)
    assert ("work:" in said) == bool(told)
    assert told in said
    assert code == int(bad)
    assert ("look at: join" in said) == bad


def test_a_bar_that_was_not_measured_is_no_wrong_answer(tmp_path: Path, accepted: Path) -> None:
    new = tmp_path / "new.txt"
    new.write_text(Bar("join", 0.0, 1.0, 0.1, 0.0, "not measured: flink: gone").line())
    code, said = ran(new, accepted)
    assert (code, "not measured" in said, "wrong answer" in said) == (1, True, False)
    with pytest.raises(Exception, match="not accepted: join"):
        ran(new, accepted, "--accept", "--drop")


def test_bars_that_are_gone_are_dropped_only_on_demand(tmp_path: Path, accepted: Path) -> None:
    before = accepted.read_text()
    new = printed(tmp_path / "new.txt", join=2.0)
    with pytest.raises(Exception, match="bars are gone: group"):
        ran(new, accepted, "--accept")
    assert accepted.read_text() == before
    code, _ = ran(new, accepted, "--accept", "--drop")
    assert code == 0
    assert [json.loads(line)["name"] for line in accepted.read_text().splitlines()] == ["join"]


@pytest.mark.parametrize("ratio", [2.0, 3.0])
def test_two_bars_of_one_name_are_refused(ratio: float, tmp_path: Path, accepted: Path) -> None:
    new = printed(tmp_path / "new.txt", join=2.0, group=1.0)
    new.write_text(Bar("join", ratio, 1.0, 0.1, 10.0).line() + "\n" + new.read_text())
    with pytest.raises(Exception, match="more than one bar of a name: join"):
        ran(new, accepted)
