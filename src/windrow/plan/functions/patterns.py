"""Regular expressions of RE2: their groups, and the replacements that name them."""

from __future__ import annotations

import re

_PIECE = re.compile(
    r"\\Q.*?(?:\\E|$)"  # quoted text
    r"|\\."  # an escape
    r"|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]"  # a class of characters
    r"|\((?:\?P?<\w+>)?(?!\?)"  # the opening of a group that captures
    r"|.",
    re.DOTALL,
)


def name_groups(pattern: str) -> tuple[str, int]:
    """Return the pattern with its groups named g1, g2, ..., and how many there are.

    >>> name_groups(r"(a)[(](?:b)(?P<c>c)")
    ('(?P<g1>a)[(](?:b)(?P<g2>c)', 2)
    """
    count = 0

    def name(piece: re.Match[str]) -> str:
        nonlocal count
        if not piece.group().startswith("("):
            return piece.group()
        if piece.group() == "(" and pattern.startswith("?", piece.end()):
            return "("
        count += 1
        return f"(?P<g{count}>"

    return _PIECE.sub(name, pattern), count


def split_replacement(replacement: str) -> list[str | int]:
    r"""Split a replacement into text and the numbers of groups: ``$1``; ``\$`` is a dollar.

    >>> split_replacement(r"a$1\$2")
    ['a', 1, '$2']
    """
    pieces: list[str | int] = []
    for escaped, group, other in re.findall(r"\\(.)|\$(\d)|(.)", replacement, re.DOTALL):
        text = escaped or other
        if group:
            pieces.append(int(group))
        elif pieces and isinstance(pieces[-1], str):
            pieces[-1] += text
        else:
            pieces.append(text)
    return pieces
