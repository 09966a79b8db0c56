"""The user's aggregates that some plans call, pickled for the shards."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from pyspark import cloudpickle

from windrow.core.errors import RunError
from windrow.operators.aggregate.user_defined import REGISTERED, Registered
from windrow.plan.nodes import Aggregate, Query, nodes_of
from windrow.runtime.shards.program import Shipped


def shipped(queries: Iterable[Query]) -> tuple[Shipped, ...]:
    """Return the user's aggregates that queries call, by name."""
    called = {
        call.name
        for query in queries
        for node in nodes_of(query.root)
        if isinstance(node, Aggregate)
        for call in node.calls
    }
    found = {name: REGISTERED[name] for name in sorted(called & {*REGISTERED})}
    return tuple(
        Shipped.of(name, registered.aggregate, _pickled(name, registered))
        for name, registered in found.items()
    )


def _pickled(name: str, registered: Registered) -> bytes:
    """Pickle a class by value: the module that it stands in need not be where shards are."""
    module = sys.modules.get(registered.aggregate.__module__)
    known = cloudpickle.list_registry_pickle_by_value()  # type: ignore[no-untyped-call]
    by_value = module is not None and module.__name__ not in known
    try:
        if by_value:
            cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
        return bytes(cloudpickle.dumps(registered))  # type: ignore[no-untyped-call]
    except Exception as error:
        raise RunError(
            f'the aggregate "{name}" cannot be sent to the shards',
            detail=f"{type(error).__name__}: {error}",
            hint="It, and all that it refers to, must be picklable: no open files, locks or "
            "sessions. Open them in init().",
        ) from error
    finally:
        if by_value:
            cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]
