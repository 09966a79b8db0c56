"""Continuous queries over sliding windows: answers that stay true as tuples come and expire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.core.errors import WindrowError

if TYPE_CHECKING:
    from windrow.runtime.local.database import Database

__all__ = ["WindrowError", "connect"]


def connect(engine: str = "local") -> Database:
    """Open a database. Engine "local" runs queries in this process."""
    from windrow.runtime.engine import open_database  # noqa: PLC0415 - compilers load when needed

    return open_database(engine)
