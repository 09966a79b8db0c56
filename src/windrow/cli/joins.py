"""What EXPLAIN shows of a query's joins: the algorithm, the orders, early aggregation, and why."""

from __future__ import annotations

from windrow.optimize.choose_join import compares_all
from windrow.optimize.flatten_joins import flatten
from windrow.plan.explain_formats import JoinNote
from windrow.plan.nodes import Aggregate, Join, NrrJoin, Query, nodes_of


def join_notes(query: Query, strategy: str = "auto") -> list[JoinNote]:
    """Return a note for each join of many inputs, or of two by an algorithm that was asked for.

    So it is of two that no equality ties.
    Of a GROUP BY over a join it also names the inputs that are aggregated before they are joined.
    """
    nodes = list(nodes_of(query.root))
    joins = [node for node in nodes if isinstance(node, Join)]
    grouped = any(isinstance(node, Aggregate) for node in nodes)
    versions = grouped and any(isinstance(node, NrrJoin) for node in nodes)
    plain = len(joins) == 1 and query.join_algorithm == "auto" and not _compares(joins[0])
    if not versions and (not joins or (plain and not grouped)):
        return []
    from windrow.operators.interner import Interner  # noqa: PLC0415 - loads the engine
    from windrow.operators.lower import lower  # noqa: PLC0415 - loads the engine
    from windrow.operators.open import open_plan  # noqa: PLC0415 - loads the engine

    stages = open_plan(lower(query, strategy), Interner()).stages
    watches = [stage.watch for stage in stages if stage.watch is not None]
    return [JoinNote(tuple(w.notes()), w.facts()) for w in watches]


def _compares(join: Join) -> bool:
    flat = flatten(join)
    return flat is not None and compares_all(flat)
