"""The façade of the engine on Spark: declare, register, start, ask."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from windrow.core.errors import BindError, InputError, RunError
from windrow.core.naming import require_text, shown
from windrow.language.parameters import with_parameters
from windrow.language.printing import name_sql
from windrow.language.statements import CreateQuery, Drop, Insert, Select, Statement
from windrow.plan.catalog import Stream
from windrow.plan.explain import explain_text
from windrow.plan.nodes import Query
from windrow.plan.session import QUERY_HINT, SCRIPT_HINT, Session, unregistered
from windrow.plan.settings import (
    SPARK,
    check_setting,
    require_of_query,
    require_unset,
    require_used,
)
from windrow.runtime.handles import Declarations
from windrow.runtime.shards.checkpoint import placed_by, require_folder, require_place
from windrow.runtime.shards.client import Shards
from windrow.runtime.shards.lease import Lease, take_lease
from windrow.runtime.shards.program import Program
from windrow.runtime.spark.activity import drains
from windrow.runtime.spark.explain import explain_spark
from windrow.runtime.spark.folder import RunFolder
from windrow.runtime.spark.frame import changes_of, own_frame
from windrow.runtime.spark.guessing import declaration
from windrow.runtime.spark.handle import Script, SparkQuery
from windrow.runtime.spark.own import OwnJob
from windrow.runtime.spark.run import Run, RunSpec
from windrow.runtime.spark.session import checked, configured, open_session
from windrow.runtime.spark.shipping import shipped
from windrow.runtime.spark.sinks.choose import Sink, SinkSpecs, choose_sinks
from windrow.runtime.spark.sinks.memory import MemorySink
from windrow.runtime.spark.sinks.target import target_of
from windrow.runtime.spark.starting import StartingSession, begin_session

LOG = logging.getLogger(__name__)

STRATEGIES = ("auto", "upa", "direct", "negative")


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What a user asks of a run: where, the sinks of each query, when, and how it is to end."""

    folder: RunFolder
    specs: Mapping[str, SinkSpecs]
    trigger: str
    options: Mapping[str, str]
    drain: bool | None


class SparkDatabase(Declarations):
    """Streams and queries that run on Spark.

    Nothing runs before `start`; Spark itself is started when it is first needed. Without a
    `checkpoint` runs are kept in a temporary folder, which goes with `close`. `on_phase` is called
    with what is done next while a run starts.
    """

    def __init__(
        self,
        *,
        checkpoint: str | None = None,
        shards: int = 2,
        spark: SparkSession | None = None,
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
    ) -> None:
        if not isinstance(shards, int) or shards < 1:
            raise BindError(f"{shown(shards)} shards cannot work", hint="Give at least one.")
        if spark is not None and conf:
            raise BindError(
                "conf is for a session that windrow starts, and one was given",
                hint="Set it where the session is made: SparkSession.builder.config(...).",
            )
        self.session = Session()
        self.shards = shards
        self._master = master
        running = SparkSession.getActiveSession() if spark is None else None
        self._own_session = spark is None and running is None
        self._running = running  # other threads do not see which one is active
        self._spark = None if spark is None else checked(spark)
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._checkpoint = checkpoint
        self._kept = checkpoint is not None
        self._conf = dict(conf or {})
        self._script = Script()
        self._strategies: dict[str, str] = {}
        self._frames: dict[str, DataFrame] = {}
        self._memories: dict[str, MemorySink] = {}
        self._runs: dict[str, Run] = {}
        self._own: dict[str, OwnJob] = {}
        self._closed = False
        self._starting: StartingSession | None = None
        self.on_phase: Callable[[str], object] = lambda _: None

    @property
    def spark(self) -> SparkSession:
        """The session; started if there is none yet."""
        self._require_open()
        if self._spark is None:
            running = self._running or SparkSession.getActiveSession()
            if self._starting is None and running is not None:
                self._spark = checked(configured(running, self._conf))
                return self._spark
            starting = self._begin_spark()
            self.on_phase("waits for Spark")
            if starting is None:
                self._spark = open_session(self._master, self.shards, self._conf)
            else:
                self._spark = starting.result()
        return self._spark

    def _begin_spark(self) -> StartingSession | None:
        """Let Spark start, while this process does something else; None if it runs already."""
        if self._starting is None:
            self._starting = begin_session(self._master, self.shards, self._conf)
        return self._starting

    def use(self, starting: StartingSession) -> None:
        """Adopt a session that is starting with the same settings; `close` will stop it."""
        self._starting, self._own_session = starting, True

    @property
    def checkpoint(self) -> str:
        """The folder of all runs of this database."""
        if self._checkpoint is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="windrow-")
            self._checkpoint = self._temporary.name
        return self._checkpoint

    # What there is

    def execute(self, text: str, params: Mapping[str, object] | None = None) -> pa.Table | None:
        """Run a script of statements. CREATE QUERY registers; `start` runs.

        Return what SHOW or DESCRIBE shows, the last of the script's, as a table; None if it has
        none. ``:name`` in the text stands for a value of `params`.
        """
        self._require_open()
        require_text(text, "a script", SCRIPT_HINT)
        results = self.session.execute(with_parameters(text, params), self._after)
        return next((r for r in reversed(results) if isinstance(r, pa.Table)), None)

    def queries(self) -> list[SparkQuery]:
        """Return a handle of each query, in the order of registration."""
        return [SparkQuery(self, name) for name in self.session.queries]

    def _after(self, statement: Statement, result: object) -> None:
        if isinstance(statement, Select):
            raise unregistered(statement)
        if isinstance(statement, Insert):
            raise BindError(
                f'rows cannot be inserted into "{statement.name}" on Spark',
                detail="There the rows of streams and relations come from their sources.",
                hint='Write them where USING reads them, or use engine="local".',
                span=statement.name_span,
            )
        if isinstance(statement, Drop):
            self._require_unread(statement)
        self._script.note(statement)
        if isinstance(statement, CreateQuery) and isinstance(result, Query):
            self._strategies[statement.name.lower()] = str(self.session.settings["strategy"])

    def _require_unread(self, statement: Drop) -> None:
        """Refuse to drop what an unfinished run works with."""
        running = [r for r in self._runs.values() if r.active and statement.name.lower() in r.names]
        if statement.kind == "QUERY" and running:
            raise BindError(
                f'query "{statement.name}" is running', hint="Stop its run first: run.stop()."
            )

    def stream(
        self,
        name: str,
        frame: DataFrame,
        ts: str | None = None,
        slack: str | None = None,
        max_ahead: str | None = None,
    ) -> None:
        """Let a streaming DataFrame be a stream; declare it from its columns if it is not yet."""
        self._require_open()
        require_text(name, "the name of a stream")
        if not isinstance(frame, DataFrame):
            raise InputError(
                f'"{name}" reads a DataFrame of Spark, not {shown(frame)}',
                hint="Make it with spark.readStream.",
            )
        if not frame.isStreaming:
            raise InputError(
                f'the DataFrame for "{name}" is not streaming',
                hint="Make it with spark.readStream.",
            )
        if self.session.catalog.get(name) is None:
            self.execute(declaration(name, frame.schema, ts, slack, max_ahead))
        entry = self.session.entry(name)
        if not isinstance(entry, Stream):
            raise BindError(f'"{name}" is a relation', hint="Choose another name.")
        if ts is not None and ts.lower() != entry.time_column.lower():
            raise BindError(
                f'"{name}" is declared with TIMESTAMP BY {entry.time_column}, not {ts}',
                hint=f'Leave ts out, or give ts="{entry.time_column}".',
            )
        self._frames[entry.name] = frame

    def query(
        self,
        text: str,
        params: Mapping[str, object] | None = None,
        *,
        strategy: str | None = None,
        name: str | None = None,
        **settings: object,
    ) -> SparkQuery:
        """Register a query, or find one by its name, and return the handle to run it by.

        ``:name`` in the text stands for a value of `params`. Any setting may be given for this
        query alone, as in ``hold="2 seconds"``; what is not given, or None, is as SET says. One
        that the query has no use for is refused.
        """
        self._require_open()
        text = with_parameters(require_text(text, "a query", QUERY_HINT), params)
        if name is not None:
            require_text(name, "the name of a query")
        sets = {n: str(check_setting(n, v)) for n, v in settings.items() if v is not None}
        if text.lower() in self.session.queries:
            require_unset(text, sets if strategy is None else {"strategy": strategy, **sets})
            return SparkQuery(self, text.lower())
        chosen = str(self.session.settings["strategy"]) if strategy is None else strategy
        if not isinstance(chosen, str) or chosen not in STRATEGIES:
            raise BindError(
                f"unknown strategy {shown(chosen)}", hint=f"Use {', '.join(STRATEGIES)}."
            )
        fresh = name or self.session.free_name()
        self._require_fitting(text, chosen, sets)
        self._create(f"CREATE QUERY {name_sql(fresh)} AS {text}", sets)
        self._strategies[fresh.lower()] = chosen
        return SparkQuery(self, fresh.lower())

    def _require_fitting(self, text: str, strategy: str, sets: dict[str, str]) -> None:
        """Refuse settings of a query's own that it has no use for."""
        if not sets:
            return
        for name, value in sets.items():
            require_of_query(name, value, str(self.session.settings[name]))
        bound = self.session.bind_text(text, "", **sets)
        require_used(bound, sets, SPARK)
        if "early_aggregation" in sets:
            from windrow.optimize.context import PlanContext  # noqa: PLC0415 - it compiles
            from windrow.optimize.passes import optimize, require_early_inputs  # noqa: PLC0415 - it compiles

            (plan,) = optimize([bound], PlanContext(strategy))
            require_early_inputs(bound, plan)

    def _create(self, text: str, sets: dict[str, str]) -> None:
        """Register a query with settings of its own; those of the session stay as they are."""
        before = {name: self.session.settings[name] for name in sets}
        try:
            self.execute("".join(f"SET {n} = '{v}'; " for n, v in sets.items()) + text)
        finally:
            for name, value in before.items():
                self.execute(f"SET {name} = '{value}'")

    def program(self, *names: str) -> Program:
        """Return what the shards of a run of these queries execute."""
        queries = tuple(self.session.query(name).name for name in names)
        if not queries:
            raise RunError(
                "there is no query to run",
                hint="Register one, for example CREATE QUERY q AS SELECT ...;",
            )
        strategies = {self._strategies[name.lower()] for name in queries}
        if len(strategies) > 1:
            raise RunError(
                f"the queries of one run share a strategy, not {' and '.join(sorted(strategies))}",
                hint="Start those of each strategy by themselves.",
            )
        called = shipped(self.session.query(name) for name in queries)
        text = self._script.text(queries)
        return Program(text, queries, strategies.pop(), self.shards, called)

    def explain(self, name: str) -> str:
        """Return the plan of a query, and how it runs on Spark."""
        query, program = self.session.query(name), self.program(name)
        if (run := self._run_with(query.name)) is not None:
            program = replace(program, begun=run.job.program.begun)
        return f"{explain_text(query)}\n\n{explain_spark(program)}"

    # What runs

    def start(
        self,
        sinks: SinkSpecs | Mapping[str, SinkSpecs] | None = None,
        trigger: str = "available-now",
        options: Mapping[str, str] | None = None,
        queries: Sequence[str] | None = None,
        *,
        sink: SinkSpecs | None = None,
        drain: bool | None = None,
    ) -> Run:
        """Run all queries, or those that are named, in one pass.

        `sinks` has the sinks of each query by its name: one, or a list of several; `sink` is for
        all others: noop if it is not given. What is for every query may be given as `sinks`, too.

        `drain` closes all streams when the input has been read: what waits for later tuples comes
        out, and rows that arrive for a later run are late if they are older than the newest. By
        default only a run without a checkpoint does so: nothing can follow it.
        """
        chosen = self.session.queries if queries is None else queries
        names = [self.session.query(name).name for name in chosen]
        each, other = _sinks_by_query(sinks, sink)
        known = {name.lower() for name in names}
        unknown = [n for n in each if n.lower() not in known]
        if unknown:
            raise BindError(
                f'there is no query "{unknown[0]}" for a sink',
                hint=f"There are {', '.join(names)}.",
            )
        by_name = {name.lower(): spec for name, spec in each.items()}
        specs = {name: by_name.get(name.lower(), other) for name in names}
        folder = RunFolder(self.checkpoint)
        return self._start(RunOptions(folder, specs, trigger, dict(options or {}), drain))

    def start_query(
        self,
        name: str,
        sink: SinkSpecs,
        trigger: str,
        options: Mapping[str, str] | None,
        *,
        drain: bool | None,
    ) -> Run:
        """Run one query by itself."""
        query = self.session.query(name)
        folder = RunFolder(f"{self.checkpoint}/{query.name}")
        return self._start(
            RunOptions(folder, {query.name: sink}, trigger, dict(options or {}), drain)
        )

    def _start(self, order: RunOptions) -> Run:
        """Start a run, which has the lease on its checkpoint until it ends."""
        self._require_open()
        where = order.folder.where
        before = self._runs.get(where)
        if before is not None and before.active:
            raise RunError(
                f"{', '.join(before.names)} is running already", hint="Stop that run first."
            )
        drain = drains(order.trigger, asked=order.drain, kept=self._kept)
        sinks = self._sinks(order)
        self.on_phase("opens the checkpoint and plans the queries")
        lease = self._leased(where)
        try:
            shards, program = self._planned(order)
            frames = dict(self._frames)
            job = RunSpec(program, order.folder, sinks, order.trigger, frames, drain)
            run = Run(self.spark, shards, job, lease)
            self.on_phase("opens the sources and starts the streaming query")
            run.start()
        except BaseException:
            lease.release()
            raise
        self._runs[where] = run
        return run

    def _planned(self, order: RunOptions) -> tuple[Shards, Program]:
        """Return the program of a run, and its shards. All get ready while Spark starts."""
        where = order.folder.where
        if self._spark is None:
            self._begin_spark()
        program = placed_by(where, self.program(*order.specs))
        shards = Shards(where, program)
        if self._own_session and (self._master or "local").startswith("local"):
            shards.warm()  # with what this process has; a user's session may give tasks more
        return shards, program

    def _sinks(self, order: RunOptions) -> tuple[Sink, ...]:
        """Return the sinks of all queries of a run; those in memory are kept from run to run."""
        found: list[Sink] = []
        for name, specs in order.specs.items():
            for sink in choose_sinks(specs, target_of(self.session.query(name)), order.options):
                kept = f"{order.folder.where}/{name}"
                memory = isinstance(sink, MemorySink)
                found.append(self._memories.setdefault(kept, sink) if memory else sink)  # type: ignore[arg-type]
        return tuple(found)

    def _leased(self, where: str) -> Lease:
        """Return the lease on a checkpoint; refuse a place that cannot be one."""
        require_folder(self.checkpoint)
        require_place(where)
        return take_lease(where)

    def run_of(self, name: str) -> Run:
        """Return the newest run that has a query in it."""
        query = self.session.query(name)
        run = self._run_with(query.name)
        if run is None:
            raise RunError(f'"{query.name}" has not been started', hint="Call start() first.")
        return run

    def _run_with(self, name: str) -> Run | None:
        runs = (run for run in reversed(self._runs.values()) if name.lower() in run.names)
        return next(runs, None)

    def frame_of(self, name: str) -> DataFrame:
        """Return a query's changes as a streaming DataFrame."""
        query = self.session.query(name)
        folder = f"{self.checkpoint}/{query.name}"
        known = self._own.get(folder)
        lease = self._leased(folder) if known is None else known.lease
        try:
            program = placed_by(folder, self.program(name))
            wide = own_frame(self.spark, program, folder, self._frames)
        except BaseException:
            if known is None:
                lease.release()
            raise
        if known is None:
            self._own[folder] = OwnJob(self.spark, program, folder, lease)
            lease.when_lost(lambda error: LOG.error("%s", error))
        return changes_of(wide, program, query.name)

    def watched(self, name: str) -> Run | OwnJob:
        """Return what can say how far a query is: the newest run that has it, or an own job."""
        query = self.session.query(name)
        own = self._own.get(f"{self.checkpoint}/{query.name}")
        return own if own is not None and self._run_with(name) is None else self.run_of(name)

    def close(self) -> None:
        """Stop what runs, and Spark too if this database has started it."""
        if self._closed:
            return
        for run in self._runs.values():
            run.stop()
        for own in self._own.values():
            own.lease.release()
        if self._spark is None and self._starting is not None and self._starting.is_done:
            with suppress(RunError):
                self._spark = self._starting.result()
        if self._own_session and self._spark is not None:
            if self._starting is not None:
                self._starting.settle()
            self._spark.stop()
        if self._temporary is not None:
            self._temporary.cleanup()
        self._closed = True

    def _require_open(self) -> None:
        if self._closed:
            raise InputError("this database is closed", hint="Open another with connect().")

    def __enter__(self) -> SparkDatabase:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _sinks_by_query(
    sinks: SinkSpecs | Mapping[str, SinkSpecs] | None, sink: SinkSpecs | None
) -> tuple[dict[str, SinkSpecs], SinkSpecs]:
    """Return the sinks of queries by their names, and the one of all others."""
    if sinks is None or isinstance(sinks, Mapping):
        return dict(sinks or {}), "noop" if sink is None else sink
    if sink is None:
        return {}, sinks
    raise BindError(
        "one sink for all queries is given twice, as sinks and as sink",
        detail="sinks has one for each query by its name, sink is that of all others.",
        hint='Give one of them, or sinks={"name": ...} beside sink.',
    )
