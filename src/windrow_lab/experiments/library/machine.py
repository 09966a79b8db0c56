"""Where and when numbers were measured: commit, day, processor, memory, load, versions.

No host name and no path: what is reported can be published.
"""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

Facts = dict[str, str]

PACKAGES = ("windrow", "numpy", "numba", "pyarrow", "duckdb")
GIB = 1 << 30
PACKAGE = Path(__file__).resolve().parents[2]
ROOT = PACKAGE.parents[1]


def facts() -> Facts:
    """Return what a result depends on beside the experiment."""
    found = {"date": datetime.now(UTC).date().isoformat()}
    if known := commit():
        found["commit"] = known
    found["processor"] = f"{processor()}, {os.cpu_count()} cores"
    if size := memory():
        found["memory"] = size
    if busy := load():
        found["load before the run"] = busy
    found["Python"] = platform.python_version()
    return found | {name: text for name in PACKAGES if (text := version_of(name))}


def commit() -> str:
    """Return the commit that this code is of, with a + if it was changed since; empty if unknown.

    An installed copy may lie inside a checkout of something else: that one's commit says nothing.
    """
    if git("rev-parse", "--show-toplevel") != str(ROOT):
        return ""
    changed = git("status", "--porcelain", "--", "src")
    return git("rev-parse", "--short=10", "HEAD") + ("+" if changed else "")


def git(*words: str) -> str:
    """Return what git prints; empty where it cannot."""
    try:
        done = subprocess.run(
            ["git", *words], cwd=PACKAGE, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def processor() -> str:
    """Return the processor's model, or the kind of machine where that is not known."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())


def memory() -> str:
    """Return the size of the memory; empty where the system does not say."""
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return ""
    return f"{size / GIB:.0f} GiB"


def load() -> str:
    """Return how many processes wanted a core over the last minute; empty where it is not known.

    Clocks of a machine that was busy beforehand are to be taken with care.
    """
    try:
        return f"{os.getloadavg()[0]:.1f}"
    except (AttributeError, OSError):
        return ""


def version_of(package: str) -> str:
    """Return an installed package's version; empty if it is not there."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
