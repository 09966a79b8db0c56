"""Continuous queries over sliding windows: answers that stay true as tuples come and expire."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.core.errors import WindrowError

if TYPE_CHECKING:
    import pyarrow as pa

    from windrow.operators.aggregate.user_defined import UserAggregate
    from windrow.runtime.local.database import Database

__all__ = ["WindrowError", "connect", "register_aggregate"]


def connect(engine: str = "local") -> Database:
    """Open a database. Engine "local" runs queries in this process."""
    from windrow.runtime.engine import open_database  # noqa: PLC0415 - compilers load when needed

    return open_database(engine)


def register_aggregate(
    name: str,
    aggregate: type[UserAggregate],
    arguments: tuple[pa.DataType, ...],
    result: pa.DataType,
) -> None:
    """Let queries call an aggregate of your own: `init`, `add`, `result`, and maybe `remove`."""
    from windrow.operators.aggregate import register_aggregate as register  # noqa: PLC0415 - the same

    register(name, aggregate, arguments, result)
