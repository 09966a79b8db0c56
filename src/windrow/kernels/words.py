"""Whole numbers of several words: int64s, the highest first, which bears the sign.

    into[at]:   ...  │ high │ low │  ...      +=  times × (high, low)      modulo 2^128
                       first

A value of 64 bits, 2^62 times, has 126; of 128 bits, 190. So sums of two and of three words are
exact as long as results can be counted, and what was retracted leaves no trace.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic

WORD = 64
UNSIGNED = (1 << WORD) - 1
HALF = 32
MASK = (1 << HALF) - 1


def add_words_untyped(into: Any, at: Any, first: int, words: Any, times: Any) -> None:
    """Add, in Python's numbers. The plain twin of `add_words_compiled`."""
    columns = range(first, first + len(words))
    total = _joined([into[at, k] for k in columns]) + _joined(words) * int(times)
    for k in reversed(columns):
        into[at, k] = np.uint64(total & UNSIGNED).astype(np.int64)
        total >>= WORD


def _joined(words: Any) -> int:
    total = int(words[0])
    for word in words[1:]:
        total = total << WORD | int(word) & UNSIGNED
    return total


@intrinsic
def add_words_compiled(context: Any, into: Any, at: Any, first: Any, words: Any, times: Any) -> Any:
    """Add ``times`` a tuple of words to as many columns of a row, as one number.

    No branch on how large a number is: `sum_whole` and `early_whole` take 0.8 to 1.1 times as long
    as with a sum of each half of 32 bits, which overflowed with 2^31 results.
    """

    def generate(ctx: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, at_, first_, given, factor = arguments
        indices = [
            ctx.cast(builder, value, kind, types.int64)
            for value, kind in zip((at_, first_), signature.args[1:3], strict=True)
        ]
        made = ctx.make_array(signature.args[0])(ctx, builder, array)
        steps = cgutils.unpack_tuple(builder, made.strides)
        spot = builder.ptrtoint(made.data, ir.IntType(WORD))
        for index, step in zip(indices, steps, strict=True):
            spot = builder.add(spot, builder.mul(step, index))
        start = builder.inttoptr(spot, ir.IntType(WORD).as_pointer())
        count = len(signature.args[3])
        places = [builder.gep(start, [ir.IntType(WORD)(k)]) for k in range(count)]
        wide = ir.IntType(WORD * count)
        kept = _joined_words(builder, [builder.load(p) for p in places], wide)
        added = _joined_words(builder, cgutils.unpack_tuple(builder, given), wide)
        factor = ctx.cast(builder, factor, signature.args[4], types.int64)
        total = builder.add(kept, builder.mul(added, builder.sext(factor, wide)))
        for k, place in enumerate(places):
            word = builder.lshr(total, wide(WORD * (count - 1 - k)))
            builder.store(builder.trunc(word, ir.IntType(WORD)), place)
        return ctx.get_dummy_value()

    return types.void(into, at, first, words, times), generate


def _joined_words(builder: Any, words: Any, wide: Any) -> Any:
    total = builder.sext(words[0], wide)
    for word in words[1:]:
        total = builder.or_(builder.shl(total, wide(WORD)), builder.zext(word, wide))
    return total


add_words = add_words_untyped if numba.config.DISABLE_JIT else add_words_compiled  # type: ignore[attr-defined]


def words_of_limbs(limbs: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return rows of words with the values of rows of sums of 32 bits, the highest first.

    State of before sums had words is such sums. There is one word more than pairs of limbs.
    """
    limbs = limbs.copy()
    for k in range(limbs.shape[1] - 1, 0, -1):
        limbs[:, k - 1] += limbs[:, k] >> HALF
        limbs[:, k] &= MASK
    top = limbs[:, :1] >> HALF
    return np.hstack([top, limbs[:, ::2] << HALF | limbs[:, 1::2]])
