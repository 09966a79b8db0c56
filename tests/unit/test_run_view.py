"""Ctrl-C and SIGTERM stop a run, wherever Python is when they come; its view shows what it does."""

from __future__ import annotations

import os
import signal
import weakref
from dataclasses import replace

import pytest

from windrow.cli.run import chosen_sinks, split_pairs
from windrow.cli.run_view import RunLines, doing, ending, table
from windrow.cli.signals import Signals, StopRequest
from windrow.core.errors import RunError
from windrow.runtime.spark.progress import Activity, Progress


class Thing:
    """Something that can be referred to weakly."""


def press(number: int = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


BOTH = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])


@BOTH
def test_a_signal_in_the_callback_of_a_weak_reference_is_heard(number: int) -> None:
    thing = Thing()
    with Signals() as signals:
        signals.started()
        reference = weakref.ref(thing, lambda _: press(number))
        signals.check()
        del thing
        with pytest.raises(KeyboardInterrupt):
            signals.check()
    assert reference() is None


@BOTH
def test_a_second_signal_waits_for_nobody(number: int) -> None:
    with Signals() as signals:
        signals.started()
        press()
        with pytest.raises(KeyboardInterrupt):
            press(number)


@BOTH
def test_while_it_starts_a_signal_is_raised_where_it_comes(number: int) -> None:
    with Signals() as signals:
        with pytest.raises(StopRequest) as caught:
            press(number)
        assert caught.value.code == 128 + number
        with pytest.raises(StopRequest):
            signals.started()


@BOTH
def test_afterwards_a_signal_is_what_it_was(number: int) -> None:
    before = signal.getsignal(number)
    with Signals():
        assert signal.getsignal(number) is not before
    assert signal.getsignal(number) is before


def test_each_is_called_by_its_name() -> None:
    assert StopRequest(signal.SIGINT).name == "Ctrl-C"
    assert StopRequest(signal.SIGTERM).name == "SIGTERM"


def test_where_nobody_looks_silence_is_told_once_a_minute() -> None:
    lines = RunLines()
    idle = Activity("idle", 5.0, "new data; looks every 2 seconds", "2 seconds", 5.0)
    quiet = Progress(active=True, status="", batch=3, activity=idle)
    assert lines.of(quiet)[0].startswith("batch 3: ")
    assert lines.of(quiet) == []
    later = replace(quiet, activity=replace(idle, seconds=61.0, since_batch=61.0))
    assert lines.of(later) == [
        "idle for 61 s, awaits new data; looks every 2 seconds; last batch 61 s ago"
    ]
    assert lines.of(later) == []


def test_the_table_says_what_the_run_does() -> None:
    stuck = Activity("working", 300.0, "batch 4", "2 seconds", 301.0)
    assert doing(stuck) == "working for 300 s on batch 4; last batch 301 s ago"
    assert table(Progress(active=True, status="", activity=stuck)).renderables


def test_the_last_line_says_whether_it_was_drained() -> None:
    assert ending("state", drained=True).startswith("drained: every answer")
    assert "--drain closes the streams" in ending("state", drained=False)


def test_all_sinks_for_all_queries_are_kept_and_a_query_may_have_its_own() -> None:
    assert chosen_sinks(("parquet:a", "json:b"), ["q"]) == {"q": ("parquet:a", "json:b")}
    assert chosen_sinks(("q=memory", "q=json:b"), ["q", "r"]) == {
        "q": ("memory", "json:b"),
        "r": ("console",),
    }
    with pytest.raises(RunError, match='there is no query "p"'):
        chosen_sinks(("p=memory",), ["q"])


def test_a_setting_is_a_key_and_a_value() -> None:
    assert split_pairs(("a.b=c=d",), "setting", "--conf x=y") == {"a.b": "c=d"}
    with pytest.raises(RunError, match='a setting is KEY=VALUE, not "a"') as refused:
        split_pairs(("a",), "setting", "--conf x=y")
    assert refused.value.hint == "For example --conf x=y."
