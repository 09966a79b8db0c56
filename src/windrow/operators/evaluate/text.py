"""Kernels of text functions. Parameters that are constant are prepared once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.core.types import STRING
from windrow.kernels.text import edit_distances
from windrow.operators.evaluate.arrays import (
    Builder,
    Datum,
    Kernel,
    Raw,
    arrow,
    both,
    build,
    by_parameters,
    is_valid,
    keep_where,
    null_where,
    raw,
    validity,
)
from windrow.operators.evaluate.codepoints import ascii_, explode, translate
from windrow.operators.evaluate.regex import BUILDERS as REGEX_BUILDERS
from windrow.operators.few import scalar_of, texts
from windrow.plan.expressions import Call
from windrow.plan.functions.text import LONGEST

_length = arrow("utf8_length")
_join_or_null = arrow("binary_join_element_wise", pc.JoinOptions("emit_null"))
_coalesce = arrow("coalesce")
_repeat = arrow("binary_repeat")
_join_list = arrow("binary_join")
_capitalize = arrow("utf8_capitalize")
_EMPTY = scalar_of("", STRING)
_FARTHEST = 2**31 - 1


def _plain(name: str) -> Builder:
    function = arrow(name)
    return lambda _: function


def _initcap(_: Call) -> Kernel:
    """Capitalize words between blanks: split, change all words in one call, join again."""
    split = arrow("split_pattern", pc.SplitPatternOptions(" "))
    blank = scalar_of(" ", STRING)

    def kernel(value: pa.Array) -> pa.Array:
        lists = split(value)
        words = _capitalize(lists.values)
        again = pa.ListArray.from_arrays(lists.offsets, words)
        return null_where(_join_list(again, blank), ~_valid(value))

    return kernel


def _valid(array: pa.Array) -> Raw:
    valid = validity(array)
    return np.ones(len(array), np.bool_) if valid is None else valid


def _substring(start: int, length: int | None = None) -> Kernel:
    """Return ``substring(text, start, length)``; from the end if `start` is negative.

    ``substring('abc', -5, 3)`` begins two before the text, so it is ``'a'``.
    """
    if length is not None and length <= 0:
        return _constant_text("")
    first = start - 1 if start > 0 else start
    last = _FARTHEST + 1 if length is None else first + length
    open_end = last > _FARTHEST or first < 0 <= last
    first, last = (max(-_FARTHEST, min(edge, _FARTHEST)) for edge in (first, last))
    return arrow("utf8_slice_codeunits", pc.SliceOptions(first, None if open_end else last))


def _constant_text(text: str) -> Kernel:
    """Return a kernel that is `text` for every value but NULL."""
    constant = scalar_of(text, STRING)
    return lambda value: null_where(pa.repeat(constant, len(value)), ~_valid(value))


def _right(count: int) -> Kernel:
    return _substring(-count) if count > 0 else _constant_text("")


def _trim(name: str) -> Callable[[str], Kernel]:
    return lambda characters: arrow(name, pc.TrimOptions(characters)) if characters else _as_is


def _as_is(value: pa.Array) -> pa.Array:
    return value


def _pad(width: int, filler: str, *, before: bool) -> Kernel:
    """Pad to `width` code points, or cut to it: one padding a distinct length that is missing."""
    if width > LONGEST:
        return lambda value: pa.nulls(len(value), STRING)
    cut = _substring(1, width)
    if width <= 0 or not filler:
        return cut
    whole = filler * (width // len(filler) + 1)

    def kernel(value: pa.Array) -> pa.Array:
        text = cut(value)
        missing, which = np.unique(width - raw(_length(text)), return_inverse=True)
        paddings = pa.array([whole[:count] for count in missing], STRING).take(pa.array(which))
        return _join_or_null(*((paddings, text) if before else (text, paddings)), _EMPTY)

    return kernel


def _repeat_text(_: Call) -> Kernel:
    def kernel(value: Datum, times: Datum) -> pa.Array:
        length, count = np.broadcast_arrays(raw(_length(value)), np.maximum(raw(times), 0))
        count = np.where(length == 0, 0, count)
        fits = count <= LONGEST // np.maximum(length, 1)
        valid = both(validity(value, times), fits)
        return _repeat(value, build(pa.int64(), np.where(fits, count, 0), valid))

    return kernel


def _replace(part: str, instead: str = "") -> Kernel:
    if not part:
        return _as_is
    return arrow("replace_substring", pc.ReplaceSubstringOptions(part, instead))


def _instr(part: str) -> Kernel:
    """Return the code points before the first occurrence, plus 1; 0 if there is none."""
    if not part:
        return lambda value: build(pa.int32(), np.ones(len(value), np.int32), validity(value))
    split = arrow("split_pattern", pc.SplitPatternOptions(part, max_splits=1))

    def kernel(value: pa.Array) -> pa.Array:
        lists = split(value)
        offsets = raw(lists.offsets)
        found = np.diff(offsets) > 1
        before = np.append(raw(_length(lists.values)), 0)[offsets[:-1]]
        return build(pa.int32(), np.where(found, before + 1, 0).astype(np.int32), validity(value))

    return kernel


def _zeros(value: pa.Array) -> pa.Array:
    """Return INT 0 for every value but NULL."""
    return build(pa.int32(), np.zeros(len(value), np.int32), validity(value))


def _locate(call: Call) -> Kernel:
    part, text, start = call.args
    turned = Call("locate", (text, part, start), call.type, call.nullable)
    kernel = by_parameters(_locate_from)(turned)
    return lambda part, text, start: kernel(text, part, start)


def _locate_from(part: str, start: int) -> Kernel:
    """Return the position of `part` at or after `start`; 0 if there is none."""
    if start < 1 or not part:
        return _zeros if start < 1 else _instr("")
    rest, find = _substring(start), _instr(part)

    def kernel(value: pa.Array) -> pa.Array:
        found = raw(find(rest(value)))
        position = np.where(found > 0, found + (start - 1), 0).astype(np.int32)
        return build(pa.int32(), position, validity(value))

    return kernel


def _contains(name: str) -> Callable[[str], Kernel]:
    return lambda part: arrow(name, pc.MatchSubstringOptions(part))


def _split_part(separator: str, number: int) -> Kernel:
    """Return one of the parts, from the end if negative; '' beyond them, NULL for number 0."""
    if number == 0:
        return lambda value: pa.nulls(len(value), STRING)
    if not separator:
        return _as_is if number in (1, -1) else _constant_text("")
    split = arrow("split_pattern", pc.SplitPatternOptions(separator))

    def kernel(value: pa.Array) -> pa.Array:
        lists = split(value)
        offsets = raw(lists.offsets).astype(np.int64)
        at = offsets[:-1] + number - 1 if number > 0 else offsets[1:] + number
        inside = (at >= offsets[:-1]) & (at < offsets[1:])
        parts = lists.values.take(pa.array(np.where(inside, at, 0), mask=~inside))
        return null_where(parts.fill_null(""), ~_valid(value))

    return kernel


def _substring_index(separator: str, count: int) -> Kernel:
    """Return what is before the count-th separator, or behind it from the end if negative."""
    if not separator or count == 0:
        return _constant_text("")
    most = min(abs(count), LONGEST)
    options = pc.SplitPatternOptions(separator, max_splits=most, reverse=count < 0)
    split = arrow("split_pattern", options)

    def kernel(value: pa.Array) -> pa.Array:
        lists = split(value)
        starts, ends = raw(lists.offsets)[:-1].astype(np.int64), raw(lists.offsets)[1:]
        kept = np.minimum(ends - starts, most)
        first = starts if count > 0 else ends - kept
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
        at = np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], kept)
        again = pa.ListArray.from_arrays(
            pa.array(offsets, pa.int32()), lists.values.take(pa.array(at))
        )
        return null_where(_join_list(again, scalar_of(separator, STRING)), ~_valid(value))

    return kernel


def _octets(bits: int) -> Kernel:
    length = arrow("binary_length")
    return lambda value: build(pa.int32(), raw(length(value)) * np.int32(bits), validity(value))


def _levenshtein(_: Call) -> Kernel:
    def kernel(left: Datum, right: Datum) -> pa.Array:
        rows = max(len(d) for d in (left, right) if isinstance(d, pa.Array))
        a, b = (pa.repeat(d, rows) if isinstance(d, pa.Scalar) else d for d in (left, right))
        distances = np.zeros(rows, np.int32)
        (codes, starts), (others, ends) = explode(a), explode(b)
        room = np.empty(int(np.diff(ends).max(initial=0)) + 1, np.int64)
        edit_distances(
            codes.astype(np.int64), starts, others.astype(np.int64), ends, room, distances
        )
        return build(pa.int32(), distances, validity(a, b))

    return kernel


_CHARACTERS = texts([chr(code) for code in range(256)] + [""])


def _chr(value: pa.Array) -> pa.Array:
    """Return the Latin-1 character of the low byte; '' for negative numbers."""
    codes = raw(value)
    at = np.where(codes < 0, 256, codes & 255)
    return _CHARACTERS.take(build(pa.int64(), at, validity(value)))


def _concat(_: Call) -> Kernel:
    def kernel(*texts: Datum) -> pa.Array:
        return _join_or_null(*texts, _EMPTY)

    return kernel


def _concat_ws(call: Call) -> Kernel:
    """Join two at a time what is not NULL; Arrow's join drops rows where all texts are."""
    if len(call.args) == 1:
        return _constant_text("")

    def kernel(separator: Datum, *texts: Datum) -> pa.Array:
        joined = texts[0]
        for text in texts[1:]:
            joined = _coalesce(_join_or_null(joined, text, separator), joined, text)
        return keep_where(is_valid(separator), _coalesce(joined, _EMPTY))

    return kernel


BUILDERS: dict[str, Builder] = {
    **REGEX_BUILDERS,
    "upper": _plain("utf8_upper"),
    "lower": _plain("utf8_lower"),
    "initcap": _initcap,
    "reverse": _plain("utf8_reverse"),
    "length": _plain("utf8_length"),
    "ascii": lambda _: ascii_,
    "chr": lambda _: _chr,
    "trim": by_parameters(_trim("utf8_trim")),
    "ltrim": by_parameters(_trim("utf8_ltrim")),
    "rtrim": by_parameters(_trim("utf8_rtrim")),
    "substring": by_parameters(_substring),
    "right": by_parameters(_right),
    "lpad": by_parameters(partial(_pad, before=True)),
    "rpad": by_parameters(partial(_pad, before=False)),
    "repeat": _repeat_text,
    "replace": by_parameters(_replace),
    "translate": by_parameters(translate),
    "concat": _concat,
    "concat_ws": _concat_ws,
    "instr": by_parameters(_instr),
    "locate": _locate,
    "startswith": by_parameters(_contains("starts_with")),
    "endswith": by_parameters(_contains("ends_with")),
    "contains": by_parameters(_contains("match_substring")),
    "substring_index": by_parameters(_substring_index),
    "octet_length": lambda _: _octets(1),
    "bit_length": lambda _: _octets(8),
    "levenshtein": _levenshtein,
    "split_part": by_parameters(_split_part),
}
