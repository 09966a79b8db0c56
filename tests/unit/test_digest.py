"""The digest of a user's class changes with what the class does, and with nothing else."""

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from windrow.runtime.shards.digest import digest_of

WHOLE = """
import math
import re
import threading
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

SCALE = 2
NAMES = {"one": [1, 2], "two": {3, 4}}
PATTERN = re.compile("a+")
LOCK = threading.Lock()
unused = 5

@dataclass
class Limits:
    most: int = 9

LIMITS = Limits(most=8)

def deep(x):
    return x * SCALE

def scaled(x):
    return deep(x) + 1

def times(n):
    return lambda x: x * n

@lru_cache
def slow(x):
    return x + 40

shifted = partial(scaled, 30)

class Grand:
    def result(self, state):
        return state - 3

class Base(Grand):
    start = 0

    def init(self):
        return self.start

class A(Base):
    limit = 10
    tripled = staticmethod(times(3))

    @staticmethod
    def plain(x):
        return x - 4

    @property
    def asked(self):
        return 5

    @cached_property
    def once(self):
        return 6

    def add(self, state, value, step=7):
        with LOCK:
            if value in {"aa", "bb", "cc", "dd"} or PATTERN.match(str(value)):
                return [scaled(v) for v in NAMES] or slow(1) or shifted()
        return max(state, LIMITS.most, math.floor(value)) or self.unused or A

    def unused(self):
        try:
            return super().add
        except KeyError:
            return 20
"""


def made(source: str) -> type:
    """Return the class A of a module of its own."""
    theirs = ModuleType("theirs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "theirs", theirs)
        exec(source, vars(theirs))
    found = theirs.A
    assert isinstance(found, type)
    return found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("max(state", "min(state"),  # a method
        ("{3, 4}", "{3, 5}"),  # in a value of the module
        ("SCALE = 2", "SCALE = 3"),  # a value that a function of a function names
        ("x * SCALE", "x + SCALE"),  # that function
        ('"a+"', '"b+"'),  # a value that tells its contents
        ("most=8", "most=7"),  # what an object of its own module holds
        ("state - 3", "state - 4"),  # a method of a base's base
        ("start = 0", "start = 1"),  # an attribute of a base
        ("limit = 10", "limit = 11"),  # an attribute
        ("times(3)", "times(4)"),  # a closure
        ("x - 4", "x - 5"),  # a static method
        ("return 5", "return 6"),  # a property
        ("return 6", "return 5"),  # a cached property
        ("step=7", "step=8"),  # a default
        ('"dd"', '"ee"'),  # a constant
        ("x + 40", "x + 41"),  # below a cache
        ("partial(scaled, 30)", "partial(scaled, 31)"),
        ("math.floor", "math.ceil"),
        ("KeyError", "ValueError"),
        ("class A(Base)", "class A(Grand)"),
    ],
)
def test_a_class_that_does_something_else_has_another_digest(old: str, new: str) -> None:
    assert WHOLE.count(old) == 1
    assert digest_of(made(WHOLE.replace(old, new))) != digest_of(made(WHOLE))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("state - 3", "state  -  3  # less three"),
        ("class Grand:", "\n\nclass Grand:\n    'The eldest.'\n"),
        ("unused = 5", "unused = 6"),  # an attribute of the class bears its name
        ("def scaled", "def other(x):\n    return 1\n\ndef scaled"),
        ("SCALE = 2", "other = 1\nSCALE = 2"),
    ],
)
def test_what_makes_no_difference_leaves_the_digest(old: str, new: str) -> None:
    assert WHOLE.count(old) == 1
    assert digest_of(made(WHOLE.replace(old, new))) == digest_of(made(WHOLE))


def test_work_leaves_the_digest() -> None:
    found = made(WHOLE)
    before = digest_of(found)
    for n in range(100):
        found().add(n, n)
        found().init()
    assert digest_of(found) == before


def test_a_closure_is_part_of_a_class() -> None:
    def scaled(n: int) -> type:
        class Scaled:
            def add(self, state: int, value: int) -> int:
                return state + n * value

        return Scaled

    assert digest_of(scaled(2)) == digest_of(scaled(2))
    assert digest_of(scaled(2)) != digest_of(scaled(3))


def test_classes_that_name_each_other_and_themselves_are_told() -> None:
    text = "class B:\n    def f(self): return A, {0}\nclass A:\n    def add(self): return A, B\n"
    assert digest_of(made(text.format(1))) == digest_of(made(text.format(1)))
    assert digest_of(made(text.format(1))) != digest_of(made(text.format(2)))


def test_what_is_imported_counts_by_its_name() -> None:
    text = "from json import {0} as f\nclass A:\n    def add(self): return f(1)\n"
    assert digest_of(made(text.format("dumps"))) != digest_of(made(text.format("loads")))


def test_every_process_finds_the_same(tmp_path: Path) -> None:
    """Even if sets of text have another order, and the module is read from a file."""
    (tmp_path / "theirs.py").write_text(WHOLE)
    code = """
import theirs
from windrow.runtime.shards.digest import digest_of
print(digest_of(theirs.A))
"""
    found = set()
    for seed in "123":
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        found.add(done.stdout.strip())
    assert found == {digest_of(made(WHOLE))}
