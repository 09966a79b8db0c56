"""Which keys of a relation are one: as in joins, 0.0 and -0.0, and NaN and NaN."""

from __future__ import annotations

from collections.abc import Iterable


def key_of(values: Iterable[object]) -> str:
    """Return what equal keys have in common, as text.

    >>> key_of([0.0, "a"]) == key_of([-0.0, "a"]), key_of([1]) == key_of(["1"])
    (True, False)
    """
    return repr([v + 0.0 if isinstance(v, float) else v for v in values])  # -0.0 + 0.0 is 0.0
