"""The clock: only the work is timed, neither its preparation nor its check."""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import perf_counter
from typing import TypeVar

T = TypeVar("T")


def timed(work: Callable[[], T], *, collect: bool = True) -> tuple[float, T]:
    """Return the seconds that some work takes, and what it returns.

    Garbage is collected before. Without `collect` it is not, nor during the work: for runs that
    are shorter than a collection.
    """
    if collect:
        gc.collect()
    else:
        gc.disable()
    try:
        start = perf_counter()
        made = work()
        return perf_counter() - start, made
    finally:
        gc.enable()
