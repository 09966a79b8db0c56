"""Errors of queries while rows are delivered: every query gets its rows first, then one is raised.

    rows refused     reach no query, the push raises
    rows accepted    reach every query: all step, then all report, then the first error is raised

A query that an error stops in the midst of a step has **failed**: what its operators hold is of no
instant any more, so it steps no more and has no answer. An error of a function that takes reports
leaves the query as it is: the report is missed, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from windrow.core.errors import RunError

Raised = tuple[str, BaseException]
"""The name of a query, and what was raised in it."""


@dataclass(slots=True)
class Failures:
    """What was raised while rows were delivered, in order."""

    raised: list[Raised] = field(default_factory=list)

    def note(self, name: str, error: BaseException) -> None:
        """Note what a query has raised."""
        self.raised.append((name, error))

    def raise_first(self) -> None:
        """Raise the first error, if there is any; the others become notes of it.

        An interrupt goes before errors.
        """
        if not self.raised:
            return
        first = next((r for r in self.raised if not isinstance(r[1], Exception)), self.raised[0])
        for other in self.raised:
            if other[1] is not first[1]:
                first[1].add_note(f'query "{other[0]}" raised as well: {_shown(other[1])}')
        try:
            raise first[1]
        finally:
            self.raised = []  # the traceback refers to this frame


def failed_by(name: str, error: BaseException) -> str:
    """Return why a query has failed; the error gets a note of it."""
    error.add_note(
        f'query "{name}" has failed: the error has stopped it in the midst of a step. '
        "All other queries have got the rows."
    )
    return _shown(error)


def has_failed(name: str, reason: str) -> RunError:
    """Return the error for a use of a query that has failed."""
    return RunError(
        f'query "{name}" has failed',
        detail=f"It was stopped in the midst of a step by {reason}. Its state is of no instant, "
        "so it has no answer, and later rows do not reach it.",
        hint=f"DROP QUERY {name} and register it again, or restore() a snapshot of before.",
    )


def _shown(error: BaseException) -> str:
    text = str(error).split("\n", 1)[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
