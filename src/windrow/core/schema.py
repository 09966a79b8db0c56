"""Schemas: the named, typed columns of a stream, a relation or a plan node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from windrow.core.types import sql_name


@dataclass(frozen=True, slots=True)
class Field:
    """One column: its name, its type, and whether it may hold NULL."""

    name: str
    type: pa.DataType
    nullable: bool = True

    def __str__(self) -> str:
        return f"{self.name} {sql_name(self.type)}{'' if self.nullable else ' NOT NULL'}"


@dataclass(frozen=True)
class Schema:
    """Columns in order. Names are unique: a plan node's columns are addressed by name."""

    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        assert len({f.name for f in self.fields}) == len(self.fields), (
            f"column names repeat: {self.names}"
        )

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {field.name: i for i, field in enumerate(self.fields)}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The column names in order."""
        return tuple(field.name for field in self.fields)

    @cached_property
    def known(self) -> frozenset[str]:
        """The column names, in no order."""
        return frozenset(self.names)

    def __len__(self) -> int:
        return len(self.fields)

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __contains__(self, name: str) -> bool:
        return name in self._positions

    def __getitem__(self, name: str) -> Field:
        return self.fields[self._positions[name]]

    def index(self, name: str) -> int:
        """Return the position of a column."""
        return self._positions[name]

    def __add__(self, other: Schema) -> Schema:
        return Schema(self.fields + other.fields)

    def arrow(self) -> pa.Schema:
        """Return the same columns as an Arrow schema."""
        return pa.schema([pa.field(f.name, f.type, f.nullable) for f in self.fields])
