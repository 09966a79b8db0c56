"""Memory that is used again and again stays with the process."""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT = 1 << 29
"""Bytes that may stay with the process after they were freed."""


@cache
def keep_freed_memory() -> bool:
    """Ask the C library not to hand large arrays back to the system after each batch.

    Every batch makes arrays of some megabytes and frees them. The system takes such arrays back
    at once and gives them out again page by page: about a sixth of a join's time. This holds for
    the whole process; ``WINDROW_KEEP_MEMORY=0`` leaves the library as it is. Returns whether it
    was asked (only glibc can be).
    """
    if os.environ.get("WINDROW_KEEP_MEMORY") == "0" or not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(M_MMAP_THRESHOLD, KEPT // 2) and mallopt(M_TRIM_THRESHOLD, KEPT))
