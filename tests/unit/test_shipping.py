"""A user's aggregate goes to other processes by value, and is part of what state depends on."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest

import windrow as wr
from windrow.core.errors import RunError, StateError
from windrow.operators.aggregate.user_defined import REGISTERED
from windrow.plan.functions import AGGREGATES
from windrow.plan.session import Session
from windrow.runtime.shards.checkpoint import open_checkpoint
from windrow.runtime.shards.program import Program, Shipped
from windrow.runtime.spark.shipping import shipped

SCRIPT = """
CREATE STREAM s (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts;
CREATE QUERY q AS SELECT k, spread_of(v) AS spread FROM s [RANGE 10] GROUP BY k;
"""


def width(low: int, high: int) -> int:
    return high - low


class Spread:
    def init(self):
        return None

    def add(self, state, value):
        low, high = state or (value, value)
        return min(low, value), max(high, value)

    def result(self, state):
        return None if state is None else width(*state)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    with patch.dict(AGGREGATES), patch.dict(REGISTERED):
        wr.register_aggregate("spread_of", Spread, (pa.int64(),), pa.int64())
        yield


def program() -> Program:
    session = Session()
    session.execute(SCRIPT)
    return Program(SCRIPT, ("q",), aggregates=shipped([session.query("q")]))


def test_a_process_that_has_never_seen_the_module_can_call_it(tmp_path: Path) -> None:
    (tmp_path / "program.json").write_text(program().to_json())
    code = """
import sys
from pathlib import Path
from windrow.runtime.shards.program import Program
from windrow.operators.aggregate.user_defined import REGISTERED
program = Program.from_json(Path(sys.argv[1]).read_text())
program.bound()
spread = REGISTERED["spread_of"].aggregate()
state = None
for value in (3, 9, 5):
    state = spread.add(state, value)
print(spread.result(state), program.fingerprint, "tests" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "program.json")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.stdout == f"6 {program().fingerprint} False\n", done.stderr


def test_only_what_is_called_is_shipped() -> None:
    session = Session()
    session.execute(SCRIPT.replace("spread_of(v)", "MAX(v)"))
    assert shipped([session.query("q")]) == ()


def test_a_changed_aggregate_is_another_program(tmp_path: Path) -> None:
    now = program()
    (one,) = now.aggregates
    open_checkpoint(str(tmp_path), now)
    open_checkpoint(str(tmp_path), program())
    changed = replace(now, aggregates=(replace(one, digest="other"),))
    with pytest.raises(StateError, match="another program") as caught:
        open_checkpoint(str(tmp_path), changed)
    assert caught.value.detail == 'The aggregate "spread_of" has changed.'


def test_what_cannot_be_pickled_is_told() -> None:
    lock = threading.Lock()

    class Locked(Spread):
        def add(self, state, value):
            with lock:
                return super().add(state, value)

    wr.register_aggregate("locked", Locked, (pa.int64(),), pa.int64())
    session = Session()
    session.execute(SCRIPT.replace("spread_of", "locked"))
    with pytest.raises(RunError, match='aggregate "locked" cannot be sent') as caught:
        shipped([session.query("q")])
    assert "lock" in caught.value.detail


def test_what_an_executor_lacks_is_told() -> None:
    # What pickle writes for a class of a module that is not there.
    lost = Shipped("gone", "Y25vX3N1Y2hfbW9kdWxlCkEKLg==", "")
    with pytest.raises(StateError, match='"gone" cannot be loaded here') as caught:
        lost.install()
    assert "No module named 'no_such_module'" in caught.value.detail
