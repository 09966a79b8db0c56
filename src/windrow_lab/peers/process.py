"""A peer at work in a process of its own: a request in, JSON lines out, its memory watched."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from windrow_lab.peers.memory import MOST, MemoryWatch

DRIVERS = Path(__file__).parent / "drivers"
PATIENCE = 600.0
"""Seconds that a process gets for all runs of a request."""
SHOWN = 300
"""Characters of a failure that are shown."""
RAISED = re.compile(r"[\w.]+(Error|Exception|Exit|Interrupt)\b")
"""The line of a traceback that says what was raised; an engine's own report may follow it."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a request: name, seconds, most memory meanwhile, and what else was reported."""

    name: str
    seconds: float
    peak_bytes: int = 0
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a request. `failure` is empty unless something went wrong.

    `cannot` is why the engine is no match for the request: it has no words for it, or no end.
    """

    ready_seconds: float = 0.0
    runs: tuple[Run, ...] = ()
    failure: str = ""
    cannot: str = ""

    @property
    def peak_bytes(self) -> int:
        """The most memory of all runs."""
        return max((run.peak_bytes for run in self.runs), default=0)

    def named(self, name: str) -> tuple[Run, ...]:
        """Return the runs of a name, in order."""
        return tuple(run for run in self.runs if run.name == name)


def ask(
    python: Path | str,
    driver: Path,
    request: Mapping[str, Any],
    *,
    patience: float = PATIENCE,
    most: int = MOST,
) -> Outcome:
    """Let a driver answer a request in a new process, and wait for its end.

    The process leads a group of its own, which is ended whole after `patience` seconds, or when
    it has taken `most` bytes: an engine's JVM and workers go with it.
    """
    with tempfile.TemporaryDirectory(prefix="windrow-peer-") as folder:
        path = Path(folder) / "request.json"
        path.write_text(json.dumps(request))
        with (Path(folder) / "errors").open("w+") as errors:
            process = subprocess.Popen(
                [str(python), str(driver), str(path)],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
                cwd=folder,
            )
            events, ended = watched(process, patience, most)
            errors.seek(0)
            if ended:
                return replace(outcome(events, ""), cannot=ended)
            return outcome(events, failure_of(process.returncode, errors.read()))


def watched(
    process: subprocess.Popen[str], patience: float, most: int
) -> tuple[list[dict[str, Any]], str]:
    """Read a process to its end; return its events, and why it was ended if it was."""
    reasons: list[str] = []

    def end(reason: str) -> None:
        reasons.append(reason)
        end_group(process.pid)

    timer = threading.Timer(patience, end, (f"not done after {patience:g} seconds",))
    timer.start()
    too_much = partial(end, f"took more than {most / 1e9:.3g} GB of memory")
    try:
        assert process.stdout is not None
        with MemoryWatch(process.pid, too_much, most) as watch, process.stdout as lines:
            found = [event | {"peak_bytes": watch.take()} for event in events_of(lines)]
            process.wait()
    finally:
        timer.cancel()
        end_group(process.pid)
    return found, reasons[0] if reasons else ""


def end_group(leader: int) -> None:
    """End what is left of the group that a process of ours leads."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        return


def events_of(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the JSON lines; an engine may write other lines between them."""
    for line in lines:
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(event, dict) and "event" in event:
            yield event


def failure_of(code: int, errors: str) -> str:
    """Return why a process failed; empty if it did not."""
    if code == 0:
        return ""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    raised = [line for line in lines if RAISED.match(line)]
    if code < 0 and not causes and not raised:
        return f"ended by {signal.Signals(-code).name}"
    return (causes or raised or lines or [f"ended with code {code}"])[-1][:SHOWN]


def outcome(events: list[dict[str, Any]], failure: str) -> Outcome:
    """Make one outcome of a driver's events."""
    ready, runs, cannot = 0.0, [], ""
    for event in events:
        match event.pop("event"):
            case "ready":
                ready = event["seconds"]
            case "run":
                name, seconds = event.pop("name"), event.pop("seconds")
                runs.append(Run(name, seconds, event.pop("peak_bytes"), event))
            case "cannot":
                cannot = event["reason"]
    return Outcome(ready, tuple(runs), failure, cannot)
