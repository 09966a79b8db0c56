"""Names that are nearly right."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches


def near(name: str, known: Sequence[str]) -> str:
    """Return ``Did you mean ...?`` for the known names close to a wrong one, or nothing.

    >>> near("agregate", ["Aggregate", "Join"])
    'Did you mean Aggregate?'
    """
    by_lower = {k.lower(): k for k in known}
    close = get_close_matches(name.lower(), list(by_lower), n=3, cutoff=0.6)
    return f"Did you mean {' or '.join(by_lower[c] for c in close)}?" if close else ""
