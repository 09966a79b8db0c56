"""Names and texts that users give: checked, shown, and those that are nearly right."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from windrow.core.errors import InputError

SHOWN = 60
"""Characters of a value that an error shows."""


def require_text(value: object, what: str, hint: str = "") -> str:
    """Return a value that has to be a text; refuse any other.

    >>> require_text(5, "the name of a query")
    Traceback (most recent call last):
    windrow.core.errors.InputError: error: the name of a query is a text, not 5
    detail: It is of type int.
    hint: Give a str.
    """
    if not isinstance(value, str):
        raise InputError(
            f"{what} is a text, not {shown(value)}",
            detail=f"It is of type {type(value).__name__}.",
            hint=hint or "Give a str.",
        )
    return value


def shown(value: object) -> str:
    """Return a value as an error shows it: whatever it is, and not for pages.

    >>> shown("a" * 99)[-6:], shown(5)
    ('aaa...', '5')
    """
    try:
        text = " ".join(repr(value).split())
    except Exception:  # of the user's own class, which has none to show
        return f"a {type(value).__name__}"
    text = text.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def near(name: str, known: Sequence[str]) -> str:
    """Return ``Did you mean ...?`` for the known names close to a wrong one, or nothing.

    >>> near("agregate", ["Aggregate", "Join"])
    'Did you mean Aggregate?'
    """
    by_lower = {k.lower(): k for k in known}
    close = get_close_matches(name.lower(), list(by_lower), n=3, cutoff=0.6)
    return f"Did you mean {' or '.join(by_lower[c] for c in close)}?" if close else ""
