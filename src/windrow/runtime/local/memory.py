"""Memory that is used again and again stays with the process."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache

import pyarrow as pa

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8
KEPT = 1 << 29
"""Bytes that may stay with the process after they were freed."""


@cache
def keep_freed_memory(kept: int = KEPT, *, alone: bool = False) -> bool:
    """Ask the C library not to hand large arrays back to the system after each batch.

    Every batch makes arrays of some megabytes and frees them. The system takes such arrays back
    at once and gives them out again page by page: about a sixth of a join's time. This holds for
    the whole process; ``WINDROW_KEEP_MEMORY=0`` leaves the library as it is. Returns whether it
    was asked (only glibc can be).

    `alone`: the process does nothing else. Then Arrow's arrays come from the same memory, and all
    threads share it: by default each new one has memory of its own, in which no array of more
    than 64 MB has room.
    """
    if os.environ.get("WINDROW_KEEP_MEMORY") == "0" or not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    if alone:
        mallopt(M_ARENA_MAX, 1)
        pa.set_memory_pool(pa.system_memory_pool())
    return bool(mallopt(M_MMAP_THRESHOLD, kept // 2) and mallopt(M_TRIM_THRESHOLD, kept))


def give_back() -> None:
    """Hand all freed memory of the C library back to the system."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
