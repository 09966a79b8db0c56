"""What a run tells: errors dug out of Spark's traces, progress put together, metrics, scripts."""

import re
import time
import urllib.request

import pytest

from windrow.core.errors import RunError, StateError
from windrow.language.parse import parse_script
from windrow.runtime.shards.program import Program
from windrow.runtime.spark.activity import RunWatch, drains, ends, read_trigger
from windrow.runtime.spark.failures import explained, will_repeat
from windrow.runtime.spark.handle import Script
from windrow.runtime.spark.metrics import MetricsServer, exposition
from windrow.runtime.spark.progress import Activity, Progress, Tally, progress_of

SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts;
CREATE STREAM u (n BIGINT, k BIGINT) TIMESTAMP BY n;
CREATE QUERY a AS SELECT k FROM s [RANGE 10];
CREATE QUERY b AS SELECT k FROM u [RANGE 10];
"""

OURS = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Job aborted due to
 stage failure: [PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback:
  File "worker.py", line 28, in step
    raise StateError("the log is damaged", detail="Byte 7\\nis not.", hint="Copy it.")
windrow.core.errors.StateError: error: the log is damaged
detail: Byte 7
is not.
hint: Copy it.
 SQLSTATE: 38000
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handle(PythonRunner.scala:599)
 SQLSTATE: XXKST
=== Streaming Query ===
Current Committed Offsets: {}
"""

THEIRS = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: [FOREACH_BATCH_...]
Traceback (most recent call last):
  File "/home/ada/job.py", line 3, in keep
ZeroDivisionError: division by zero
 SQLSTATE: 39000
\tat org.apache.spark.sql.execution.streaming.sources.ForeachBatchSink.callBatchWriter(X.scala:60)
Caused by: py4j.Py4JException: An exception was raised by the Python Proxy. Return Message: ...
"""


def test_one_of_our_errors_comes_out_of_a_trace_as_it_was() -> None:
    found = explained(Exception(OURS))
    assert isinstance(found, StateError)
    assert (found.message, found.detail, found.hint) == (
        "the log is damaged",
        "Byte 7\nis not.",
        "Copy it.",
    )


def test_an_error_of_others_is_told_by_its_last_sentence() -> None:
    found = explained(Exception(THEIRS))
    assert isinstance(found, RunError)
    assert found.detail == "ZeroDivisionError: division by zero"
    assert "\tat " not in found.render()


def test_a_failure_without_words_still_has_a_next_step() -> None:
    assert explained(Exception("")).hint


def report(shard: int) -> dict[str, object]:
    return {
        "version": 8,
        "rows_in": 100 + shard,
        "late": {"s": shard},
        "process_bytes": 5_000,
        "seconds": {"transfer": 0.1, "kernel": 0.2 + shard, "state": 0.05},
        "queries": {
            "a": {
                "clock": 1_500_000,
                "held_back_by": None,
                "behind": 2_500_000,
                "state_rows": 4,
                "state_bytes": 64,
            },
            "b": {"clock": 7, "held_back_by": "u", "state_rows": 1, "state_bytes": 8},
        },
    }


def batch(number: int, rows: int) -> dict[str, object]:
    times = {"addBatch": 1900, "triggerExecution": 2000}
    return {"batchId": number, "numInputRows": rows, "durationMs": times}


def told() -> Progress:
    tally = Tally()
    tally.add([batch(0, 10), batch(1, 20)])
    tally.add([batch(1, 20), batch(2, 40)])
    tally.add([{"batchId": 3, "numInputRows": 0, "durationMs": {"latestOffset": 1}}])
    program = Program(SCRIPT, ("a", "b"))
    reports = {n: report(n) for n in range(2)}
    tally.retried = 1
    dead = {"s": {"poison": 3, "late": 1}}
    doing = Activity("idle", 3.0, "new data", "2 seconds", 4.0)
    return progress_of(tally, reports, program, status="waiting", dead=dead, activity=doing)


def test_progress_adds_up_batches_once_and_shards_together() -> None:
    progress = told()
    assert (progress.batch, progress.batches, progress.total_rows) == (2, 3, 70)
    assert progress.rows_per_second == 20
    assert progress.queries["a"].clock == "1970-01-01T00:00:01.500000Z"
    assert progress.queries["a"].state_rows == 8
    assert progress.of("B")["held_back_by"] == "u"
    assert (progress.of("A")["behind"], progress.of("B")["behind"]) == (2.5, 0)
    assert progress.late == {"s": 1, "u": 0}
    parts = {"spark": 0.65, "transfer": 0.1, "kernel": 1.2, "state": 0.05}
    assert progress.seconds == pytest.approx(parts)


def test_rows_that_only_say_that_time_passes_are_not_counted() -> None:
    tally = Tally(ticks=True)
    sources = [{"numInputRows": 9}, {"numInputRows": 1}]
    tally.add([{**batch(n, 10), "sources": sources} for n in range(3)])
    assert (tally.batches, tally.rows) == (3, 27)


def test_metrics_are_what_progress_says() -> None:
    text = exposition(told())
    for line in (
        "windrow_input_rows_total 70",
        'windrow_clock_seconds{query="a"} 1.5',
        'windrow_clock_ticks{query="b"} 7',
        'windrow_behind{query="a"} 2.5',
        'windrow_held_back{query="b",stream="u"} 1',
        'windrow_batch_part_seconds{part="kernel"} 1.2',
        'windrow_dead_letters_total{stream="s",kind="poison"} 3',
        'windrow_state_bytes{shard="1"} 72',
        'windrow_batch_duration_seconds_bucket{le="1"} 0',
        'windrow_batch_duration_seconds_bucket{le="2.5"} 3',
        'windrow_batch_duration_seconds_bucket{le="+Inf"} 3',
        "windrow_batch_duration_seconds_sum 6",
        "windrow_batch_duration_seconds_count 3",
        'windrow_failures_total{kind="retried"} 1',
        'windrow_failures_total{kind="fatal"} 0',
        'windrow_doing{doing="idle"} 1',
        'windrow_doing{doing="working"} 0',
        "windrow_seconds_since_batch 4",
    ):
        assert f"{line}\n" in text, line
    assert text.count("# TYPE windrow_state_bytes gauge") == 1


def test_series_are_there_before_anything_has_happened() -> None:
    program = Program(SCRIPT, ("a", "b"))
    doing = Activity("starting", 1.0, "Spark", "2 seconds")
    progress = progress_of(Tally(), {}, program, status="", dead={}, activity=doing)
    text = exposition(progress)
    for line in (
        "windrow_batches_total 0",
        "windrow_input_rows_total 0",
        'windrow_late_total{stream="s"} 0',
        'windrow_dead_letters_total{stream="u",kind="poison"} 0',
        'windrow_failures_total{kind="fatal"} 0',
        'windrow_batch_part_seconds{part="kernel"} 0',
        'windrow_held_back{query="a",stream="s"} 0',
        "windrow_batch_duration_seconds_count 0",
        'windrow_doing{doing="starting"} 1',
    ):
        assert f"{line}\n" in text, line


def test_seconds_behind_are_those_between_event_time_and_now() -> None:
    found = re.search(r'windrow_seconds_behind\{query="a"\} (\S+)', exposition(told()))
    assert found is not None
    assert float(found[1]) == pytest.approx(time.time() - 1.5, abs=60)


def test_idle_is_told_from_working_and_stuck() -> None:
    tally, watch = Tally(), RunWatch("2 seconds")
    first = watch.look({"message": "Initializing sources"}, tally, None)
    assert (first.doing, first.awaits, first.since_batch) == ("starting", "Spark", None)
    tally.add([{**batch(4, 10), "timestamp": "2026-01-01T00:00:00.000Z"}])
    idle = watch.look({"message": "Waiting for data to arrive"}, tally, None)
    assert (idle.doing, idle.awaits) == ("idle", "new data; looks every 2 seconds")
    assert idle.since_batch is not None
    looks = watch.look({"message": "Getting offsets from FileStreamSource[x]"}, tally, None)
    assert looks.doing == "idle", "a look that finds nothing does not end it"
    at_work = watch.look({"message": "Processing new data"}, tally, None)
    assert (at_work.doing, at_work.awaits) == ("working", "batch 5")
    assert at_work.seconds < 5
    assert watch.look({"message": "ended"}, tally, "failed").doing == "failed"


def test_a_run_drains_if_it_is_asked_to_or_nothing_can_follow() -> None:
    assert not drains("available-now", asked=None, kept=True)
    assert drains("available-now", asked=None, kept=False)
    assert drains("once", asked=True, kept=True)
    assert not drains("2 seconds", asked=None, kept=False)
    with pytest.raises(RunError, match="has no end at which it could drain") as refused:
        drains("2 seconds", asked=True, kept=True)
    assert "available-now" in refused.value.hint


@pytest.mark.parametrize("kind", ["LimitError", "FullDiskError"])
def test_a_batch_for_which_there_is_no_room_is_not_run_again(kind: str) -> None:
    text = OURS.replace("StateError: error", f"{kind}: error")
    assert will_repeat(Exception(text))
    assert not will_repeat(Exception(OURS))
    assert will_repeat(Exception("java.io.IOException: No space left on device"))


def test_metrics_are_served() -> None:
    progress = told()
    server = MetricsServer(0, lambda: progress)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics") as answer:
            assert answer.read().decode() == exposition(progress)
        with pytest.raises(RunError, match="port"):
            MetricsServer(server.port, lambda: progress)
    finally:
        server.close()


def test_a_script_is_what_still_counts() -> None:
    script = Script()
    text = f"""{SCRIPT}
    SET strategy = 'negative'; DROP QUERY b; CREATE OR REPLACE QUERY a AS SELECT ts FROM s [NOW];
    CREATE STREAM IF NOT EXISTS s (ts BIGINT);"""
    for statement in parse_script(text):
        script.note(statement)
    program = Program(script.text(("a",)), ("a",))
    assert [query.root.schema.names for query in program.bound()] == [("ts",)]
    assert "CREATE QUERY b" not in program.script
    assert "SET strategy" in program.script


def test_triggers_are_read_and_others_refused() -> None:
    assert ends("available-now")
    assert ends("once")
    assert not ends("500 milliseconds")
    with pytest.raises(RunError, match="trigger"):
        read_trigger("sometimes")
