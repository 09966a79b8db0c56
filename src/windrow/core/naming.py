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
    >>> near("now", ["pow", "or"])
    ''
    """
    by_lower = {k.lower(): k for k in known}
    close = close_names(name.lower(), list(by_lower), most=3)
    return f"Did you mean {' or '.join(by_lower[c] for c in close)}?" if close else ""


def close_names(name: str, known: Sequence[str], most: int = 1) -> list[str]:
    """Return the known names that a wrong one may have been meant to be, the closest first."""
    close = get_close_matches(name, known, n=most, cutoff=0.6)
    return [candidate for candidate in close if is_slip(name, candidate)]


def is_slip(written: str, meant: str) -> bool:
    """Return whether one name may be a slip of the pen for another, as they are long.

    The longer a name, the more letters of it may be wrong: one up to six, two up to nine, then
    three. In a name of three or four, a letter may be missing, doubled or in the other's place, but
    another letter in its place is another name. A part of a name at its beginning or its end, of
    three letters or more, may also stand for it.

    >>> [is_slip(*pair.split()) for pair in ("smu sum", "summ sum", "cuont count", "src src_ip")]
    [True, True, True, True]
    >>> [is_slip(*pair.split()) for pair in ("now pow", "corr or", "lag log", "foo floor")]
    [False, False, False, False]
    """
    short, long = sorted((written, meant), key=len)
    if len(short) >= 3 and (long.startswith(short) or long.endswith(short)):
        return True
    steps = _edits(written, meant)
    if len(written) == len(meant) <= 4:
        return steps == 1 and sorted(written) == sorted(meant)
    return steps <= (1 if len(long) <= 6 else 2 if len(long) <= 9 else 3)


def _edits(one: str, other: str) -> int:
    """Return how many letters have to be put in, left out, changed or swapped with the next."""
    before, row = [0] * (len(other) + 1), list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        oldest, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                best = min(best, oldest[j - 2] + 1)
            row.append(best)
    return row[-1]
