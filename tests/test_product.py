"""The product without the laboratory: it says how to get it, and needs nothing of it.

The laboratory and its packages are hidden from the import system, as if they were not installed.
"""

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from windrow.cli.calibrate import samples
from windrow.cli.calibrate.placements import LOOPS
from windrow.cli.calibrate.samples import Trial
from windrow.cli.calibrate.streams import StreamSetting, two
from windrow.cli.main import COMMANDS, windrow

ROOT = Path(__file__).parent.parent
HIDDEN = ("windrow_lab", "duckdb", "matplotlib", "polars")
TINY = StreamSetting(two((100, 50), (60, 40), (5, 1), 0.1))


@pytest.fixture
def _without_laboratory(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in HIDDEN:
        monkeypatch.setitem(sys.modules, name, None)


def run(*words: str) -> Result:
    return CliRunner().invoke(windrow, words)


@pytest.mark.usefixtures("_without_laboratory")
@pytest.mark.parametrize(
    "words",
    [
        ("bench",),
        ("bench", "kernel", "--only", "join"),
        ("experiment", "all", "--full"),
        ("generate", "lbl", "somewhere"),
        ("generate", "nexmark", "--out", "somewhere"),
    ],
)
def test_a_command_of_the_laboratory_says_how_to_get_it(words: tuple[str, ...]) -> None:
    result = run(*words)
    name = " ".join(words[: 2 if words[0] == "generate" else 1])
    assert result.exit_code == 1
    fact, detail, hint = result.stderr.strip().splitlines()
    assert fact == f"error: windrow {name} is not installed"
    assert detail.startswith("detail: It is part of windrow's laboratory")
    assert hint == "hint: In a checkout of windrow's sources: pip install -e '.[lab]'"


@pytest.mark.usefixtures("_without_laboratory")
def test_help_lists_all_commands_and_how_to_get_those_that_are_missing() -> None:
    assert [name for name in COMMANDS if name not in run("--help").stdout] == []
    assert "pip install -e '.[lab]'" in run("bench", "--help").stdout
    generators = run("generate", "--help").stdout
    assert all(name in generators for name in ("lbl", "nexmark", "traffic"))


@pytest.mark.usefixtures("_without_laboratory")
def test_calibrate_runs_from_the_base_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "TRIALS", (Trial(TINY), Trial(TINY, LOOPS)))
    assert run("calibrate", "--help").exit_code == 0
    result = run("calibrate", "--dry", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["early"]["contribute"] > 0


def test_a_wrong_answer_of_a_placement_ends_a_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = iter(range(10_000))
    monkeypatch.setattr(samples, "digest", lambda table: (len(table), next(digests)))
    with pytest.raises(samples.RunError, match="has a wrong answer"):
        list(samples.tried((Trial(TINY),)))


def test_the_laboratory_is_there_when_it_is_installed() -> None:
    assert "kernel" in run("bench", "--help").stdout
    assert "--ticks" in run("generate", "lbl", "--help").stdout


LOAD_ALL = f"""
import importlib, pkgutil, sys
import windrow
for module in pkgutil.walk_packages(windrow.__path__, "windrow."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(sorted(set({HIDDEN!r}) & set(sys.modules)))
"""


@pytest.mark.long
def test_no_module_of_the_product_loads_the_laboratory_or_its_packages() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOAD_ALL], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr


@pytest.fixture
def wheel(tmp_path: Path) -> Iterator[zipfile.ZipFile]:
    """Yield windrow's wheel, made from what git knows: no build of another day is in it."""
    files = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    for name in ("pyproject.toml", "README.md", "LICENSE", *files):
        if name.startswith(("src/", "examples/")) or "/" not in name:
            copy(ROOT / name, tmp_path / "project" / name)
    words = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path), "."]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    subprocess.run(words, cwd=tmp_path / "project", env=environment, check=True)
    (made,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(made) as opened:
        yield opened


def copy(source: Path, target: Path) -> None:
    if source.is_symlink():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source.readlink())
    elif source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())


@pytest.mark.long
def test_the_wheel_is_the_product_alone(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"windrow"}
    assert "windrow/examples/traffic.cql" in names
    assert "windrow/py.typed" in names
    product = {p.relative_to(ROOT / "src").as_posix() for p in (ROOT / "src/windrow").rglob("*.py")}
    assert product <= set(names)


def test_the_base_install_needs_nothing_of_the_laboratory() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {word.split(">")[0] for word in project["dependencies"]}
    assert needed & set(HIDDEN) == set()
    assert {word.split(">")[0] for word in project["optional-dependencies"]["lab"]} == {*HIDDEN[1:]}
