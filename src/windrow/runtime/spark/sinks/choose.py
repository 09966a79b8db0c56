"""From what the user wrote to a sink."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

import pyarrow as pa

from windrow.core.errors import RunError
from windrow.runtime.spark.sinks.console import ConsoleSink, FunctionSink
from windrow.runtime.spark.sinks.duckdb_file import DuckdbSink
from windrow.runtime.spark.sinks.folder import FolderSink, JsonLines, Parquet
from windrow.runtime.spark.sinks.memory import MemorySink
from windrow.runtime.spark.sinks.postgres import PostgresSink, without_password
from windrow.runtime.spark.sinks.target import Target

SinkSpec: TypeAlias = str | Callable[[pa.Table, int], object]
"""What a user writes: a text such as "parquet:DIR", or a function."""

SinkSpecs: TypeAlias = SinkSpec | Sequence[SinkSpec]
"""The sinks of one query: one, or several."""

FORMS = "noop, memory, console, parquet:DIR, json:DIR, duckdb:FILE, postgresql://..., spark:FORMAT"


class DriverSink(Protocol):
    """A sink that takes a query's changes in the driver, batch by batch.

    `open` is called with the run that writes, and the version that the checkpoint has reached;
    `write` is given each version at least once, in order.
    """

    @property
    def target(self) -> Target:
        """The query whose changes it takes."""

    @property
    def guarantee(self) -> str:
        """What a reader may rely on."""

    def open(self, run: str, reached: int) -> None:
        """Prepare for a run."""

    def write(self, version: int, changes: pa.Table) -> None:
        """Take the changes of a batch."""


@dataclass(frozen=True, slots=True)
class NoopSink:
    """Changes are computed, and end in Spark's noop sink."""

    target: Target


@dataclass(frozen=True, slots=True)
class SparkSink:
    """Changes go to any sink of Spark, whose guarantee it is."""

    target: Target
    format: str
    options: Mapping[str, str] = field(default_factory=dict)


Sink: TypeAlias = NoopSink | SparkSink | FolderSink | DriverSink


def choose_sink(spec: SinkSpec, target: Target, options: Mapping[str, str] | None = None) -> Sink:
    """Return the sink that a text or a function means."""
    if callable(spec):
        return FunctionSink(target, spec)
    if spec.startswith(("postgres://", "postgresql://")):
        return PostgresSink(target, spec)
    kind, _, place = spec.partition(":")
    match kind, place:
        case "noop", "":
            return NoopSink(target)
        case "memory", "":
            return MemorySink(target)
        case "console", "":
            return ConsoleSink(target)
        case "parquet", place if place:
            return FolderSink(target, absolute(place), Parquet())
        case "json", place if place:
            return FolderSink(target, absolute(place), JsonLines())
        case "duckdb", place if place:
            return DuckdbSink(target, absolute(place))
        case "spark", place if place:
            return SparkSink(target, place, dict(options or {}))
        case _:
            raise _unknown(spec, kind)


def several(specs: SinkSpecs) -> tuple[SinkSpec, ...]:
    """Return the sinks of a query as a tuple; no sink is noop.

    >>> several("memory"), several(["noop", "memory"]), several(())
    (('memory',), ('noop', 'memory'), ('noop',))
    """
    if isinstance(specs, str) or callable(specs):
        return (specs,)
    return tuple(specs) or ("noop",)


def choose_sinks(
    specs: SinkSpecs, target: Target, options: Mapping[str, str] | None = None
) -> tuple[Sink, ...]:
    """Return all sinks of one query; refuse two that would write to one place."""
    chosen = tuple(choose_sink(spec, target, options) for spec in several(specs))
    places: set[object] = set()
    for sink in chosen:
        place = place_of(sink)
        if place in places:
            raise RunError(
                f'two sinks of "{target.query}" write to one place: {place}',
                detail="Each change would be there twice.",
                hint="Leave one of them out, or give it another place.",
            )
        places.add(place)
    return chosen


def place_of(sink: Sink) -> object:
    """Return where a sink writes, as far as two of them must not share it."""
    match sink:
        case FolderSink(place=place):
            return f"{place}/{sink.target.query}"
        case DuckdbSink(file=place):
            return place
        case PostgresSink(url=place):
            return without_password(place)
        case SparkSink(format=kind, options=options):
            return f"spark:{kind} {dict(options)}"
        case NoopSink() | MemorySink() | ConsoleSink():
            return type(sink).__name__.removesuffix("Sink").lower()
        case _:
            return id(sink)


def absolute(place: str) -> str:
    """Return a place as every process of a run finds it: wherever it works, the same."""
    return place if "://" in place else str(Path(place).absolute())


def _unknown(spec: str, kind: str) -> RunError:
    if kind in ("parquet", "json", "duckdb", "spark"):
        return RunError(f'sink "{spec}" does not say where to', hint=f"For example {kind}:answers.")
    return RunError(f'unknown sink "{spec}"', hint=f"A sink is one of {FORMS}, or a function.")
