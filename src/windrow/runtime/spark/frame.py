"""From declared inputs to one streaming DataFrame of all queries' changes.

inputs ─► checked, filtered, one row a port ─► union
  ─► exchange by shard ─► INGEST ─► tiny exchange: times ─► STEP level 0
     or, where all tasks run at once:  INGEST, shards meet, STEP level 0 in one task
  [─► exchange by key ─► STEP level n]*  ─► changes in the wide row: [_output], _ts, _sign, slots

Relations: read once and kept with the checkpoint, or a stream of changes.

A relation that does not change is read at the first start and written to ``DIR/relations/<name>/``;
from there it enters the first batch like any other input, so a restart sees the same rows even
if the file has changed since. With OPTIONS (updates 'stream') its source is a stream of changes:
rows that come, or by `_sign` -1 go, at `_ts`.
"""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from dataclasses import field as fresh
from functools import partial, reduce
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr

from windrow.core.errors import InputError
from windrow.core.time import Clock
from windrow.core.types import NULL, TIMESTAMP
from windrow.optimize.catalyst import quoted
from windrow.plan.catalog import Relation, Stream
from windrow.plan.nodes import Route
from windrow.runtime.local.ingest import FittedRows
from windrow.runtime.local.relations import RelationInput
from windrow.runtime.shards.client import Shards
from windrow.runtime.shards.files import Files, open_files
from windrow.runtime.shards.layout import Output
from windrow.runtime.shards.ports import Port
from windrow.runtime.shards.program import Program
from windrow.runtime.spark import worker
from windrow.runtime.spark.dead import POISON, DeadLetters, Letter
from windrow.runtime.spark.entry_sql import LETTER, Reading, checked_sql, shard_sql, spread_sql
from windrow.runtime.spark.folder import RunFolder
from windrow.runtime.spark.guessing import arrow_type
from windrow.runtime.spark.inspection import WatchedInput
from windrow.runtime.spark.plan import SparkPlan, plan_of
from windrow.runtime.spark.session import enlarge_batches
from windrow.runtime.spark.slots import BATCH_TIME, GOAL, OUTPUT, PORT, SHARD, SIGN, TIME, goal_sql
from windrow.runtime.spark.sources import CORRUPT, RAW, Opened, open_source
from windrow.runtime.spark.ticks import Ticks, tick_rows, ticks_of
from windrow.runtime.spark.unreadable import left_out

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


def build_frame(
    spark: SparkSession,
    program: Program,
    checkpoint: str,
    *,
    frames: Mapping[str, DataFrame] | None = None,
    rim: worker.AtTheRim | None = None,
    at_once: bool = False,
) -> DataFrame:
    """Return all queries' changes as a streaming DataFrame of wide rows; see `changes_of`.

    `frames` are inputs given as DataFrames, by name. `rim` takes changes in the task that has them,
    and passes on what others want. `at_once`: the tasks of all shards can run at the same time on
    one host, so that they need no exchange to agree on the time; where clocks go by the
    batch's own, every batch then needs a tick.
    """
    entry = InputFrames(checkpoint, frames or {}, ticks_of(program))
    return frame_of(spark, program, entry, rim=rim, at_once=at_once)


def frame_of(
    spark: SparkSession,
    program: Program,
    entry: InputFrames,
    *,
    rim: worker.AtTheRim | None = None,
    at_once: bool = False,
) -> DataFrame:
    """Return the same for rows that come from what `entry` says."""
    plan = plan_of(program)
    rows = entered_frame(spark, plan, entry)
    work = plan.work(Shards(entry.checkpoint, program), rim=rim)
    meet = at_once and (entry.ticks.always or not plan.walled)
    return through_shards(rows, plan, work, BATCH_TIME, at_once=meet)


def own_frame(
    spark: SparkSession, program: Program, checkpoint: str, frames: Mapping[str, DataFrame]
) -> DataFrame:
    """Return the same for a job of the user's, whose triggers may have no pause."""
    plan = plan_of(program)
    rows = entered_frame(spark, plan, InputFrames(checkpoint, frames, ticks_of(program).seldom))
    return through_shards(rows, plan, plan.work(Shards(checkpoint, program)), BATCH_TIME)


@dataclass(frozen=True, slots=True)
class InputFrames:
    """Where the rows of a run come from, beside what is declared.

    `watched`, if it is given, is filled with the inputs whose files can be looked at.
    """

    checkpoint: str
    frames: Mapping[str, DataFrame]
    ticks: Ticks
    watched: list[WatchedInput] | None = None


def entered_frame(spark: SparkSession, plan: SparkPlan, entry: InputFrames) -> DataFrame:
    """Return the rows of all inputs as a streaming DataFrame of wide rows, before any exchange."""
    given = {name.lower(): frame for name, frame in entry.frames.items()}
    enlarge_batches(spark)
    parts, places = [], Places()
    for number, declared in enumerate(plan.entries):
        frame = given.get(declared.name.lower())
        opened = _opened(spark, plan, declared, entry.checkpoint, frame)
        source = places.next(frame)
        parts.append(_entered(plan, number, opened))
        if entry.watched is not None and source is not None and opened.reader is not None:
            entry.watched.append(watched_input(plan, number, opened, source))
    if entry.ticks is not Ticks.NEVER:
        parts.append(tick_rows(spark, entry.ticks, plan.entered))
    return reduce(DataFrame.unionAll, parts)


@dataclass(slots=True)
class Places:
    """Numbers that Spark gives the sources of a plan, in the order in which it meets them."""

    own: int = 0
    given: list[object] = fresh(default_factory=list)

    def next(self, frame: DataFrame | None) -> int | None:
        """Return the number of an input's source; None if a DataFrame brings what it brings."""
        if frame is None or not frame.isStreaming:
            self.own += 1
            return self.own + len(self.given) - 1
        leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
        for leaf in (leaves.apply(n) for n in range(leaves.size())):
            if leaf.isStreaming() and not any(leaf.equals(known) for known in self.given):
                self.given.append(leaf)
        return None


def _opened(
    spark: SparkSession,
    plan: SparkPlan,
    entry: Stream | Relation,
    checkpoint: str,
    frame: DataFrame | None,
) -> Opened:
    """Open one input, without the files that the next batch leaves out."""
    without = left_out(checkpoint, entry.name)
    if isinstance(entry, Relation):
        ports = plan.ports_of(entry)
        return open_relation(spark, entry, ports, checkpoint, frame, without)
    begun = RunFolder(checkpoint).last_batch() >= 0
    return open_source(spark, entry, frame, streaming=True, without=without, begun=begun)


def watched_input(plan: SparkPlan, number: int, opened: Opened, source: int) -> WatchedInput:
    """Return an input whose files are looked at before they are read."""
    reading = reading_of(plan, number, opened)
    read = partial(opened.read, reading.needed)
    return WatchedInput(opened.entry, source, opened.wanted(reading.needed), read)


def _entered(plan: SparkPlan, number: int, opened: Opened) -> DataFrame:
    """Return the wide rows that one input gives."""
    reading = reading_of(plan, number, opened)
    checked = opened.frame.selectExpr(*checked_sql(reading, opened.fitted(reading.needed)))
    spread, several = spread_sql(reading, plan.entered, plan.shards)
    rows = checked.selectExpr(*spread)
    rows = rows.where(f"{PORT} IS NOT NULL") if several else rows
    ordered = any(port.ordered for port in reading.ports)
    return rows.mapInArrow(worker.number_rows, plan.entered.ddl) if ordered else rows


def reading_of(plan: SparkPlan, number: int, opened: Opened) -> Reading:
    """Return what is read of an opened input."""
    entry = plan.entries[number]
    corrupt = CORRUPT if opened.corrupt else None
    fields = opened.frame.schema.fields
    on_top = {TIME, SIGN} if isinstance(entry, Relation) else set()
    changes = tuple((f.name, arrow_type(f.dataType)) for f in fields if f.name in on_top)
    raw = RAW if RAW in opened.frame.columns else None
    lines = opened.of_lines and raw is None
    return Reading(entry, number, plan.ports_of(entry), corrupt, changes, raw, lines)


def drain_frame(
    spark: SparkSession,
    program: Program,
    checkpoint: str,
    wall: int,
    rim: worker.AtTheRim | None = None,
) -> DataFrame:
    """Return what comes out when nothing follows: a DataFrame of wide rows, not streaming.

    Its actions make the version that the local property `VERSION` names.
    """
    plan = plan_of(program)
    everyone = spark.range(plan.shards).selectExpr(f"CAST(id AS INT) AS {SHARD}")
    times = everyone.repartitionById(plan.shards, SHARD).selectExpr(
        f"'{{}}' AS {worker.TIMES}", f"{wall}L AS {worker.WALL}", f"true AS {worker.DRAIN}"
    )
    return _stepped(times, plan, plan.work(Shards(checkpoint, program), rim=rim))


def through_shards(
    rows: DataFrame, plan: SparkPlan, work: worker.Work, wall: str, *, at_once: bool = False
) -> DataFrame:
    """Return what the shards make of wide rows; `wall` is the batch's own time in µs, as SQL."""
    dealt = _dealt(rows, SHARD, plan.shards)
    if at_once:
        return _higher_levels(_together(dealt, plan, work), plan, work)
    return _stepped(_exchanged_times(dealt, plan, work, wall), plan, work)


def _together(rows: DataFrame, plan: SparkPlan, work: worker.Work) -> DataFrame:
    """Run INGEST and level 0 in one stage, whose tasks Spark starts all at once or not at all."""
    function = partial(worker.ingest_and_step, work=work)
    return rows.mapInArrow(function, plan.row_after(0).ddl, barrier=True)


def _exchanged_times(rows: DataFrame, plan: SparkPlan, work: worker.Work, wall: str) -> DataFrame:
    """Run INGEST; return for each shard the times of all."""
    times = rows.mapInArrow(partial(worker.ingest, work=work), worker.TIMES_DDL)
    return times.repartitionById(plan.shards, SHARD).selectExpr(
        worker.TIMES, f"{wall} AS {worker.WALL}", f"false AS {worker.DRAIN}"
    )


def _stepped(times: DataFrame, plan: SparkPlan, work: worker.Work) -> DataFrame:
    """Run all levels, given the times; return the changes."""
    first = times.mapInArrow(partial(worker.step, level=0, work=work), plan.row_after(0).ddl)
    return _higher_levels(first, plan, work)


def _higher_levels(stepped: DataFrame, plan: SparkPlan, work: worker.Work) -> DataFrame:
    """Run the levels above the first; return the changes."""
    for level in range(1, plan.layout.levels):
        function = partial(worker.step, level=level, work=work)
        exchanged = _exchanged(stepped, plan, level)
        stepped = exchanged.mapInArrow(function, plan.row_after(level).ddl)
    return stepped


def _exchanged(stepped: DataFrame, plan: SparkPlan, level: int) -> DataFrame:
    """Bring a level's rows to the shards that their keys say, unless they know theirs already."""
    cases = exchange_cases(plan, level)
    shard = f"CASE WHEN {SHARD} >= 0 THEN {SHARD} {' '.join(cases)} ELSE 0 END"
    return _dealt(stepped, shard, plan.shards)


def _dealt(rows: DataFrame, shard: str, shards: int) -> DataFrame:
    """Bring wide rows to the shards that `shard` says."""
    others = [name for name in rows.columns if name not in (SHARD, PORT)]
    aimed = rows.selectExpr(f"{goal_sql(shard, shards)} AS {GOAL}", *others)
    return aimed.repartitionById(shards, expr(f"pmod({GOAL}, {shards})"))


def exchange_cases(plan: SparkPlan, level: int) -> list[str]:
    """Return for each port of a level which shard its rows go to."""
    wide, cases = plan.forwarded[level], []
    for port in plan.layout.ports:
        if port.level == level and port.route is Route.KEY:
            places = dict(zip(port.schema.names, wide.places[port.number], strict=True))
            known = {name: place or "NULL" for name, place in places.items()}
            cases.append(f"WHEN {PORT} = {port.number} THEN {shard_sql(port, plan.shards, known)}")
    return cases


def changes_of(frame: DataFrame, program: Program, query: str) -> DataFrame:
    """Return one query's changes out of `build_frame`'s rows: `_ts`, `_sign`, its columns."""
    plan = plan_of(program)
    output = next(o for o in plan.layout.outputs if o.query.lower() == query.lower())
    own = frame if plan.answered.alone else frame.where(f"{OUTPUT} = {output.number}")
    return own.selectExpr(*changes_sql(plan, output))


def changes_sql(plan: SparkPlan, output: Output) -> list[str]:
    """Return the columns of one query's changes as Spark SQL over the wide row."""
    time = f"timestamp_micros({TIME})" if output.clock is Clock.TIMESTAMP else TIME
    listed = [f"{time} AS {TIME}", SIGN]
    for field, place in zip(output.schema, plan.answered.places[output.number], strict=True):
        if field.type == NULL:
            value = "NULL"
        else:
            value = f"timestamp_micros({place})" if field.type == TIMESTAMP else str(place)
        listed.append(f"{value} AS {quoted(field.name)}")
    return listed
