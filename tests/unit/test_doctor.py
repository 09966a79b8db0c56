"""The doctor: each need is found, warned about or missing, with a next step."""

import json
import re
import socket
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from windrow.cli import checks, doctor
from windrow.cli.checks import GIGABYTE, CheckResult, cluster_findings, findings_of
from windrow.runtime.spark.cluster import ClusterFacts, Seen


def test_an_old_python_is_missing_and_says_what_to_install() -> None:
    finding = checks.check_python((3, 10))
    assert finding.status == "missing"
    assert "3.11" in finding.next_step
    assert checks.check_python((3, 13)).status == "ok"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_402"', 8),
        ("command not found", None),
    ],
)
def test_the_version_of_java_is_read(text: str, version: int | None) -> None:
    assert checks.parse_java_version(text) == version


@pytest.mark.parametrize(("version", "status"), [(None, "missing"), (11, "missing"), (17, "ok")])
def test_java_must_be_there_and_new_enough(version: int | None, status: str) -> None:
    assert checks.check_java(version).status == status


def test_java_home_comes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"99.1\"' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert checks.java_version() == 99
    java.unlink()
    assert checks.java_version() is None


@pytest.mark.parametrize(
    ("spark", "java", "status"),
    [
        ("4.3.0", 17, "ok"),
        ("4.3.1", 30, "warn"),
        ("3.5.1", 17, "missing"),
        (None, 17, "missing"),
        ("4.3.0", None, "missing"),
    ],
)
def test_spark_and_java_must_fit(spark: str | None, java: int | None, status: str) -> None:
    assert checks.check_spark_and_java(spark, java).status == status


def test_a_package_that_is_not_installed_is_missing() -> None:
    assert checks.check_dependency("no-such-package").status == "missing"
    assert checks.check_dependency("click").status == "ok"


def test_a_package_that_does_not_import_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> None:
        raise OSError(f"{name} lacks a library")

    monkeypatch.setattr(checks.importlib, "import_module", broken)
    finding = checks.check_dependency("click")
    assert (finding.status, "lacks a library" in finding.meaning) == ("missing", True)


def test_a_small_machine_is_warned_about() -> None:
    assert checks.check_cores(1).status == "warn"
    assert checks.check_cores(2).status == "ok"
    assert checks.check_memory(2 * GIGABYTE).status == "warn"
    assert checks.check_memory(8 * GIGABYTE).status == "ok"


@pytest.mark.parametrize(("cold", "told"), [(True, "cold, "), (False, "warm, ")])
def test_the_kernel_cache_is_cold_or_warm_and_somewhere(tmp_path: Path, cold, told) -> None:
    found = checks.check_kernel_cache(tmp_path / "kernels", cold)
    assert (found.status, found.found) == ("ok", f"{told}{tmp_path / 'kernels'}")


def test_a_kernel_cache_of_one_process_is_warned_about() -> None:
    folder = Path(checks.tempfile.gettempdir()) / "windrow-kernels-x"
    assert checks.check_kernel_cache(folder, True).status == "warn"


def with_findings(monkeypatch: pytest.MonkeyPatch, *found: CheckResult) -> None:
    monkeypatch.setattr(doctor, "findings", lambda: iter(found))


FINE = CheckResult("Python", "ok", "3.11", "new enough")
SMALL = CheckResult("cores", "warn", "1", "slow", "Use more.")
GONE = CheckResult("Java", "missing", "none", "Spark runs on a JVM", "Install one.")


def test_what_is_missing_ends_with_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    with_findings(monkeypatch, FINE, SMALL, GONE)
    result = CliRunner().invoke(doctor.command)
    assert result.exit_code == 1
    assert "cannot run yet: Java" in result.stdout
    assert "Install one." in result.stdout


def test_a_warning_does_not_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    with_findings(monkeypatch, FINE, SMALL)
    result = CliRunner().invoke(doctor.command)
    assert (result.exit_code, "look at cores" in result.stdout) == (0, True)


def test_findings_are_json_for_other_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    with_findings(monkeypatch, FINE, GONE)
    result = CliRunner().invoke(doctor.command, ["--json"])
    assert result.exit_code == 1
    assert [finding["status"] for finding in json.loads(result.stdout)] == ["ok", "missing"]


def test_this_machine_is_looked_at_without_an_error() -> None:
    assert {"Python", "Java", "pyspark", "memory", "kernel cache"} <= {
        found.need for found in checks.findings()
    }


def test_all_that_windrow_depends_on_is_looked_at() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    needed = {re.split(r"[><=\[]", line)[0] for line in project["project"]["dependencies"]}
    assert set(checks.DEPENDENCIES) == needed


HERE = Seen(
    "here", "3.11.7", {"windrow": "1.0", "pyarrow": "20"}, "abc", 100.0, 8 * GIGABYTE, None, True
)


def statuses(*seen: Seen, slots: int = 4) -> dict[str, CheckResult]:
    """Return what is found if executors have seen this, by need."""
    facts = ClusterFacts(slots, seen, HERE, 100.0, 101.0)
    return {finding.need: finding for finding in findings_of(facts)}


def test_a_cluster_of_equals_is_fine() -> None:
    found = statuses(replace(HERE, host="x"), replace(HERE, host="y", sees_checkpoint=True))
    assert {f.status for f in found.values()} == {"ok"}
    assert found["executors"].found == "4 cores on x, y"
    assert found["checkpoint"].found == "seen by all"


@pytest.mark.parametrize(
    ("other", "need", "status", "shown"),
    [
        ({"python": "3.12.1"}, "Python on executors", "warn", "3.12.1 on x"),
        ({"packages": {"windrow": "1.0"}}, "pyarrow on executors", "missing", "none on x"),
        (
            {"packages": {"windrow": "0.9", "pyarrow": "20"}},
            "windrow on executors",
            "missing",
            "0.9 on x",
        ),
        ({"digest": ""}, "windrow's source", "missing", "none on x"),
        ({"clock": 160.0}, "clocks", "warn", "59 s apart: x"),
        ({"memory": GIGABYTE}, "memory on executors", "warn", "1.0 GB on x"),
        ({"private_folder": False}, "temporary folder", "missing", "x"),
        ({"sees_checkpoint": False}, "checkpoint", "missing", "x"),
    ],
)
def test_what_differs_on_a_machine_is_named_with_it(
    other: dict[str, object], need: str, status: str, shown: str
) -> None:
    found = statuses(HERE, replace(HERE, host="x", **other))[need]
    assert (found.status, found.found) == (status, shown)
    assert found.next_step


def test_one_core_is_few() -> None:
    assert statuses(HERE, slots=1)["executors"].status == "warn"


def test_a_master_that_is_not_there_is_told_at_once() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"spark://127.0.0.1:{free.getsockname()[1]}"
        (found,) = cluster_findings(url, None)
    assert (found.need, found.status) == ("cluster", "missing")
    assert "refused" in found.found
    assert "spark://HOST:7077" in found.next_step
