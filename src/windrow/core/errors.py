"""Errors a user can meet: each has the fact, the reason, the next step and the place.

One root, one class a phase. Bugs are not here: they are `assert`s with a sentence.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """Characters ``[start, end)`` of the text that the user wrote."""

    start: int
    end: int

    def __or__(self, other: Span) -> Span:
        """Return the smallest span that covers both."""
        return Span(min(self.start, other.start), max(self.end, other.end))


class WindrowError(Exception):
    """Root of all errors that windrow raises on purpose.

    `message` is the fact, `detail` the reason, `hint` the next step. `span` is the place in
    `text`; `render` underlines it.
    """

    def __init__(
        self,
        message: str,
        *,
        detail: str = "",
        hint: str = "",
        span: Span | None = None,
        text: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint
        self.span = span
        self.text = text

    def locate(self, text: str, offset: int = 0) -> WindrowError:
        """Attach the text that `span` points into, unless it is known already.

        `offset` is where the parsed piece begins in `text`.
        """
        if self.text is None:
            self.text = text
            if self.span is not None and offset:
                self.span = Span(self.span.start + offset, self.span.end + offset)
        return self

    def render(self) -> str:
        """Return the whole message, with the place underlined in its line of the text."""
        lines = [f"error: {self.message}"]
        if self.text is not None and self.span is not None:
            lines += underline(self.text, self.span)
        if self.detail:
            lines.append(f"detail: {self.detail}")
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.render()


class ParseError(WindrowError):
    """The text is not CQL."""


class BindError(WindrowError):
    """A name or a type does not fit: unknown, ambiguous, or used where it cannot be."""


class SemanticError(WindrowError):
    """The query is well formed, yet it has no sound meaning over windows."""


class UnboundedStateError(SemanticError):
    """The query would have to store every tuple for ever, and did not ask for that."""


class InputError(WindrowError):
    """Tuples that do not fit the stream they were pushed to."""


class StateError(WindrowError):
    """Saved state that cannot be read, or that belongs to another query."""


class FullDiskError(StateError):
    """State that cannot be written: there is no room for it."""


class RunError(WindrowError):
    """A run that cannot go on: something that it needs has failed, or does not fit."""


class LimitError(WindrowError):
    """More memory than the state may take."""


def underline(text: str, span: Span) -> list[str]:
    r"""Return the line of `text` where `span` begins, and a line of carets below it.

    >>> for line in underline("SELECT a\nFROM nowhere", Span(14, 21)): print(line)
      2 | FROM nowhere
        |      ^^^^^^^
    """
    start = min(span.start, len(text))
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start)
    line = text[line_start : line_end if line_end >= 0 else len(text)]
    number = str(text.count("\n", 0, start) + 1)
    width = max(1, min(span.end, line_start + len(line)) - start)
    return [
        f"  {number} | {line}",
        f"  {' ' * len(number)} | {' ' * (start - line_start)}{'^' * width}",
    ]
