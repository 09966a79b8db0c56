"""Relations: read once and kept with the checkpoint, or a stream of changes.

A relation that does not change is read at the first start and written to ``DIR/relations/<name>/``;
from there it enters the first batch like any other input, so a restart sees the same rows even
if the file has changed since. With OPTIONS (updates 'stream') its source is a stream of changes:
rows that come, or by `_sign` -1 go, at `_ts`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Collection
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from windrow.core.errors import InputError
from windrow.plan.catalog import Relation
from windrow.runtime.local.ingest import FittedRows
from windrow.runtime.local.relations import RelationInput
from windrow.runtime.shards.files import Files, open_files
from windrow.runtime.shards.ports import Port
from windrow.runtime.spark.dead import POISON, DeadLetters, Letter
from windrow.runtime.spark.entry_sql import LETTER, Reading, checked_sql
from windrow.runtime.spark.sources import CORRUPT, SIGN, Opened, open_source

FOLDER, FILE = "relations", "rows.parquet"


def open_relation(
    spark: SparkSession,
    relation: Relation,
    ports: tuple[Port, ...],
    checkpoint: str,
    frame: DataFrame | None,
    without: Collection[str] = (),
) -> Opened:
    """Return a relation as a stream of its rows, for the ports that it feeds.

    `without`: files of its changes that are passed over.
    """
    if relation.changes_by_stream or (frame is not None and frame.isStreaming):
        opened = open_source(spark, relation, frame, streaming=True, without=without)
        replaced = all(port.upserts for port in ports)
        if relation.key and SIGN not in opened.frame.columns and not replaced:
            raise InputError(
                f'changes of "{relation.name}" need a column {SIGN}',
                detail="A query brings its rows together by something else than its PRIMARY KEY, "
                "so a row does not find the one that had its key.",
                hint=f"Give {SIGN} -1 for rows that go and 1 for rows that come, or join by the "
                "key.",
            )
        return opened
    files = open_files(checkpoint)
    folder = f"{FOLDER}/{quote(relation.name, safe='')}"
    if not files.exists(f"{folder}/{FILE}"):
        letters = _keep(files, folder, open_source(spark, relation, frame, streaming=False))
        if letters:
            DeadLetters(checkpoint, 0, 0).write(relation.name, POISON, letters)
    path = f"{files.where}/{folder}" if "://" not in checkpoint else f"{checkpoint}/{folder}"
    schema = spark.read.parquet(path).schema
    return Opened(relation, spark.readStream.schema(schema).parquet(path))


def _keep(files: Files, folder: str, opened: Opened) -> list[Letter]:
    """Read a relation as it is now; keep its rows, and return its dead letters."""
    relation = opened.entry
    assert isinstance(relation, Relation), "only relations are read at once"
    reading = Reading(relation, 0, (), CORRUPT if opened.corrupt else None)
    columns = opened.fitted(relation.schema.names)
    table = opened.frame.selectExpr(*checked_sql(reading, columns)).toArrow()
    dead = [json.loads(text) for text in table[LETTER].drop_null().to_pylist()]
    letters = [(letter["reason"], letter["row"]) for letter in dead]
    rows = table.filter(table[LETTER].is_null()).select(list(relation.schema.names))
    arrays = {f.name: _whole(rows[f.name], f.type) for f in relation.schema}
    known = RelationInput(relation)
    changes = known.accept(FittedRows(len(rows), arrays), {})
    for refused in known.poison:
        letters += [(row.pop("_reason"), json.dumps(row)) for row in refused.to_pylist()]
    _write(files, f"{folder}/{FILE}", pa.table({**changes.arrays, SIGN: changes.sign}))
    return letters


def _whole(column: pa.ChunkedArray, type_: pa.DataType) -> pa.Array:
    found = column.cast(type_).combine_chunks()
    return found if isinstance(found, pa.Array) else pa.concat_arrays(found.chunks)


def _write(files: Files, path: str, table: pa.Table) -> None:
    raw = io.BytesIO()
    pq.write_table(table, raw)
    draft = files.draft(path)
    draft.write(raw.getbuffer())
    draft.publish()
    draft.sync()
