"""Input to pieces: a statement up to its semicolon, or a line that begins with a dot.

Only quotes and comments are understood here: the parser is loaded when there is something to
parse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

TOKEN = re.compile(
    r"--[^\n]*|/\*(?:.*?\*/|.*\Z)|"  # comments
    r"'(?:[^'\\]|\\.|'')*(?:'|\Z)|"  # texts; what is opened and never closed goes on to the end
    r'"(?:[^"\\]|\\.|"")*(?:"|\Z)|`[^`]*(?:`|\Z)|“[^”]*(?:”|\Z)|‘[^’]*(?:’|\Z)|;',
    re.DOTALL,
)
SPACE = re.compile(r"(?:\s+|--[^\n]*|/\*.*?\*/)*", re.DOTALL)


@dataclass(slots=True)
class StatementBuffer:
    """Lines that have been typed and are no whole statement yet."""

    text: str = ""

    @property
    def is_empty(self) -> bool:
        """Return whether only blanks and comments wait."""
        return SPACE.fullmatch(self.text) is not None

    def add(self, line: str) -> list[str]:
        """Take a line; return what it completes."""
        if self.is_empty and line.lstrip().startswith("."):
            self.text = ""
            return [line.strip()]
        self.text += f"{line}\n"
        return self._completed()

    def _completed(self) -> list[str]:
        done = []
        start = 0
        for token in TOKEN.finditer(self.text):
            if token[0] == ";":
                done.append(self.text[start : token.end()])
                start = token.end()
        self.text = self.text[start:].lstrip()
        return [piece.strip() for piece in done if not SPACE.fullmatch(piece[:-1])]

    def rest(self) -> list[str]:
        """Return what waits, at the end of the input: its semicolon may be missing."""
        text, self.text = self.text.strip(), ""
        return [] if SPACE.fullmatch(text) else [text]


def pieces(text: str) -> Iterator[str]:
    r"""Yield the statements and dot-commands of a script.

    >>> list(pieces("SELECT ';' -- ;\n;\n.push s ts=1\nSET a = 1; SHOW\nSTREAMS"))
    ["SELECT ';' -- ;\n;", '.push s ts=1', 'SET a = 1;', 'SHOW\nSTREAMS']
    """
    buffer = StatementBuffer()
    for line in text.splitlines():
        yield from buffer.add(line)
    yield from buffer.rest()
