"""Aggregates of the user's own on their way to the shards: as text in the program.

The class goes by value, pickled by who starts the run, so that executors need not have the module
that it stands in; what it imports they must have. State depends on what it does: a changed one is
another program.
"""

from __future__ import annotations

import base64
import pickle
import sys
from dataclasses import dataclass

from windrow.core.errors import StateError
from windrow.runtime.shards.digest import digest_of


@dataclass(frozen=True, slots=True)
class Shipped:
    """An aggregate: its name, its pickled class and types in base64, and what it does, digested."""

    name: str
    code: str
    digest: str

    @classmethod
    def of(cls, name: str, aggregate: type, pickled: bytes) -> Shipped:
        """Return a registered aggregate, which the caller has pickled."""
        return cls(name, base64.b64encode(pickled).decode(), digest_of(aggregate))

    def install(self) -> None:
        """Let queries of this process call it, unless they can already."""
        from windrow.operators.aggregate.user_defined import (  # noqa: PLC0415 - it compiles
            REGISTERED,
            register_aggregate,
        )

        if self.name in REGISTERED:
            return
        try:
            found = pickle.loads(base64.b64decode(self.code))
        except Exception as error:
            raise StateError(
                f'the aggregate "{self.name}" cannot be loaded here',
                detail=f"{type(error).__name__}: {error}. Python is {sys.version.split()[0]}.",
                hint="Install what it imports on every executor, in the Python that has made it.",
            ) from error
        register_aggregate(self.name, found.aggregate, found.arguments, found.result)
