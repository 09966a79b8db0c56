"""Aggregates written in Python by the user: slower than ours by far, but any function at all.

    class Longest:
        def init(self): return ""
        def add(self, state, word): return max(state, word, key=len)
        def result(self, state): return state

    register_aggregate("longest", Longest, (STRING,), STRING)

With `remove(state, *values)` a value that leaves is taken out of the state. Without it, the
values of a group are kept and folded anew whenever one of them leaves: O(group) then.
"""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from windrow.core.errors import BindError
from windrow.core.naming import require_text, shown
from windrow.kernels.groups import CLOSES, EMISSION, GROUP, WEIGHT
from windrow.operators.aggregate.batch import Accumulator, EventBatch
from windrow.operators.arrow import vector_from_arrow, vector_to_arrow
from windrow.operators.evaluate.user_defined import require_type
from windrow.operators.interner import Interner
from windrow.operators.state.fields import StateLayout
from windrow.operators.task import Saved
from windrow.operators.vector import I64, Bools
from windrow.physical.calls import AccumulatorCall
from windrow.plan.functions import declare_aggregate


class UserAggregate(Protocol):
    """A fold over the values of a group. It may also have `remove(state, *values)`."""

    def init(self) -> Any:
        """Return the state of no values."""

    def add(self, state: Any, *values: Any) -> Any:
        """Return the state with one more value."""

    def result(self, state: Any) -> Any:
        """Return the aggregate, None for NULL."""


@dataclass(frozen=True, slots=True)
class Registered:
    """An aggregate of the user's, and the types that it takes and gives."""

    aggregate: type[UserAggregate]
    arguments: tuple[pa.DataType, ...]
    result: pa.DataType

    def register(self, name: str) -> None:
        """Let queries of this process call it."""
        register_aggregate(name, self.aggregate, self.arguments, self.result)

    @property
    def code(self) -> type[UserAggregate]:
        """What is sent to shards, and digested."""
        return self.aggregate


REGISTERED: dict[str, Registered] = {}
"""The user's aggregates by name, in lower case."""


def register_aggregate(
    name: str,
    aggregate: type[UserAggregate],
    arguments: tuple[pa.DataType, ...],
    result: pa.DataType,
) -> None:
    """Let queries call `name` with arguments of these types. State must be picklable."""
    require_text(name, "the name of an aggregate")
    if not isinstance(aggregate, type):
        raise BindError(
            f"an aggregate is a class, not {shown(aggregate)}",
            hint="Give the class itself: each query makes an object of it.",
        )
    for method in ("init", "add", "result"):
        if not callable(getattr(aggregate, method, None)):
            raise BindError(
                f"{aggregate.__name__} has no method {method}",
                detail="An aggregate has init(), add(state, *values) and result(state).",
                hint="Add it to the class.",
            )
    if not isinstance(arguments, tuple | list):
        raise BindError(
            f"the arguments of {name} are a tuple of types, not {shown(arguments)}",
            hint="Give their types: (pa.int64(),), for example.",
        )
    for type_ in (*arguments, result):
        require_type(name, type_)
    declare_aggregate(name.lower(), arguments, result)
    REGISTERED[name.lower()] = Registered(aggregate, arguments, result)


@dataclass(slots=True)
class UserGroup:
    """One group: the values where they must be kept, and the state where it is current."""

    values: Counter[tuple[Any, ...]]
    state: Any = None
    stale: bool = True


class UserDefined(Accumulator):
    """A user's aggregate at work. NULL arguments are skipped, as by all aggregates."""

    stored_as = StateLayout("user-defined")

    def __init__(
        self, call: AccumulatorCall, aggregate: type[UserAggregate], interner: Interner
    ) -> None:
        self.call = call
        self.aggregate = aggregate()
        self.remove = getattr(self.aggregate, "remove", None)
        self.interner = interner
        self.groups: dict[int, UserGroup] = {}

    def reserve(self, groups: int) -> None:
        """Groups get their room one by one."""

    def fold(self, batch: EventBatch, out: I64, valid: Bools) -> None:
        """Hand the values over one by one."""
        taken = iter(self._values(batch))
        takes = np.zeros(len(batch), np.bool_)
        takes[batch.places(self.call)] = True
        results: list[Any] = [None] * batch.emissions
        groups, weights, emissions = (batch.events[k].tolist() for k in (GROUP, WEIGHT, EMISSION))
        closes = batch.events[CLOSES].tolist()
        for i, group in enumerate(groups):
            if takes[i]:
                self._change(group, next(taken), weights[i])
            if closes[emissions[i]] == i:
                results[emissions[i]] = self._result(group)
        made = vector_from_arrow(pa.array(results, self.call.type), self.call.type, self.interner)
        out[: batch.emissions] = made.data.view(np.int64)
        if made.valid is not None:
            valid[: batch.emissions] = made.valid

    def _values(self, batch: EventBatch) -> list[tuple[Any, ...]]:
        places = batch.places(self.call)
        columns = [
            vector_to_arrow(batch.columns[a.name].take(places), self.interner).to_pylist()
            for a in self.call.args
        ]
        return list(zip(*columns, strict=True)) if columns else [()] * len(places)

    def _change(self, group: int, values: tuple[Any, ...], weight: int) -> None:
        kept = self.groups.setdefault(group, UserGroup(Counter()))
        if self.remove is None:
            kept.values[values] += weight
            if not kept.values[values]:
                del kept.values[values]
            kept.stale = kept.stale or weight < 0
        if kept.stale and self.remove is not None:
            kept.state, kept.stale = self.aggregate.init(), False
        if not kept.stale:
            for _ in range(abs(weight)):
                one = self.aggregate.add if weight > 0 else self.remove
                assert one is not None
                kept.state = one(kept.state, *values)

    def _result(self, group: int) -> Any:
        kept = self.groups.get(group)
        if kept is None:
            return self.aggregate.result(self.aggregate.init())
        if kept.stale:
            kept.state = self.aggregate.init()
            for values, copies in kept.values.items():
                for _ in range(copies):
                    kept.state = self.aggregate.add(kept.state, *values)
            kept.stale = False
        return self.aggregate.result(kept.state)

    def release(self, groups: I64) -> None:
        """Forget the groups."""
        for group in groups.tolist():
            self.groups.pop(group, None)

    def entries(self) -> int:
        """Return how many different values are stored."""
        return sum(len(kept.values) for kept in self.groups.values())

    @property
    def nbytes(self) -> int:
        """Return the size as saved."""
        return len(pickle.dumps(self._plain()))

    def _plain(self) -> list[tuple[int, dict[tuple[Any, ...], int], Any, bool]]:
        return [(g, dict(k.values), k.state, k.stale) for g, k in self.groups.items()]

    def content(self, rows: int) -> Saved:
        """Return all groups, pickled."""
        return {"groups": pickle.dumps(self._plain())}

    def take_over(self, saved: Saved) -> None:
        """Take over saved groups."""
        groups = saved["groups"]
        assert isinstance(groups, bytes)
        self.groups = {
            g: UserGroup(Counter(values), state, stale)
            for g, values, state, stale in pickle.loads(groups)
        }

    def check_groups(self, live: I64) -> None:
        """Assert that only live groups are stored."""
        assert set(self.groups) <= set(live.tolist()), "an empty group is stored"
