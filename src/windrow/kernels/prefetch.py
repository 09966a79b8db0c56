"""Prefetch: load a line of memory that is read soon."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic

from windrow.kernels.jit import inlined

AHEAD = 16
"""How many rows ahead loops announce what they will read: about as long as memory takes."""


def soon_untyped(array: Any, index: Any) -> None:
    """Do nothing: without a compiler there is nothing to prefetch."""


@intrinsic
def soon_compiled(context: Any, array: Any, index: Any) -> Any:
    """Announce that ``array[index]``, or its row of that index, is read and written soon."""

    def generate(ctx: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        made = ctx.make_array(signature.args[0])(ctx, builder, arguments[0])
        step = cgutils.unpack_tuple(builder, made.strides)[0]
        start = builder.ptrtoint(made.data, ir.IntType(64))
        spot = builder.add(start, builder.mul(step, arguments[1]))
        pointer = builder.inttoptr(spot, cgutils.voidptr_t)
        word = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, word, word, word])
        prefetch_call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(prefetch_call, [pointer, word(1), word(3), word(1)])
        return ctx.get_dummy_value()

    return types.void(array, index), generate


soon = soon_untyped if numba.config.DISABLE_JIT else soon_compiled  # type: ignore[attr-defined]


@inlined
def place(number):
    """Return a number as an index that cannot be negative.

    Numba lets a signed index count from the end, which costs a comparison a look, and with it
    the overlap of looks that miss the cache: 6 ns a row of four words instead of 16.
    """
    return np.uint64(number)
