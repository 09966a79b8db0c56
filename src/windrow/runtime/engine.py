"""Choosing an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.core.errors import BindError
from windrow.core.naming import near, require_text, shown
from windrow.core.processor import Processor

if TYPE_CHECKING:
    from windrow.runtime.local.database import Database
    from windrow.runtime.spark.database import SparkDatabase

ENGINES = ("local", "spark")
SPARK_OPTIONS = ("checkpoint", "shards", "spark", "master", "conf")


def open_database(engine: str, options: dict[str, object]) -> Database | SparkDatabase:
    """Open a database: "local" runs in this process, "spark" on Spark's micro-batches."""
    require_text(engine, "an engine", f"The engines are {', '.join(ENGINES)}.")
    processor, now = options.pop("processor", None), options.pop("now", None)
    if engine == "spark" and processor is not None:
        raise BindError(
            'engine "spark" has no processor',
            detail="There work takes the time that it takes.",
            hint='Leave it out, or use engine="local".',
        )
    if engine == "spark" and now is not None:
        raise BindError(
            'engine "spark" takes no wall clock',
            detail="There it is the time of each batch, which Spark logs with it.",
            hint='Leave now out, or use engine="local".',
        )
    if engine == "spark":
        from windrow.runtime.spark.database import SparkDatabase  # noqa: PLC0415 - loads pyspark

        _require_known(options)
        return SparkDatabase(**options)  # type: ignore[arg-type]
    if engine not in ENGINES:
        raise BindError(f'unknown engine "{engine}"', hint=f"The engines are {', '.join(ENGINES)}.")
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise BindError(
            f'engine "local" has no {", ".join(given)}', hint='Leave it out, or use engine="spark".'
        )
    from windrow.runtime.local.database import Database  # noqa: PLC0415 - loads kernels

    if not isinstance(processor, Processor | None):
        raise BindError(
            f"a processor is not a {type(processor).__name__}",
            hint="Give windrow.Processor(...), or leave it out.",
        )
    if now is not None and not callable(now):
        raise BindError(
            f"now is a function that returns the time, not {shown(now)}",
            hint="Give now=lambda: datetime.now(UTC), for example, or leave it out.",
        )
    return Database(processor, now)


def _require_known(options: dict[str, object]) -> None:
    """Refuse options that the engine on Spark does not have."""
    for name in options:
        if name not in SPARK_OPTIONS:
            raise BindError(
                f'engine "spark" has no {name}',
                detail=f"Its options are {', '.join(SPARK_OPTIONS)}.",
                hint=near(name, SPARK_OPTIONS) or "Leave it out.",
            )
