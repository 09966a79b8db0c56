"""Continuous queries over sliding windows: answers that stay true as tuples come and expire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from windrow.core.errors import (
    BindError,
    FullDiskError,
    InputError,
    LimitError,
    ParseError,
    RunError,
    SemanticError,
    StateError,
    UnboundedStateError,
    WindrowError,
)
from windrow.core.processor import Costs, Processor
from windrow.core.scheduling import LongestQueue, OldestFirst, RoundRobin

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    import pyarrow as pa

    from windrow.operators.aggregate.user_defined import UserAggregate
    from windrow.runtime.local.database import Database
    from windrow.runtime.spark.database import SparkDatabase

__all__ = [
    "BindError",
    "Costs",
    "FullDiskError",
    "InputError",
    "LimitError",
    "LongestQueue",
    "OldestFirst",
    "ParseError",
    "Processor",
    "RoundRobin",
    "RunError",
    "SemanticError",
    "StateError",
    "UnboundedStateError",
    "WindrowError",
    "__version__",
    "connect",
    "register_aggregate",
    "register_function",
]


def __getattr__(name: str) -> str:
    """Return ``windrow.__version__``: that of the package as it is installed."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import version  # noqa: PLC0415 - most programs never ask

    return version("windrow")


@overload
def connect(
    engine: Literal["local"] = "local",
    *,
    processor: Processor | None = None,
    now: Callable[[], int | str | datetime] | None = None,
) -> Database: ...
@overload
def connect(
    engine: Literal["spark"],
    *,
    checkpoint: str | None = None,
    shards: int = 2,
    spark: Any = None,  # a SparkSession
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
) -> SparkDatabase: ...
def connect(engine: str = "local", **options: object) -> Database | SparkDatabase:
    """Open a database. Engine "local" runs queries in this process, "spark" on Spark.

    In process, a `processor` makes work take (virtual) time, to see what waits and for how long;
    `now` is the wall clock that MAX AHEAD of a stream goes by, if not the machine's.
    On Spark `checkpoint` is the folder that makes runs go on after a stop or a crash, `shards`
    the number of parts that keys are spread over; `spark` is a session to use, else one is
    started on `master` (all cores of this machine), with the settings in `conf`.
    """
    from windrow.runtime.engine import open_database  # noqa: PLC0415 - compilers load when needed

    return open_database(engine, options)


def register_function(
    name: str,
    function: Callable[..., Any],
    arguments: tuple[pa.DataType, ...],
    result: pa.DataType,
) -> None:
    """Let queries call a function of your own: Arrow arrays in, as many values out."""
    from windrow.operators.evaluate.user_defined import register_function as register  # noqa: PLC0415 - the same

    register(name, function, arguments, result)


def register_aggregate(
    name: str,
    aggregate: type[UserAggregate],
    arguments: tuple[pa.DataType, ...],
    result: pa.DataType,
) -> None:
    """Let queries call an aggregate of your own: `init`, `add`, `result`, and maybe `remove`."""
    from windrow.operators.aggregate import register_aggregate as register  # noqa: PLC0415 - the same

    register(name, aggregate, arguments, result)
