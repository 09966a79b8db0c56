"""Kernels of the functions that take regular expressions (RE2)."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from windrow.core.types import STRING
from windrow.operators.evaluate.arrays import Builder, Kernel, arrow, constants, keep_where
from windrow.operators.few import scalar_of
from windrow.plan.expressions import Call
from windrow.plan.functions.text import name_groups, split_replacement

_coalesce = arrow("coalesce")
_is_valid = arrow("is_valid")


def _regexp_extract(call: Call) -> Kernel:
    """Return one group of the first match; '' where nothing matches."""
    known = constants(call, 1)
    assert known is not None, "the catalogue asks for constant patterns"
    pattern, group = known
    named, _ = name_groups(pattern)
    match = arrow("extract_regex", pc.ExtractRegexOptions(f"(?P<g0>{named})"))
    field = arrow("struct_field", pc.StructFieldOptions([group]))
    empty = scalar_of("", STRING)

    def kernel(value: pa.Array, *_: object) -> pa.Array:
        found = _coalesce(field(match(value)), empty)
        return keep_where(_is_valid(value), found) if value.null_count else found

    return kernel


def _regexp_replace(call: Call) -> Kernel:
    known = constants(call, 1)
    assert known is not None, "the catalogue asks for constant patterns"
    pattern, replacement = known
    rewrite = "".join(
        f"\\{piece}" if isinstance(piece, int) else piece.replace("\\", "\\\\")
        for piece in split_replacement(replacement)
    )
    replace = arrow("replace_substring_regex", pc.ReplaceSubstringOptions(pattern, rewrite))
    return lambda value, *_: replace(value)


def _regexp_count(call: Call) -> Kernel:
    known = constants(call, 1)
    assert known is not None, "the catalogue asks for constant patterns"
    count = arrow("count_substring_regex", pc.MatchSubstringOptions(known[0]))
    return lambda value, *_: count(value)


BUILDERS: dict[str, Builder] = {
    "regexp_extract": _regexp_extract,
    "regexp_replace": _regexp_replace,
    "regexp_count": _regexp_count,
}
