"""What EXPLAIN tells of a query's joins: the algorithm, the orders, what lost, and why."""

from __future__ import annotations

from windrow.plan.explain_formats import JoinNote
from windrow.plan.nodes import Join, Query, nodes_of


def join_notes(query: Query, strategy: str = "auto") -> list[JoinNote]:
    """Return a note for each join of many inputs, or of two by an algorithm that was asked for."""
    joins = sum(isinstance(node, Join) for node in nodes_of(query.root))
    if not joins or (joins == 1 and query.join_algorithm == "auto"):
        return []
    from windrow.operators.interner import Interner  # noqa: PLC0415 - loads the engine
    from windrow.operators.lower import lower  # noqa: PLC0415 - loads the engine

    stages = lower(query, strategy, Interner()).stages
    watches = [stage.watch for stage in stages if stage.watch is not None]
    return [JoinNote(tuple(w.notes()), w.facts()) for w in watches]
