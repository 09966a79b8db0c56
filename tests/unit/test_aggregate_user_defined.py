"""Aggregates of the user's own: with and without a way to take a value back."""

import numpy as np
import pyarrow as pa
import pytest

from windrow.core.errors import BindError
from windrow.core.schema import Field
from windrow.core.types import BIGINT, STRING
from windrow.operators.aggregate import AccumulatorCall, GroupBy, GroupByTask, register_aggregate
from windrow.operators.aggregate.user_defined import REGISTERED
from windrow.operators.arrow import columns_to_table, vector_from_arrow
from windrow.operators.delta import Delta
from windrow.operators.interner import Interner
from windrow.operators.vector import Vector
from windrow.plan.expressions import Column
from windrow.plan.functions.aggregates import AGGREGATES, canonical_aggregate

K = Field("k", BIGINT, nullable=False)
S = Field("s", STRING)
N = Field("n", BIGINT)


class Longest:
    """The longest word, of equals the least. Only ever grows."""

    def init(self):
        return None

    def add(self, state, word):
        return word if state is None else min(state, word, key=lambda w: (-len(w), w))

    def result(self, state):
        return state


class Weighted:
    """Sum of n times the length of s: can be taken back."""

    def init(self):
        return 0

    def add(self, state, word, n):
        return state + n * len(word)

    def remove(self, state, word, n):
        return state - n * len(word)

    def result(self, state):
        return state


@pytest.fixture(autouse=True)
def registered():
    register_aggregate("Longest", Longest, (STRING,), STRING)
    register_aggregate("weighted", Weighted, (STRING, BIGINT), BIGINT)
    yield
    for name in ("longest", "weighted"):
        del REGISTERED[name]
        del AGGREGATES[name]


def test_values_come_and_go_and_states_are_saved():
    interner = Interner()
    op = GroupBy(
        (K,),
        (
            AccumulatorCall("longest", (S,), "longest", STRING),
            AccumulatorCall("weighted", (S, N), "sum", BIGINT),
        ),
    )
    task = GroupByTask(op, interner)
    changes = [
        (1, 1, 7, "aa", 1),
        (1, 1, 7, "b", 10),
        (2, 1, 8, None, 5),
        (3, -1, 7, "aa", 1),
        (4, 2, 7, "ccc", 1),
        (5, -1, 8, None, 5),
    ]
    rows: list[tuple] = []
    for ts, weight, key, word, n in changes:
        columns = {
            "k": Vector(BIGINT, np.array([key])),
            "s": vector_from_arrow(pa.array([word], STRING), STRING, interner),
            "n": Vector(BIGINT, np.array([n])),
        }
        delta = Delta(np.array([ts]), columns, weight=np.array([weight]))
        out = task.step((delta,), ts)
        task.check()
        table = columns_to_table(out.columns, op.schema, interner).to_pylist()
        rows += [
            (ts, w, *row.values()) for w, row in zip(out.weights().tolist(), table, strict=True)
        ]
        fresh = GroupByTask(op, interner)
        fresh.load(task.save())
        task = fresh
    assert rows == [
        (1, 1, 7, "aa", 2),
        (1, -1, 7, "aa", 2),
        (1, 1, 7, "aa", 12),
        (2, 1, 8, None, 0),
        (3, -1, 7, "aa", 12),
        (3, 1, 7, "b", 10),
        (4, -1, 7, "b", 10),
        (4, 1, 7, "ccc", 16),
        (5, -1, 8, None, 0),
    ]
    assert task.state_bytes() > 0
    assert task.state_rows() == 1 + 2


def test_queries_know_the_aggregate_and_its_types():
    assert canonical_aggregate("LONGEST") == "longest"
    word = Column("s", STRING)
    assert AGGREGATES["longest"].resolve((word,)) == ((word,), STRING)
    with pytest.raises(BindError, match=r"weighted takes weighted\(STRING, BIGINT\)"):
        AGGREGATES["weighted"].resolve((word, word))


def test_a_name_is_given_once():
    with pytest.raises(BindError, match="already"):
        register_aggregate("longest", Longest, (STRING,), STRING)
    with pytest.raises(BindError, match="already"):
        register_aggregate("mean", Longest, (STRING,), STRING)
