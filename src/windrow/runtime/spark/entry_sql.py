"""What Catalyst does with the rows of one input, as text: check, filter, one row a port.

    SELECT <declared columns in their types>, <dead letter or NULL> AS _letter       checked
    SELECT <shard>, <port>, <time>, <slots>                                          spread

With one port a row gives one row. With several, `inline` gives one for each that wants it. A row
that no port wants still has its time: it goes, empty, to any shard.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from windrow.core.time import BEGINNING, Clock
from windrow.core.types import TIMESTAMP, is_float, is_integer
from windrow.optimize.catalyst import literal_sql, quoted, spark_sql
from windrow.plan.catalog import Relation, Stream
from windrow.plan.expressions import Column, Expr, Literal, columns_of, conjuncts
from windrow.plan.nodes import Route
from windrow.runtime.shards.ports import EXPIRY, WEIGHT, Port
from windrow.runtime.spark.declared import Fitted
from windrow.runtime.spark.slots import (
    POISON,
    PORT,
    SEQUENCE,
    SHARD,
    TIME,
    Wide,
    silent_port,
    spark_type,
)

LETTER, WEIGHED = "_letter", "_weighed"


@dataclass(frozen=True, slots=True)
class Reading:
    """An input and its ports. `number`: of the input; `corrupt`: a column of what did not parse.

    `raw`: a column of what a row was read from; `of_lines`: it is a line of a file.
    """

    entry: Stream | Relation
    number: int
    ports: tuple[Port, ...]
    corrupt: str | None = None
    changes: tuple[tuple[str, pa.DataType], ...] = ()
    """Columns of the source on top of a relation's own: `_ts`, `_sign`."""
    raw: str | None = None
    of_lines: bool = False

    @property
    def needed(self) -> tuple[str, ...]:
        """The declared columns that are read, in order."""
        read = {name for port in self.ports for name in port.schema.names}
        for port in self.ports:
            read.update(_read_by_filter(port), *map(columns_of, port.keys))
        if isinstance(self.entry, Stream):
            read.add(self.entry.time_column)
        return tuple(name for name in self.entry.schema.names if name in read)


def pushed(predicate: Expr | None) -> str | None:
    """Return what Catalyst applies of a predicate: the parts of its AND that it can compute."""
    known = [sql for part in conjuncts(predicate) if (sql := spark_sql(part)) is not None]
    return " AND ".join(known) or None


def _read_by_filter(port: Port) -> frozenset[str]:
    parts = [part for part in conjuncts(port.predicate) if spark_sql(part) is not None]
    return frozenset().union(*map(columns_of, parts))


def checked_sql(reading: Reading, columns: Mapping[str, Fitted]) -> list[str]:
    """Return the first SELECT's list: declared columns, then the dead letter of a bad row."""
    listed = [f"{f.sql} AS {quoted(name)}" for name, f in columns.items()]
    faults = [fault for f in columns.values() for fault in f.faults]
    if reading.corrupt is not None:
        faults.insert(0, (f"{quoted(reading.corrupt)} IS NOT NULL", "it does not parse"))
    listed.append(f"{_letter(reading, columns, faults)} AS {LETTER}")
    if isinstance(reading.entry, Relation):
        listed += _change_columns(reading)
    return listed


def _letter(reading: Reading, columns: Mapping[str, Fitted], faults: list[tuple[str, str]]) -> str:
    if not faults:
        return "CAST(NULL AS STRING)"
    bad = " OR ".join(f"({condition})" for condition, _ in faults)
    reasons = ", ".join(f"CASE WHEN {c} THEN {_text(reason)} END" for c, reason in faults)
    sources = ", ".join(f"{_text(name)}, {f.source}" for name, f in columns.items())
    shown = f"to_json(named_struct({sources}), {_JSON})"
    known = [quoted(text) for text in (reading.corrupt, reading.raw) if text is not None]
    shown = f"coalesce({', '.join([*known, shown])})" if known else shown
    parts = (
        f"'stream', {_text(reading.entry.name)}, 'reason', concat_ws('; ', {reasons}), "
        f"'row', {shown}"
    )
    if reading.of_lines:
        assert reading.corrupt is not None, "a line that does not parse has its text"
        parts += f", 'file', CASE WHEN {quoted(reading.corrupt)} IS NULL THEN {_FILE} END"
    letter = f"to_json(named_struct({parts}))"
    return f"CASE WHEN {bad} THEN {letter} END"


_FILE = "_metadata.file_path"
_JSON = "map('ignoreNullFields', 'false', 'timeZone', 'UTC')"


def _text(value: str) -> str:
    return literal_sql(Literal(value, pa.string())) or ""


def _change_columns(reading: Reading) -> list[str]:
    """Return when and which way a relation changes: at once and for more, unless it says."""
    given = dict(reading.changes)
    when = f"{BEGINNING}L"
    if TIME in given:
        own = f"unix_micros({TIME})" if given[TIME] == TIMESTAMP else f"CAST({TIME} AS BIGINT)"
        when = f"coalesce({own}, {BEGINNING}L)"
    weight = "coalesce(CAST(_sign AS BIGINT), 1L)" if "_sign" in given else "1L"
    return [f"{when} AS {TIME}", f"{weight} AS {WEIGHED}"]


def spread_sql(reading: Reading, wide: Wide, shards: int) -> tuple[list[str], bool]:
    """Return the second SELECT's list, and whether its one expression gives several rows."""
    rows = _Rows(reading, wide, shards)
    if len(reading.ports) == 1 and reading.ports[0].route is not Route.ALL:
        return rows.alone(reading.ports[0]), False
    return [f"inline(array({', '.join(rows.each())}))"], True


@dataclass(frozen=True, slots=True)
class _Rows:
    reading: Reading
    wide: Wide
    shards: int

    def alone(self, port: Port) -> list[str]:
        """Return the only port's row: also the dead letter, or the row that has only its time."""
        keep, number = pushed(port.predicate), f"{port.number}"
        if keep is not None:
            number = f"CASE WHEN {keep} THEN {number} ELSE {silent_port(self.reading.number)} END"
        shard = shard_sql(port, self.shards)
        heads = {
            SHARD: f"CASE WHEN {LETTER} IS NULL THEN {shard} ELSE 0 END",
            PORT: f"CASE WHEN {LETTER} IS NULL THEN {number} ELSE {POISON} END",
        }
        values = self._values(port)
        if keep is not None:
            values = {slot: f"CASE WHEN {keep} THEN {v} END" for slot, v in values.items()}
        values[self.wide.text_slot] = f"coalesce({LETTER}, {values.get(self.wide.text_slot, _NO)})"
        return [f"{sql} AS {name}" for name, sql in self._columns(heads, values)]

    def each(self) -> list[str]:
        """Return a struct for each row that may be made; NULL for those that are not."""
        keeps = [pushed(p.predicate) for p in self.reading.ports]
        made = [self._special(keeps)]
        for port, keep in zip(self.reading.ports, keeps, strict=True):
            wanted = f"{LETTER} IS NULL" + ("" if keep is None else f" AND {keep}")
            everyone = port.route is Route.ALL
            shards = range(self.shards) if everyone else [shard_sql(port, self.shards)]
            for shard in shards:
                heads = {SHARD: str(shard), PORT: str(port.number)}
                made.append(self._struct(wanted, heads, self._values(port)))
        return made

    def _special(self, keeps: list[str | None]) -> str:
        """Return the row of a dead letter; where all ports filter, also the one for the time."""
        wanted, port = f"{LETTER} IS NOT NULL", f"{POISON}"
        if all(k is not None for k in keeps):
            dropped = " AND ".join(f"({k}) IS NOT TRUE" for k in keeps)
            wanted = f"({wanted} OR ({dropped}))"
            silent = silent_port(self.reading.number)
            port = f"CASE WHEN {LETTER} IS NULL THEN {silent} ELSE {POISON} END"
        return self._struct(wanted, {SHARD: "0", PORT: port}, {self.wide.text_slot: LETTER})

    def _struct(self, wanted: str, heads: dict[str, str], values: dict[str, str]) -> str:
        columns = ", ".join(f"'{name}', {sql}" for name, sql in self._columns(heads, values))
        return f"CASE WHEN {wanted} THEN named_struct({columns}) END"

    def _values(self, port: Port) -> dict[str, str]:
        values = {}
        for field, place in zip(port.schema, self.wide.places[port.number], strict=True):
            if place is not None:
                name = quoted(field.name)
                values[place] = f"unix_micros({name})" if field.type == TIMESTAMP else name
        return values

    def _columns(self, heads: dict[str, str], values: dict[str, str]) -> list[tuple[str, str]]:
        """Return all columns of the wide row, each cast to its type."""
        own = {TIME: self._time(), WEIGHT: WEIGHED, EXPIRY: _NO, SEQUENCE: _NO, **heads}
        if not isinstance(self.reading.entry, Relation):
            own[WEIGHT] = _NO
        columns = [(name, f"CAST({own[name]} AS {type_})") for name, type_ in self.wide.head]
        for slot in self.wide.slots:
            value = values.get(slot.name)
            typed = f"CAST({_NO if value is None else value} AS {spark_type(slot.type)})"
            columns.append((slot.name, typed))
        return columns

    def _time(self) -> str:
        entry = self.reading.entry
        if isinstance(entry, Relation):
            return TIME
        column = quoted(entry.time_column)
        return f"unix_micros({column})" if entry.clock is Clock.TIMESTAMP else column


_NO = "NULL"


def shard_sql(port: Port, shards: int, places: Mapping[str, str] | None = None) -> str:
    """Return the number of the shard that a row of the port goes to.

    `places` are the slots of the columns, once they have crossed.
    """
    if shards == 1 or port.route is Route.ONE or not port.keys:
        return "0"
    keys = [_key(k, places) for k in port.keys]
    return f"pmod(hash({', '.join(keys)}), {shards})"


def _key(expr: Expr, places: Mapping[str, str] | None) -> str:
    """Return a key so that equal values of any type that can be equal have one hash."""
    name = quoted if places is None else places.__getitem__
    sql = name(expr.name) if isinstance(expr, Column) else spark_sql(expr, name)
    assert sql is not None, f"Catalyst cannot compute the key {expr}"
    if is_integer(expr.type):
        return f"CAST({sql} AS BIGINT)"
    if is_float(expr.type):
        return f"(CAST({sql} AS DOUBLE) + 0.0D)"  # -0.0 is 0.0
    if expr.type == TIMESTAMP and places is None:
        return f"unix_micros({sql})"
    return sql
