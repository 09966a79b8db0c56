"""Constants of cost models as they are on this machine: fitted to what some queries took.

A model's cost is linear in its constants: of each sample it says how often each step is done, so
the constants are those with which it best predicts how long the samples took, by the squares of
relative errors. What the samples do not determine stays in proportion.

    <user's cache>/windrow/calibration/<machine>.json     written by `windrow calibrate`

WINDROW_CALIBRATION names another file; "none" stands for the constants that windrow comes with.
"""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from statistics import median

import numpy as np

from windrow.core.errors import StateError
from windrow.optimize.aggregation_costs import Tuning
from windrow.optimize.early_costs import DEFAULTS, EarlyConstants

VARIABLE = "WINDROW_CALIBRATION"
NONE = "none"
VERSION = 1
"""Of the file's form, and of what the constants mean."""

TRUST = 0.2
"""What it weighs that a constant is as it was, where a sample's error weighs 1."""
LEAST = 0.5
"""No step takes less, in nanoseconds."""
ROUNDS = 500


@dataclass(frozen=True, slots=True)
class Sample:
    """What a query took, in nanoseconds a unit of time, and how often it did each step."""

    work: Mapping[str, float]
    took: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Constants of a machine: the engine's own, and those of the paper's formulas.

    `error` is the median relative error of the engine's model over the samples; 0 if shipped.
    """

    early: EarlyConstants = DEFAULTS
    hashed: Tuning = field(default_factory=lambda: Tuning(probe=35.0, update=500.0, group=3.0))
    loops: Tuning = field(default_factory=lambda: Tuning(probe=3.0, update=1000.0, group=45.0))
    error: float = 0.0
    date: str = ""


SHIPPED = Calibration()


def fitted(samples: Sequence[Sample], before: Mapping[str, float]) -> dict[str, float]:
    """Return the constants that predict best what samples took.

    All are first made as many times larger as the machine is slower; then, by coordinate descent,
    each in turn is set to its best value, the others fixed.

    >>> samples = [Sample({"a": 1, "b": 10}, 320.0), Sample({"a": 5, "b": 1}, 130.0)]
    >>> {name: round(c) for name, c in fitted(samples, {"a": 10.0, "b": 15.0}).items()}
    {'a': 20, 'b': 30}
    """
    names = list(before)
    slower = median(s.took / _said(s, before) for s in samples)
    before = {n: slower * value for n, value in before.items()}
    weights = [[s.work.get(n, 0.0) * before[n] / s.took for n in names] for s in samples]
    parts = np.vstack([np.array(weights), np.eye(len(names)) * TRUST])
    wanted = np.concatenate([np.ones(len(samples)), np.full(len(names), TRUST)])
    factors = np.ones(len(names))
    least = np.array([LEAST / before[n] for n in names])
    for _ in range(ROUNDS):
        for i in range(len(names)):
            rest = wanted - parts @ factors + parts[:, i] * factors[i]
            factors[i] = max(least[i], float(parts[:, i] @ rest / (parts[:, i] @ parts[:, i])))
    return {n: before[n] * float(f) for n, f in zip(names, factors, strict=True)}


def errors(samples: Sequence[Sample], constants: Mapping[str, float]) -> list[float]:
    """Return by which factor, above 1, the model is wrong about each sample."""
    factors = [_said(s, constants) / s.took for s in samples]
    return [max(factor, 1 / factor) for factor in factors]


def _said(sample: Sample, constants: Mapping[str, float]) -> float:
    return sum(constants[n] * count for n, count in sample.work.items())


def fitted_early(samples: Sequence[Sample]) -> tuple[EarlyConstants, float]:
    """Return the engine's constants, and the median error of its model with them."""
    found = fitted(samples, asdict(DEFAULTS))
    return EarlyConstants(**found), median(errors(samples, found)) - 1


def fitted_tuning(samples: Sequence[Sample], before: Tuning) -> Tuning:
    """Return P, U and U_g of the paper's formulas."""
    start = {n: v for n, v in asdict(before).items() if n != "most"}
    return replace(before, **fitted(samples, start))


def path() -> Path | None:
    """Return where the constants of this machine are kept; None if none are wanted."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return None if chosen.lower() == NONE else Path(chosen)
    folder = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    machine = re.sub(r"[^\w.-]", "_", platform.node()) or "machine"
    return folder / "windrow" / "calibration" / f"{machine}.json"


def save(calibration: Calibration, to: Path) -> None:
    """Write constants; queries that start from now on go by them."""
    to.parent.mkdir(parents=True, exist_ok=True)
    written = to.with_suffix(".new")
    text = json.dumps({"version": VERSION, **asdict(calibration)}, indent=2)
    written.write_text(text + "\n", encoding="utf-8")
    written.replace(to)
    here.cache_clear()


def load(kept: Path) -> Calibration | None:
    """Return what a file has; None if there is none, or it is of another version.

    Raises `StateError` for a file that is something else.
    """
    if not kept.exists():
        return None
    try:
        found = json.loads(kept.read_text(encoding="utf-8"))
        if found.pop("version") != VERSION:
            return None
        found["early"] = EarlyConstants(**found["early"])
        for method in ("hashed", "loops"):
            found[method] = Tuning(**found[method])
        return Calibration(**found)
    except (OSError, ValueError, TypeError, KeyError, AttributeError, AssertionError) as error:
        raise StateError(
            f"{kept} is no calibration",
            detail=f"It cannot be read: {error}.",
            hint="Run `windrow calibrate` to write it again, or remove it.",
        ) from error


@cache
def here() -> Calibration:
    """Return the constants of this machine, or those that windrow comes with.

    A file in the cache that cannot be read is as good as none, and `windrow doctor` shows of it;
    one that the user names must be right.
    """
    kept = path()
    try:
        return (load(kept) if kept else None) or SHIPPED
    except StateError:
        if os.environ.get(VARIABLE):
            raise
        return SHIPPED
