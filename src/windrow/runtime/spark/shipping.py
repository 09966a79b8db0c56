"""The user's aggregates and functions that some plans call, pickled for the shards."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass

from pyspark import cloudpickle

from windrow.core.errors import RunError
from windrow.operators.aggregate.user_defined import REGISTERED, Registered
from windrow.operators.evaluate.user_defined import USER_FUNCTIONS, UserFunction
from windrow.plan.expressions import Call
from windrow.plan.nodes import AggregateCall, Plan, Query, nodes_of
from windrow.runtime.shards.program import Shipped


def shipped(queries: Iterable[Query]) -> tuple[Shipped, ...]:
    """Return the user's aggregates and functions that queries call, by name."""
    called = {
        name
        for query in queries
        for node in nodes_of(query.root)
        for field in fields(node)
        for name in _called(getattr(node, field.name))
    }
    known: dict[str, Registered | UserFunction] = {**REGISTERED, **USER_FUNCTIONS}
    return tuple(
        Shipped.of(name, known[name].code, _pickled(name, known[name]))
        for name in sorted(called & {*known})
    )


def _called(part: object) -> Iterator[str]:
    """Yield the names of all functions in a part of a plan node, but not of nodes below it."""
    if isinstance(part, tuple):
        for inner in part:
            yield from _called(inner)
    elif is_dataclass(part) and not isinstance(part, Plan):
        if isinstance(part, Call | AggregateCall):
            yield part.name
        for field in fields(part):
            yield from _called(getattr(part, field.name))


def _pickled(name: str, registered: Registered | UserFunction) -> bytes:
    """Pickle code by value: the module that it stands in need not be where shards are."""
    module = sys.modules.get(registered.code.__module__)
    kind = "aggregate" if isinstance(registered, Registered) else "function"
    known = cloudpickle.list_registry_pickle_by_value()  # type: ignore[no-untyped-call]
    by_value = module is not None and module.__name__ not in known
    try:
        if by_value:
            cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
        return bytes(cloudpickle.dumps(registered))  # type: ignore[no-untyped-call]
    except Exception as error:
        raise RunError(
            f'the {kind} "{name}" cannot be sent to the shards',
            detail=f"{type(error).__name__}: {error}",
            hint="It, and all that it refers to, must be picklable: no open files, locks or "
            "sessions. Open them in init() of an aggregate, or when a function is called.",
        ) from error
    finally:
        if by_value:
            cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]
