"""Choosing an engine."""

from __future__ import annotations

from windrow.core.errors import BindError
from windrow.runtime.local.database import Database

ENGINES = ("local",)


def open_database(engine: str) -> Database:
    """Open a database: "local" runs in this process."""
    if engine not in ENGINES:
        raise BindError(f'unknown engine "{engine}"', hint=f"The engines are {', '.join(ENGINES)}.")
    return Database()
