"""Numbers and truth values read from text, and values written as text.

Text that is no number is NULL; blanks around a number are ignored.

    whole numbers   -12  +7  007          no point, no exponent
    decimals        -1.25  .5  3.         no exponent; digits too many are rounded off
    floats          1e-3  .5  NaN  Infinity  -inf

As text, as CAST(... AS STRING) has it, floats are written with the fewest digits that read back as
the same number. Timestamps have no more digits of a second than they need.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from windrow.core.types import BIGINT, BOOLEAN, STRING, TIMESTAMP, is_decimal, is_float
from windrow.operators.evaluate import decimals
from windrow.operators.evaluate.arrays import (
    Kernel,
    arrow,
    if_else,
    keep_where,
    reinterpret,
    unsafe_cast,
)
from windrow.operators.evaluate.decimals import spell_decimal
from windrow.operators.few import scalar_of

_to_text = unsafe_cast(STRING)
_WALL = pa.timestamp("us")


def _substitute(pattern: str, instead: str) -> Kernel:
    return arrow("replace_substring_regex", pc.ReplaceSubstringOptions(pattern, instead))


_drop_zeros = _substitute(r"\.?0{1,6}$", "")
_name_nan = _substitute("^nan$", "NaN")
_name_infinity = _substitute("inf$", "Infinity")
_add_point = _substitute(r"^(-?[0-9]+)$", r"\1.0")


def spell(source: pa.DataType) -> Kernel:
    """Return the conversion of a type to text."""
    if is_float(source):
        return lambda value: _add_point(_name_infinity(_name_nan(_to_text(value))))
    if source == TIMESTAMP:
        return lambda value: _drop_zeros(_to_text(reinterpret(value, _WALL)))
    if is_decimal(source):
        return spell_decimal(source)
    return _to_text


WHOLE = r"^ *[+-]?[0-9]+ *$"
DECIMAL = r"^ *[+-]?([0-9]+\.?[0-9]*|\.[0-9]+) *$"
DOUBLE = r"(?i)^ *[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,4})?|nan|inf(inity)?) *$"

TRUE_WORDS = ("t", "true", "y", "yes", "1")
FALSE_WORDS = ("f", "false", "n", "no", "0")

_trim = arrow("utf8_trim", pc.TrimOptions(" "))
_drop_plus = arrow("utf8_ltrim", pc.TrimOptions("+"))
_lower = arrow("utf8_lower")


def parse_number(type_: pa.DataType) -> Kernel:
    """Return the reader of BIGINT or DOUBLE."""
    pattern = WHOLE if type_ == BIGINT else DOUBLE
    looks_right = arrow("match_substring_regex", pc.MatchSubstringOptions(pattern))
    read = unsafe_cast(type_)

    def kernel(text: pa.Array) -> pa.Array:
        numerals = _drop_plus(_trim(keep_where(looks_right(text), text)))
        try:
            return read(numerals)
        except pa.ArrowInvalid:  # a whole number of too many digits
            return _through_decimals(numerals)

    return kernel


def _through_decimals(numerals: pa.Array) -> pa.Array:
    """Read whole numbers of which some have more digits than BIGINT."""
    wide = pa.decimal128(38, 0)
    return decimals.to_whole(wide, BIGINT)(parse_decimal(wide)(numerals))


def parse_decimal(type_: pa.DataType) -> Kernel:
    """Return the reader of a decimal type.

    Digits past the one that decides the rounding are cut off first, and so are zeros in
    front, so that what is left fits 256 bits, or the number is too large in any case.
    """
    looks_right = arrow("match_substring_regex", pc.MatchSubstringOptions(DECIMAL))
    cut = arrow(
        "replace_substring_regex",
        pc.ReplaceSubstringOptions(
            rf"^([+-]?)0*([0-9]*\.?[0-9]{{0,{type_.scale + 1}}})[0-9]*$", r"\1\2"
        ),
    )
    short = arrow("match_substring_regex", pc.MatchSubstringOptions(r"^[+-]?[0-9]{0,37}(\.|$)"))
    wide = pa.decimal256(decimals.WIDEST, type_.scale + 1)
    read, fit = unsafe_cast(wide), decimals.fit_decimal(wide, type_)
    zero = scalar_of("0", STRING)

    def kernel(text: pa.Array) -> pa.Array:
        # What is no number becomes NULL, then what has too many digits.
        numerals = cut(_trim(keep_where(looks_right(text), text)))
        numerals = keep_where(short(numerals), numerals)
        empty = pc.is_in(numerals, pa.array(["", "+", "-", ".", "+.", "-."]))
        return fit(read(if_else(empty, zero, numerals)))

    return kernel


def parse_boolean(text: pa.Array) -> pa.Array:
    """Read truth values in Spark's spellings."""
    word = _lower(_trim(text))
    truth = pc.is_in(word, pa.array(TRUE_WORDS, STRING))
    known = pc.or_(truth, pc.is_in(word, pa.array(FALSE_WORDS, STRING)))
    return if_else(known, truth, scalar_of(None, BOOLEAN))
