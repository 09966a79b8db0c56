"""Values written as text, the way CAST(... AS STRING) does it.

Floats are written with the fewest digits that read back as the same number. Timestamps have
no more digits of a second than they need.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from windrow.core.types import STRING, TIMESTAMP, is_decimal, is_float
from windrow.operators.evaluate.arrays import Kernel, arrow, reinterpret, unsafe_cast
from windrow.operators.evaluate.decimals import spell_decimal

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
