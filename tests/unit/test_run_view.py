"""Ctrl-C stops a run, wherever Python is when it comes."""

from __future__ import annotations

import os
import signal
import weakref

import pytest

from windrow.cli.run_view import interruption


class Thing:
    """Something that can be referred to weakly."""


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_in_the_callback_of_a_weak_reference_is_heard() -> None:
    thing = Thing()
    with interruption() as heard:
        reference = weakref.ref(thing, lambda _: press())
        heard()
        del thing
        with pytest.raises(KeyboardInterrupt):
            heard()
    assert reference() is None


def test_a_second_ctrl_c_waits_for_nobody() -> None:
    with interruption():
        press()
        with pytest.raises(KeyboardInterrupt):
            press()


def test_afterwards_ctrl_c_is_what_it_was() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interruption():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
