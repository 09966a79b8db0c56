"""What windrow needs of a machine: one function a need, each returns a finding.

`cluster_findings`: what it needs of a cluster, for ``windrow doctor --cluster URL``.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from windrow.core.errors import WindrowError

if TYPE_CHECKING:
    from windrow.runtime.spark.cluster import ClusterFacts, Seen

Status = Literal["ok", "warn", "missing"]

OLDEST_PYTHON = (3, 11)
OLDEST_JAVA = 17
TESTED_JAVA = (17, 21)
SPARK_LINE = "4.3"
GIGABYTE = 2**30
DEPENDENCIES = ("click", "numba", "numpy", "pandas", "pyarrow", "pyspark", "rich", "sqlglot")


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The state of one need: what was found, what that means, what to do next."""

    need: str
    status: Status
    found: str
    meaning: str
    next_step: str = ""


def findings() -> Iterator[CheckResult]:
    """Yield one finding a need, what must be there first."""
    yield check_python(sys.version_info[:2])
    java = java_version()
    yield check_java(java)
    for name in DEPENDENCIES:
        yield check_dependency(name)
    yield check_spark_and_java(installed_version("pyspark"), java)
    yield check_cores(available_cores())
    yield check_memory(memory_bytes())
    yield check_disk(Path(tempfile.gettempdir()))
    yield from kernel_cache()
    yield from calibration()


def check_python(version: tuple[int, ...]) -> CheckResult:
    """Python is new enough."""
    found = ".".join(str(part) for part in version)
    if version >= OLDEST_PYTHON:
        return CheckResult("Python", "ok", found, "new enough")
    oldest = ".".join(str(part) for part in OLDEST_PYTHON)
    step = f"Install Python {oldest} or newer and make the environment with it."
    return CheckResult("Python", "missing", found, f"windrow needs {oldest} or newer", step)


def java_command() -> str | None:
    """Return the java that Spark will start: that of JAVA_HOME, else the one on PATH."""
    home = os.environ.get("JAVA_HOME")
    if home:
        return shutil.which(str(Path(home) / "bin" / "java"))
    return shutil.which("java")


def java_version() -> int | None:
    """Return the major version of Java, or None if there is none that runs."""
    command = java_command()
    if command is None:
        return None
    try:
        run = subprocess.run(
            [command, "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_java_version(run.stderr + run.stdout)


def parse_java_version(text: str) -> int | None:
    """Return the major version that ``java -version`` prints.

    >>> parse_java_version('openjdk version "17.0.15" 2025-04-15')
    17
    >>> parse_java_version('java version "1.8.0_402"')
    8
    """
    found = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if found is None:
        return None
    major, minor = found.groups()
    return int(minor) if major == "1" and minor else int(major)


def check_java(version: int | None) -> CheckResult:
    """Java is there and new enough for Spark."""
    step = f"Install a JDK {OLDEST_JAVA} or newer, or point JAVA_HOME at one."
    if version is None:
        where = "JAVA_HOME" if os.environ.get("JAVA_HOME") else "PATH"
        return CheckResult("Java", "missing", f"none in {where}", "Spark runs on a JVM", step)
    if version < OLDEST_JAVA:
        return CheckResult("Java", "missing", str(version), f"Spark needs {OLDEST_JAVA}", step)
    return CheckResult("Java", "ok", str(version), "new enough")


def installed_version(name: str) -> str | None:
    """Return the version of an installed distribution, or None."""
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def check_dependency(name: str) -> CheckResult:
    """A Python package is there, and importing it works."""
    step = "Install windrow again: pip install -e . -c constraints.txt"
    version = installed_version(name)
    if version is None:
        return CheckResult(name, "missing", "not installed", "windrow imports it", step)
    try:
        importlib.import_module(name)
    except Exception as error:  # a broken package may raise anything
        return CheckResult(name, "missing", version, f"does not import: {error}", step)
    return CheckResult(name, "ok", version, "imports")


def check_spark_and_java(spark: str | None, java: int | None) -> CheckResult:
    """The two versions are a pair that Spark's makers test."""
    need = "Spark with Java"
    if spark is None or java is None or java < OLDEST_JAVA:
        return CheckResult(need, "missing", "no pair", "one of the two is missing", "See above.")
    pair = f"{spark} with {java}"
    if not spark.startswith(f"{SPARK_LINE}."):
        step = f"pip install 'pyspark=={SPARK_LINE}.*'"
        return CheckResult(need, "missing", pair, f"windrow is built for {SPARK_LINE}", step)
    if java not in TESTED_JAVA:
        tested = " and ".join(str(version) for version in TESTED_JAVA)
        step = "Use one of them if the JVM fails to start."
        return CheckResult(need, "warn", pair, f"Spark is tested with Java {tested}", step)
    return CheckResult(need, "ok", pair, "a tested pair")


def available_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_cores(cores: int) -> CheckResult:
    """There are cores for the JVM and for Python."""
    if cores >= 2:
        return CheckResult("cores", "ok", str(cores), "Spark and Python work side by side")
    step = "Expect it to be slow, or use a larger machine."
    return CheckResult("cores", "warn", str(cores), "Spark and Python share one core", step)


def memory_bytes() -> int:
    """Return the memory of the machine, or of the container if that is less."""
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    limit = Path("/sys/fs/cgroup/memory.max")
    text = limit.read_text().strip() if limit.exists() else "max"
    return min(total, int(text)) if text.isdigit() else total


def check_memory(size: int) -> CheckResult:
    """There is memory for a JVM beside the windows."""
    found = f"{size / GIGABYTE:.1f} GB"
    if size >= 4 * GIGABYTE:
        return CheckResult("memory", "ok", found, "enough for a JVM and its workers")
    step = "Set spark.driver.memory low, or use a larger machine."
    return CheckResult("memory", "warn", found, "a JVM and its workers want 4 GB", step)


def check_disk(folder: Path) -> CheckResult:
    """There is room for Spark's scratch files."""
    free = shutil.disk_usage(folder).free
    found = f"{free / GIGABYTE:.1f} GB free in {folder}"
    if free >= 2 * GIGABYTE:
        return CheckResult("disk", "ok", found, "enough for Spark's scratch files")
    step = "Free some space, or set TMPDIR to a larger disk."
    return CheckResult("disk", "warn", found, "Spark's shuffles want 2 GB", step)


def kernel_cache() -> Iterator[CheckResult]:
    """Look for compiled kernels; nothing where numba is missing, another check reports that."""
    try:
        from windrow.kernels.cache import cache_folder, kernels_are_cold  # noqa: PLC0415 - numba
    except Exception:  # a broken package may raise anything
        return
    yield check_kernel_cache(cache_folder(), kernels_are_cold())


def check_kernel_cache(folder: Path, cold: bool) -> CheckResult:
    """Compiled kernels are kept, so that only the first query of a machine compiles."""
    if folder.parent == Path(tempfile.gettempdir()):
        step = "Set NUMBA_CACHE_DIR or XDG_CACHE_HOME to a folder that you may write."
        return CheckResult(
            "kernel cache", "warn", str(folder), "every process compiles again", step
        )
    if cold:
        return CheckResult(
            "kernel cache", "ok", f"cold, {folder}", "the first query compiles, once"
        )
    return CheckResult("kernel cache", "ok", f"warm, {folder}", "queries start at once")


def calibration() -> Iterator[CheckResult]:
    """Look for the constants of cost models; nothing where packages are missing."""
    try:
        from windrow.optimize.calibration import path  # noqa: PLC0415 - numpy
    except Exception:  # a broken package may raise anything
        return
    yield check_calibration(path())


def check_calibration(kept: Path | None) -> CheckResult:
    """Plans are chosen by what steps cost on this machine."""
    from windrow.core.errors import StateError  # noqa: PLC0415 - as below
    from windrow.optimize.calibration import load  # noqa: PLC0415 - numpy may be missing

    shipped = "plans are chosen by the constants that windrow comes with"
    if kept is None:
        return CheckResult("calibration", "ok", "not wanted", shipped)
    step = "Run `windrow calibrate` on a quiet machine; it takes some seconds."
    try:
        found = load(kept)
    except StateError as error:
        return CheckResult("calibration", "warn", str(error.message), shipped, step)
    if found is None:
        return CheckResult("calibration", "ok", "none", shipped, step)
    return CheckResult("calibration", "ok", f"of {found.date}", "plans are chosen by it")


SKEW_SECONDS = 2.0
SAME = "Install the same on all machines, in the Python that spark.pyspark.python names."


def cluster_findings(url: str, checkpoint: str | None) -> Iterator[CheckResult]:
    """Yield one finding a need; the first that is missing hides those after it."""
    from windrow.runtime.spark.cluster import look_at, unreachable  # noqa: PLC0415 - loads pyspark

    closed = unreachable(url)
    if closed:
        step = "Start it, or correct the URL: spark://HOST:7077, as the master's log says it."
        yield CheckResult("cluster", "missing", closed[0], "the master takes no connection", step)
        return
    try:
        facts = look_at(url, checkpoint)
    except WindrowError as error:
        yield CheckResult("cluster", "missing", error.message, error.detail, error.hint)
        return
    yield CheckResult("cluster", "ok", url, "the master answers, and executors run tasks")
    yield from findings_of(facts)


def findings_of(facts: ClusterFacts) -> Iterator[CheckResult]:
    """Yield what was found on the executors."""
    yield check_slots(facts)
    yield check_pythons(facts)
    yield from (check_package(name, facts) for name in facts.here.packages)
    yield check_source(facts)
    yield check_clocks(facts)
    yield check_memories(facts)
    yield check_folders(facts)
    yield from check_checkpoint(facts)


def hosts(seen: tuple[Seen, ...]) -> str:
    """Return the names of machines, each once."""
    return ", ".join(sorted({s.host for s in seen}))


def check_slots(facts: ClusterFacts) -> CheckResult:
    """There are cores."""
    found = f"{facts.slots} cores on {hosts(facts.seen)}"
    if facts.slots >= 2:
        return CheckResult("executors", "ok", found, "as many shards work at a time")
    step = "Add workers, or give them more cores: --cores."
    return CheckResult("executors", "warn", found, "shards work one after the other", step)


def check_pythons(facts: ClusterFacts) -> CheckResult:
    """Executors have the driver's Python."""
    other = tuple(s for s in facts.seen if s.python != facts.here.python)
    need = "Python on executors"
    if not other:
        return CheckResult(need, "ok", facts.here.python, "as here")
    found = f"{other[0].python} on {hosts(other)}"
    step = "Use one Python everywhere: --conf spark.pyspark.python=..."
    return CheckResult(need, "warn", found, f"here it is {facts.here.python}", step)


def check_package(name: str, facts: ClusterFacts) -> CheckResult:
    """Executors have a package of the same version."""
    ours = facts.here.packages[name]
    lacking = tuple(s for s in facts.seen if not s.packages.get(name))
    other = tuple(s for s in facts.seen if s.packages.get(name) != ours)
    need = f"{name} on executors"
    if lacking:
        return CheckResult(need, "missing", f"none on {hosts(lacking)}", "tasks import it", SAME)
    if other:
        found = f"{other[0].packages[name]} on {hosts(other)}"
        return CheckResult(need, "missing", found, f"here it is {ours}", SAME)
    return CheckResult(need, "ok", ours, "as here")


def check_source(facts: ClusterFacts) -> CheckResult:
    """Executors have the same windrow, to the letter: plans must come out the same."""
    other = tuple(s for s in facts.seen if s.digest != facts.here.digest)
    if not other:
        return CheckResult("windrow's source", "ok", facts.here.digest, "the same everywhere")
    found = f"{other[0].digest or 'none'} on {hosts(other)}"
    return CheckResult(
        "windrow's source", "missing", found, f"here it is {facts.here.digest}", SAME
    )


def check_clocks(facts: ClusterFacts) -> CheckResult:
    """Clocks agree: `heartbeat` and `idle` go by them."""
    low, high = facts.began - SKEW_SECONDS, facts.ended + SKEW_SECONDS
    other = tuple(s for s in facts.seen if not low <= s.clock <= high)
    if not other:
        return CheckResult("clocks", "ok", f"within {SKEW_SECONDS:g} s", "heartbeats go by them")
    skew = max(max(facts.began - s.clock, s.clock - facts.ended) for s in other)
    step = "Run NTP on all machines."
    return CheckResult("clocks", "warn", f"{skew:.0f} s apart: {hosts(other)}", "heartbeats", step)


def check_memories(facts: ClusterFacts) -> CheckResult:
    """There is memory for the state beside the JVMs."""
    least = min(facts.seen, key=lambda s: s.memory)
    found = f"{least.memory / GIGABYTE:.1f} GB on {least.host}"
    if least.memory >= 4 * GIGABYTE:
        return CheckResult("memory on executors", "ok", found, "the state is beside the JVM")
    step = "Leave room: spark.executor.memoryOverhead, WINDROW_SHARD_MEMORY."
    return CheckResult("memory on executors", "warn", found, "a JVM and its shards want 4 GB", step)


def check_folders(facts: ClusterFacts) -> CheckResult:
    """Shards' processes have a place for their sockets."""
    other = tuple(s for s in facts.seen if not s.private_folder)
    if not other:
        return CheckResult("temporary folder", "ok", "writable", "shards listen there")
    step = "Set TMPDIR or WINDROW_RUNTIME_DIR to a folder that may be written."
    return CheckResult("temporary folder", "missing", hosts(other), "cannot be written", step)


def check_checkpoint(facts: ClusterFacts) -> Iterator[CheckResult]:
    """All see the checkpoint's folder under one name."""
    asked = [s for s in facts.seen if s.sees_checkpoint is not None]
    if not asked:
        return
    blind = tuple(s for s in asked if not s.sees_checkpoint)
    if not blind:
        yield CheckResult("checkpoint", "ok", "seen by all", "the driver's file is there")
        return
    step = "Use a file system that all reach under one name: NFS, hdfs://, s3://."
    yield CheckResult("checkpoint", "missing", hosts(blind), "does not see the driver's file", step)
