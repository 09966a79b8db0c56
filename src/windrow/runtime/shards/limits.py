"""How much memory a shard may take, and what is said when it is too much."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from windrow.core.errors import LimitError
from windrow.runtime.local.memory import give_back

ENVIRONMENT = "WINDROW_SHARD_MEMORY"
SHARE = 0.7
"""Of the machine's memory, for all shards together."""
ALLOWANCE = 1 << 29
"""Bytes of a process beside its state: the interpreter, compiled loops, freed memory."""
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def shard_limit(shards: int) -> int:
    """Return the bytes that the state of one shard may have, here.

    ``WINDROW_SHARD_MEMORY`` says it ("800m", "12g", or bytes); else all shards of a program
    together may take 70 % of the memory that this machine, or this container, has.
    """
    asked = os.environ.get(ENVIRONMENT)
    return parse_bytes(asked) if asked else int(SHARE * machine_memory() / shards)


def parse_bytes(text: str) -> int:
    """Return a size in bytes.

    >>> parse_bytes("800m"), parse_bytes("1.5g"), parse_bytes("4096")
    (838860800, 1610612736, 4096)
    """
    lower = text.strip().lower().removesuffix("b")
    unit = UNITS.get(lower[-1:], 1)
    with suppress(ValueError):
        size = float(lower if unit == 1 else lower[:-1])
        if size > 0:
            return int(size * unit)
    raise LimitError(
        f"{ENVIRONMENT}={text} is no size", hint="Write bytes, or for example 800m or 12g."
    )


def machine_memory() -> int:
    """Return the bytes of memory that processes here may share."""
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            sizes.append(int(Path("/sys/fs/cgroup", name).read_text()))
    return min(sizes)


def resident() -> int:
    """Return the bytes of memory that are this process's own now; 0 where it is not known."""
    with suppress(OSError):
        _, pages, of_files, *_ = map(int, Path("/proc/self/statm").read_text().split())
        return (pages - of_files) * os.sysconf("SC_PAGE_SIZE")
    return 0


def resident_within(bound: int) -> int:
    """Return the same, without freed memory if there is more than `bound` with it."""
    if resident() > bound:
        give_back()
    return resident()


def check_memory(stats: Mapping[str, Any], limit: int, shard: int) -> None:
    """Raise `LimitError` if the state, or the whole process, is over the limit."""
    state, process = state_bytes(stats), resident_within(limit + ALLOWANCE)
    if state <= limit and process <= limit + ALLOWANCE:
        return
    raise LimitError(
        f"shard {shard} needs more memory than it may have: its state has {shown(state)}, "
        f"its process {shown(process)}, and the limit is {shown(limit)}",
        detail=" ".join(_holders(stats)),
        hint="Run with more shards on more machines, a smaller window, or SLIDE so that panes are "
        f"kept in place of tuples; or set {ENVIRONMENT} if the machine has more to give.",
    )


def check_room(limit: int) -> None:
    """Raise `LimitError` if there is no room for more rows of a batch."""
    process = resident_within(limit + ALLOWANCE)
    if process > limit + ALLOWANCE:
        raise LimitError(
            f"the rows of one batch do not fit: the process has {shown(process)}, "
            f"and the limit is {shown(limit)} beside {shown(ALLOWANCE)} for itself",
            hint="Take fewer rows a trigger (maxFilesPerTrigger, maxOffsetsPerTrigger), use more "
            f"shards, or set {ENVIRONMENT} if the machine has more to give.",
        )


def state_bytes(stats: Mapping[str, Any]) -> int:
    """Return the bytes of state of all queries."""
    return sum(int(query["state_bytes"]) for query in stats["queries"].values())


def state_rows(stats: Mapping[str, Any]) -> int:
    """Return the rows of state of all queries."""
    return sum(int(query["state_rows"]) for query in stats["queries"].values())


def _holders(stats: Mapping[str, Any]) -> list[str]:
    held = [(int(q["state_bytes"]), name) for name, q in stats["queries"].items()]
    return [f'Query "{name}" holds {shown(size)}.' for size, name in sorted(held, reverse=True)]


def shown(size: int) -> str:
    """Return a size for people.

    >>> shown(999), shown(123_456_789)
    ('999 bytes', '117.7 MB')
    """
    for unit, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
