"""What SHOW and DESCRIBE show, as Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from windrow.core.schema import Schema
from windrow.core.time import format_duration
from windrow.core.types import sql_name
from windrow.language.printing import to_sql
from windrow.language.statements import ShowKind
from windrow.plan.catalog import Catalog, Relation, Stream
from windrow.plan.nodes import Query

STREAMS = ("name", "columns", "time", "slack", "source")
RELATIONS = ("name", "columns", "key", "updates", "source")
VIEWS = ("name", "columns", "query")
QUERIES = ("name", "columns", "query")
SETTING_COLUMNS = ("name", "value")
COLUMNS = ("column", "type", "nullable")


def listed(
    what: ShowKind, catalog: Catalog, queries: Mapping[str, Query], settings: Mapping[str, object]
) -> pa.Table:
    """Return what SHOW shows: a row for each stream, relation, view, query or setting."""
    entries = catalog.entries.values()
    match what:
        case "STREAMS":
            return _table(STREAMS, [_stream(e) for e in entries if isinstance(e, Stream)])
        case "RELATIONS":
            return _table(RELATIONS, [_relation(e) for e in entries if isinstance(e, Relation)])
        case "VIEWS":
            views = catalog.views.values()
            return _table(VIEWS, [(v.view, _columns(v.schema), to_sql(v.query)) for v in views])
        case "QUERIES":
            rows = [(q.name, _columns(q.root.schema), q.text) for q in queries.values()]
            return _table(QUERIES, rows)
        case "SETTINGS":
            return _table(SETTING_COLUMNS, [(name, str(v)) for name, v in settings.items()])


def described(schema: Schema) -> pa.Table:
    """Return what DESCRIBE shows: a row for each column."""
    return _table(COLUMNS, [(f.name, sql_name(f.type), f.nullable) for f in schema])


def _stream(stream: Stream) -> tuple[object, ...]:
    slack = format_duration(stream.slack, stream.clock) if stream.slack else None
    columns = _columns(stream.schema)
    return stream.name, columns, stream.time_column, slack, stream.format


def _relation(relation: Relation) -> tuple[object, ...]:
    key = ", ".join(relation.key) or None
    updates = "retroactive" if relation.retroactive else "non retroactive"
    return relation.name, _columns(relation.schema), key, updates, relation.format


def _columns(schema: Schema) -> str:
    return ", ".join(map(str, schema))


def _table(names: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> pa.Table:
    """Return rows as a table: columns of text, but for `nullable`."""
    types = [pa.bool_() if name == "nullable" else pa.string() for name in names]
    columns = [[row[n] for row in rows] for n in range(len(names))]
    arrays = [pa.array(column, type_) for column, type_ in zip(columns, types, strict=True)]
    return pa.table(arrays, names=list(names))
