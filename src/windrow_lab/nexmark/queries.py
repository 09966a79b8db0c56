"""The queries of Nexmark in CQL: the scripts in ``cql`` beside this module."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from windrow.core.errors import InputError

NAMES = tuple(f"q{n}" for n in range(23))
SAME, WINDOWED = "same", "windowed"
KINDS = {"Same as the original.": SAME, "Its windowed form.": WINDOWED}
"""What the first line of a script says of its query."""


@dataclass(frozen=True, slots=True)
class NexmarkQuery:
    """One query: the statement that creates it, and whether it means what the original does."""

    name: str
    kind: str
    about: str
    script: str


@cache
def nexmark_query(name: str) -> NexmarkQuery:
    """Return a query by its name: ``q0`` to ``q22``.

    >>> nexmark_query("q2").about
    'Bids for some auctions.'
    """
    if name not in NAMES:
        raise InputError(
            f'there is no Nexmark query "{name}"', hint=f"They are {', '.join(NAMES)}."
        )
    path = files("windrow_lab.nexmark") / "cql" / f"q{int(name[1:]):02}.cql"
    text = path.read_text(encoding="utf-8")
    first, second = re.findall(r"^-- (.*)$", text, re.MULTILINE)[:2]
    _, _, kind = first.partition(f"Nexmark {name}. ")
    return NexmarkQuery(name, KINDS[kind], second, text)
