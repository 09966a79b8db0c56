"""What windrow needs of a cluster: `windrow doctor --cluster URL`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from windrow.cli.checks import GIGABYTE, CheckResult
from windrow.core.errors import WindrowError

if TYPE_CHECKING:
    from windrow.runtime.spark.cluster import ClusterFacts, Seen

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
