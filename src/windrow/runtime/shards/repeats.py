"""Failures that come again however often a task is repeated: no room in memory or on the disk.

    FOLDER/0003.failed     how shard 3 has failed last on this host, and in which version

Spark repeats a failed task a few times, and each time the shard would be rebuilt to fail again. So
the first failure is noted, and a repeated task fails at once. The note is of one run and version on
one host: another host may have the room, and the next run looks anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from windrow.core.errors import FullDiskError, LimitError, WindrowError

REPEATING: dict[str, type[WindrowError]] = {
    kind.__name__: kind for kind in (LimitError, FullDiskError)
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """A task that makes a version of a shard in a run; `again`: it was tried before."""

    note: Path
    run: str
    version: int
    again: bool

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note a failure that would come again; raise one that has come before, at once."""
        known = self._known() if self.again else None
        if known is not None:
            raise known
        try:
            yield
        except tuple(REPEATING.values()) as error:
            with suppress(OSError):  # the task is repeated then, to no harm
                self.note.write_text(self._text(error))
            raise

    def _text(self, error: WindrowError) -> str:
        parts = [type(error).__name__, error.message, error.detail, error.hint]
        return json.dumps({"run": self.run, "version": self.version, "error": parts})

    def _known(self) -> WindrowError | None:
        try:
            read = json.loads(self.note.read_text())
        except (OSError, ValueError):
            return None
        if (read["run"], read["version"]) != (self.run, self.version):
            return None
        name, message, detail, hint = read["error"]
        return REPEATING[name](message, detail=detail, hint=hint)
