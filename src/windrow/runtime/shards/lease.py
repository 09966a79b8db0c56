"""The lease on a checkpoint: one run works on it at a time, and everybody can see which.

    DIR/lease/000000000007.json     who holds the checkpoint, and when that was last renewed

The newest number counts. A run takes the next number if the newest one is released or has lapsed;
a file appears under its name only if there is none, so of two runs one gets it. Numbers only grow:
a holder that was suspended sees a newer number when it wakes up, and ends.

| holder | has lapsed |
| --- | --- |
| a process of this machine | when the process is dead: at once |
| a process of another machine | when it has not renewed for 30 seconds, and is watched in vain |

Clocks of machines differ, so a lease that looks old is watched for two renewals before it is taken.
Readers need no lease.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from uuid import uuid4

from windrow.core.errors import RunError, WindrowError
from windrow.runtime.shards.files import Files, open_files
from windrow.runtime.shards.launch import born, lives

LOG = logging.getLogger(__name__)

FOLDER = "lease"
RENEWAL_SECONDS = 5.0
LAPSE_SECONDS = 30.0
WATCH_SECONDS = 2 * RENEWAL_SECONDS + 2
ATTEMPTS = 5
"""Claims that may be lost to others before this one is refused."""


class Standing(Enum):
    """What a lease that was found says: it may be taken, it may not, or it has to be watched."""

    FREE = "free"
    HELD = "held"
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class Holder:
    """A process, distinct from any other, also from a later one of its number.

    `machine` changes with every boot, and inside containers: process numbers mean nothing beyond.
    """

    process: int
    started: str
    host: str
    machine: str

    @classmethod
    def here(cls) -> Holder:
        """Return this process."""
        return cls(os.getpid(), born(os.getpid()), socket.gethostname(), machine())


@dataclass(frozen=True, slots=True)
class Record:
    """A lease as it is written down. Times are seconds since 1970, by the holder's clock."""

    holder: Holder
    token: str
    since: float
    renewed: float
    released: bool = False

    def to_json(self) -> str:
        """Return the record as text."""
        return json.dumps(asdict(self), indent=2)

    @classmethod
    def from_json(cls, text: str) -> Record | None:
        """Return a record; None if the text is none: a loss of power has cut it off."""
        try:
            read = json.loads(text)
            return cls(**{**read, "holder": Holder(**read["holder"])})
        except (ValueError, KeyError, TypeError):
            return None


def machine() -> str:
    """Return what all processes share whose numbers this process can look up."""
    parts = [socket.gethostname()]
    with suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    with suppress(OSError):
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(parts)


def standing(record: Record | None, here: str, now: float) -> Standing:
    """Return whether a lease may be taken by a process of the machine `here`."""
    if record is None or record.released:
        return Standing.FREE
    if record.holder.machine == here:
        alive = lives(record.holder.process, record.holder.started)
        return Standing.HELD if alive else Standing.FREE
    return Standing.HELD if abs(now - record.renewed) < LAPSE_SECONDS else Standing.SILENT


@dataclass(slots=True)
class Lease:
    """A lease that this process holds, renewed by a thread until it is released."""

    where: str
    files: Files
    number: int
    record: Record
    lost: WindrowError | None = None
    _on_lost: Callable[[WindrowError], object] | None = None
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def keep(self) -> Lease:
        """Renew the lease from now on."""
        self._thread = threading.Thread(target=self._renewals, name="windrow-lease", daemon=True)
        self._thread.start()
        return self

    def when_lost(self, on_lost: Callable[[WindrowError], object]) -> None:
        """Call `on_lost` when somebody else has the lease; at once if that is so already."""
        with self._lock:
            self._on_lost = on_lost
        if self.lost is not None:
            on_lost(self.lost)

    def _renewals(self) -> None:
        while not self._ended.wait(RENEWAL_SECONDS):
            try:
                if not self.renew():
                    with self._lock:
                        self.lost = _lost(self)
                        on_lost = self._on_lost
                    if on_lost is not None:
                        on_lost(self.lost)
                    return
            except (OSError, WindrowError) as error:
                LOG.warning("the lease on %s is not renewed: %s", self.where, error)

    def renew(self) -> bool:
        """Write down that the holder lives; False, and nothing is written, if it is another."""
        with self._lock:
            number, found = newest(self.files)
            if number != self.number or (found is not None and found.token != self.record.token):
                return False
            if not self._ended.is_set():
                self.record = replace(self.record, renewed=time.time())
                _write(self.files, self.number, self.record)
            return True

    def release(self) -> None:
        """Let others have the checkpoint. Nothing happens if they have it already."""
        if self._ended.is_set():
            return
        with suppress(OSError, WindrowError), self._lock:
            self._ended.set()
            number, found = newest(self.files)
            if number == self.number and found is not None and found.token == self.record.token:
                _write(self.files, number, replace(self.record, released=True))
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()


def take_lease(
    where: str,
    *,
    now: Callable[[], float] = time.time,
    sleep: Callable[[float], object] = time.sleep,
) -> Lease:
    """Return the lease on a checkpoint; `RunError` says who holds it if it cannot be had."""
    files, here = open_files(where), Holder.here()
    for _ in range(ATTEMPTS):
        number, found = newest(files)
        place = standing(found, here.machine, now())
        if place is Standing.SILENT and found is not None:
            place = _watched(files, found, sleep)
            number, found = newest(files)
        if place is Standing.HELD and found is not None:
            raise _held(where, found, here, now())
        mine = Record(here, uuid4().hex, now(), now())
        if _claimed(files, number + 1, mine):
            _remove_before(files, number + 1)
            return Lease(where, files, number + 1, mine).keep()
    raise RunError(
        f"the checkpoint {where} is wanted by several runs at once", hint="Start one of them."
    )


def newest(files: Files) -> tuple[int, Record | None]:
    """Return the newest lease and its number; 0 if there was none yet."""
    numbers = _numbers(files)
    if not numbers:
        return 0, None
    try:
        text = bytes(files.read(_path(numbers[-1]))).decode()
    except FileNotFoundError:  # a newer one has just taken its place
        return newest(files)
    return numbers[-1], Record.from_json(text)


def holder_of(where: str) -> Record | None:
    """Return who works on a checkpoint, for people who look into it; None if nobody does."""
    _, found = newest(open_files(where))
    held = standing(found, machine(), time.time()) is Standing.HELD
    return found if held else None


def _watched(files: Files, found: Record, sleep: Callable[[float], object]) -> Standing:
    """Look whether a lease that seems to have lapsed is renewed all the same."""
    LOG.warning(
        "the checkpoint was held by %s, whose lease seems to have lapsed; it is watched for %g s",
        named(found.holder),
        WATCH_SECONDS,
    )
    for _ in range(round(WATCH_SECONDS)):
        sleep(1.0)
        if newest(files)[1] != found:
            return Standing.HELD
    return Standing.FREE


def _claimed(files: Files, number: int, record: Record) -> bool:
    """Write a lease if nobody has its number; on systems that cannot say so, look once more."""
    draft = files.draft(_path(number))
    draft.write(record.to_json().encode())
    draft.sync()
    if not draft.claim():
        draft.abandon()
        return False
    _, found = newest(files)
    return found == record


def _write(files: Files, number: int, record: Record) -> None:
    draft = files.draft(_path(number))
    draft.write(record.to_json().encode())
    draft.publish()
    draft.abandon()


def _remove_before(files: Files, number: int) -> None:
    for older in _numbers(files):
        if older < number:
            files.remove(_path(older))


def _numbers(files: Files) -> list[int]:
    names = (name.removesuffix(".json") for name in files.sizes(FOLDER) if name.endswith(".json"))
    return sorted(int(name) for name in names if name.isdecimal())


def _path(number: int) -> str:
    return f"{FOLDER}/{number:012}.json"


def named(holder: Holder) -> str:
    """Return a process for people."""
    return f"process {holder.process} on {holder.host}"


def shown_time(seconds: float) -> str:
    """Return a time for people.

    >>> shown_time(0)
    '1970-01-01 00:00:00 UTC'
    """
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _held(where: str, found: Record, here: Holder, now: float) -> RunError:
    who, since = named(found.holder), shown_time(found.since)
    age = max(0.0, now - found.renewed)
    if found.holder == here:
        return RunError(
            f"the checkpoint {where} is in use by this process",
            detail=f"Another run, or a query of to_spark(), has worked on it since {since}.",
            hint="Stop that run first, or close the database that started it.",
        )
    if found.holder.machine == here.machine:
        next_step = f"Stop that run first: kill -TERM {found.holder.process} stops it gracefully."
    else:
        left = max(0.0, LAPSE_SECONDS - age)
        next_step = (
            f"Stop that run first. If {found.holder.host} is gone, start again in {left:.0f} s."
        )
    return RunError(
        f"the checkpoint {where} is in use by {who}",
        detail=f"It has worked there since {since}, and renewed its lease {age:.0f} s ago.",
        hint=f"{next_step} To look into it, windrow state needs no lease.",
    )


def _lost(lease: Lease) -> RunError:
    number, found = newest(lease.files)
    if found is None and number == 0:
        return RunError(
            f"the checkpoint {lease.where} has been removed while the run worked on it",
            hint="Bring it back from a copy, or start anew with new output.",
        )
    who = named(found.holder) if found is not None else "another process"
    return RunError(
        f"the checkpoint {lease.where} is now in use by {who}",
        detail=f"This run did not renew its lease for {LAPSE_SECONDS:.0f} s: it was suspended, or "
        "the file system did not answer.",
        hint="Nothing is lost: the other run goes on with it. Start this one again when that ends.",
    )
