"""How kernels are compiled: one decorator, one set of flags, one place on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from windrow.kernels.cache import cache_folder, kernels_are_cold, remove_unused

__all__ = ["force_inlined", "inlined", "kernel", "kernels_are_cold"]

# Numba asks for the folder when a decorator runs, so this stands before the first. Functions of
# the user's own that are decorated later are kept there too; they are only compiled again sooner.
numba.config.CACHE_DIR = str(cache_folder())  # type: ignore[attr-defined]
remove_unused()


FLAGS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
INLINE: dict[str, Any] = {**FLAGS, "inline": "always"}
LEAN: dict[str, Any] = {**FLAGS, "_nrt": False}
FORCE_INLINE: dict[str, Any] = {**LEAN, "forceinline": True}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop over arrays, once a machine: the result is kept on disk.

    Arguments are int64, float64 or bool arrays, C-contiguous, and scalars, so that each kernel
    is compiled for one signature only. Indices are not checked: tests run kernels with
    ``NUMBA_DISABLE_JIT=1`` too, where numpy checks them.

    A kernel makes no arrays, so it is compiled without reference counts (`_nrt`): numba counts
    the references of every array that one compiled function hands to another, inside inner
    loops too. Without them a search for a string takes 17 ns instead of 72, a whole join
    272-277 ns a tuple instead of 323-354.
    """
    compiled: Callable[..., Any] = numba.njit(**LEAN)(function)
    return compiled


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a small step that kernels call; numba inlines it."""
    compiled: Callable[..., Any] = numba.njit(**INLINE)(function)
    return compiled


def force_inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a larger step that one kernel calls; LLVM inlines it.

    Numba's own inlining (`inlined`) takes time that grows with the kernel.
    """
    compiled: Callable[..., Any] = numba.njit(**FORCE_INLINE)(function)
    return compiled
