"""Environments of the peers: one venv each below the user's cache, made when first needed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from windrow.core.errors import RunError

READY = ".ready"
"""A file that stands in an environment once everything is installed."""
PATIENCE = 1_200
"""Seconds after which an installation is given up."""

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Environment:
    """A peer's packages, pinned. The first one is the peer, and gives the folder its version."""

    name: str
    packages: tuple[str, ...]

    @property
    def version(self) -> str:
        """The peer's version."""
        return self.packages[0].partition("==")[2]

    @property
    def folder(self) -> Path:
        """Where the environment is, or will be."""
        cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        return Path(cache) / "windrow" / "peers" / f"{self.name}-{self.version}"

    @property
    def python(self) -> Path:
        """The peer's own Python."""
        return self.folder / "bin" / "python"

    @property
    def ready(self) -> bool:
        """Return whether it has been made, to its end."""
        return (self.folder / READY).exists()


FLINK = Environment("flink", ("apache-flink==2.3.0",))
PATHWAY = Environment("pathway", ("pathway==0.33.0",))
BYTEWAX = Environment("bytewax", ("bytewax==0.21.1", "pyarrow==26.0.1"))


def ensure(environment: Environment, report: Report, *, again: bool = False) -> Path:
    """Return the Python of an environment, which is made if it is not there, or made `again`.

    Raises RunError with pip's reason if it cannot be made; nothing is left of it then.
    """
    if environment.ready and not again:
        return environment.python
    shutil.rmtree(environment.folder, ignore_errors=True)
    environment.folder.parent.mkdir(parents=True, exist_ok=True)
    wanted = " ".join(environment.packages)
    try:
        report(f"{environment.name}: making an environment in {environment.folder}")
        step([sys.executable, "-m", "venv", str(environment.folder)])
        report(f"{environment.name}: installing {wanted}")
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
        step([str(environment.python), *install, *environment.packages])
    except InstallError as error:
        shutil.rmtree(environment.folder, ignore_errors=True)
        raise RunError(
            f"{environment.name} cannot be installed",
            detail=str(error),
            hint=f"Try by hand: python -m pip install {wanted}",
        ) from error
    (environment.folder / READY).touch()
    return environment.python


class InstallError(Exception):
    """A step of an installation failed; the text is its reason."""


def step(command: list[str]) -> None:
    """Run a command to its end; raise InstallError with what it complained of."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise InstallError(f"not done after {PATIENCE} seconds") from error
    if done.returncode:
        raise InstallError(complaint(done.stderr) or f"ended with code {done.returncode}")


def complaint(text: str) -> str:
    r"""Return the line that says why: the first that pip marks as an error, or the last.

    >>> complaint("WARNING: x\nERROR: No matching distribution\nhint: see above")
    'No matching distribution'
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return next(iter(errors), lines[-1] if lines else "")
