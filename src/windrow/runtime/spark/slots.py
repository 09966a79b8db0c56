"""The wide row: rows of several ports, or of several answers, side by side in typed slots.

    port 0 (src STRING, bytes BIGINT)        ┌ _shard │ _port │ _ts │  s0    │  s1    ┐
    port 1 (a BIGINT, b STRING)         ─►   │   1    │   0   │ ... │ 'h7'   │  1500  │
                                             └   0    │   1   │ ... │ b      │  a     ┘
                                                                    STRING   BIGINT

One exchange carries one kind of row, so ports share slots by type: a row is as wide as the widest
port, not as all of them. Moments cross as µs, which no session's time zone can change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from windrow.core.schema import Schema
from windrow.core.types import BIGINT, INTERVAL, NULL, STRING, TIMESTAMP, sql_name

SHARD, PORT, OUTPUT, TIME, SIGN, SEQUENCE = "_shard", "_port", "_output", "_ts", "_sign", "_seq"
GOAL = "_goal"
"""A shard and a port as one number, in which they cross: each column costs time a row."""
FIRST, TUPLES = "_first", "_tuples"

BATCH_TIME = "unix_micros(current_timestamp())"
"""In a streaming plan: the time of the batch, which Spark logs: the same if it is run again."""

POISON, TICK = -1, -2
"""Ports of rows that no query reads: dead letters, and ticks of processing time."""


def goal_sql(shard: str, shards: int) -> str:
    """Return the goal of a row, as SQL: `goal // shards` is its port, the rest its shard."""
    return f"CAST({PORT} * {shards} + {shard} AS INT)"


def silent_port(stream: int) -> int:
    """Return the port of a stream's rows that have only a time: a filter has dropped them."""
    return -3 - stream


def crossing_type(type_: pa.DataType) -> pa.DataType:
    """Return the type in which values cross: their own, but for moments."""
    return BIGINT if type_ == TIMESTAMP else type_


def spark_type(type_: pa.DataType) -> str:
    """Return a type as Spark SQL writes it.

    >>> spark_type(pa.decimal128(9, 2)), spark_type(pa.list_(pa.int64()))
    ('DECIMAL(9, 2)', 'ARRAY<BIGINT>')
    """
    if type_ == INTERVAL:
        return "INTERVAL DAY TO SECOND"
    if pa.types.is_list(type_):
        return f"ARRAY<{spark_type(type_.value_type)}>"
    if pa.types.is_struct(type_):
        fields = (f"`{f.name.replace('`', '``')}`: {spark_type(f.type)}" for f in type_)
        return f"STRUCT<{', '.join(fields)}>"
    return sql_name(type_)


@dataclass(frozen=True, slots=True)
class Slot:
    """A column of the wide row that several ports use."""

    name: str
    type: pa.DataType


@dataclass(frozen=True, slots=True)
class Wide:
    """The slots of one exchange, and which of them each port (or output) puts its columns in.

    `head` are the columns that every row has. `places` has a slot's name for each column in
    order; None for a column of type VOID, which needs none. `required`: columns that are never
    NULL, so that Spark need not ask for each value.
    """

    head: tuple[tuple[str, str], ...]  # name and Spark type
    slots: tuple[Slot, ...]
    places: Mapping[int, tuple[str | None, ...]]
    required: frozenset[str] = frozenset()

    @property
    def ddl(self) -> str:
        """The row's schema as Spark reads it."""
        slots = ((s.name, spark_type(s.type)) for s in self.slots)
        return ", ".join(
            f"{name} {type_}{' NOT NULL' if name in self.required else ''}"
            for name, type_ in (*self.head, *slots)
        )

    @property
    def names(self) -> tuple[str, ...]:
        """All columns in order."""
        return (*(name for name, _ in self.head), *(s.name for s in self.slots))

    @property
    def alone(self) -> bool:
        """Return whether all rows are of one port or output: they need not say of which."""
        return len(self.places) == 1

    @property
    def text_slot(self) -> str:
        """The first slot of text: dead letters lie there."""
        return next(s.name for s in self.slots if s.type == STRING)


def wide_row(
    head: Iterable[tuple[str, str]], schemas: Mapping[int, Schema], *, text: bool = False
) -> Wide:
    """Return the narrowest row that holds each of the schemas; `text`: and one text.

    >>> from windrow.core.schema import Field
    >>> a = Schema((Field("src", pa.string()), Field("bytes", pa.int64())))
    >>> b = Schema((Field("n", pa.int64()), Field("at", pa.timestamp("us", tz="UTC"))))
    >>> wide_row([("_ts", "BIGINT")], {0: a, 1: b})
    Wide(head=(('_ts', 'BIGINT'),), slots=(Slot(name='s0', type=DataType(string)), \
Slot(name='s1', type=DataType(int64)), Slot(name='s2', type=DataType(int64))), \
places={0: ('s0', 's1'), 1: ('s1', 's2')}, required=frozenset())
    """
    most: Counter[pa.DataType] = Counter({STRING: 1}) if text else Counter()
    for schema in schemas.values():
        most |= Counter(crossing_type(f.type) for f in schema if f.type != NULL)
    order = [type_ for type_, count in most.items() for _ in range(count)]
    slots = tuple(Slot(f"s{i}", type_) for i, type_ in enumerate(order))
    places = {number: _places(schema, slots) for number, schema in schemas.items()}
    return Wide(tuple(head), slots, places)


def extended(wide: Wide, head: Iterable[tuple[str, str]], schemas: Mapping[int, Schema]) -> Wide:
    """Return the row with more columns in its head, and places for more schemas.

    What it had stays where it was.
    """
    most: Counter[pa.DataType] = Counter()
    for schema in schemas.values():
        most |= Counter(crossing_type(f.type) for f in schema if f.type != NULL)
    more = most - Counter(s.type for s in wide.slots)
    order = [type_ for type_, count in more.items() for _ in range(count)]
    added = tuple(Slot(f"s{i}", type_) for i, type_ in enumerate(order, len(wide.slots)))
    slots = wide.slots + added
    places = {number: _places(schema, slots) for number, schema in schemas.items()}
    return Wide((*wide.head, *head), slots, {**wide.places, **places})


def without_nulls(wide: Wide, schemas: Mapping[int, Schema]) -> Wide:
    """Return the row of answers: its head, and slots that all answers fill, are never NULL.

    >>> from windrow.core.schema import Field
    >>> n = Schema((Field("n", pa.int64(), nullable=False), Field("v", pa.int64())))
    >>> without_nulls(wide_row([("_ts", "BIGINT")], {0: n}), {0: n}).ddl
    '_ts BIGINT NOT NULL, s0 BIGINT NOT NULL, s1 BIGINT'
    """
    filled = [
        frozenset(
            place
            for place, field in zip(wide.places[n], schema, strict=True)
            if place is not None and not field.nullable
        )
        for n, schema in schemas.items()
    ]
    slots = frozenset[str]().union(*filled).intersection(*filled)
    return replace(wide, required=slots | {name for name, _ in wide.head})


def _places(schema: Schema, slots: tuple[Slot, ...]) -> tuple[str | None, ...]:
    free = list(slots)
    found: list[str | None] = []
    for field in schema:
        if field.type == NULL:
            found.append(None)
            continue
        slot = next(s for s in free if s.type == crossing_type(field.type))
        free.remove(slot)
        found.append(slot.name)
    return tuple(found)
