"""SET hold: results of negations that are emitted once they have lasted.

Where a negation stands decides what is held, so this is done to the plan as it was written, before
any rule moves a negation. Of negations in one another only the outermost is held: its results wait
already, and if those of the inner ones waited too, answers would come later than h.
"""

from __future__ import annotations

from windrow.core.time import Clock
from windrow.plan.binding.durations import said_length
from windrow.plan.nodes import AntiJoin, Except, Hold, Plan, inputs_of, nodes_of
from windrow.plan.rebuilding import with_inputs


def hold_negations(plan: Plan, said: str, clock: Clock | None) -> Plan:
    """Return the plan with its outermost negations held for as long as was said; or "none".

    `clock` is that of the query's streams, None if it reads none.
    """
    if said == "none" or not any(isinstance(n, AntiJoin | Except) for n in nodes_of(plan)):
        return plan
    return _held(plan, said_length(said, clock, "hold"))


def _held(plan: Plan, length: int) -> Plan:
    if isinstance(plan, AntiJoin | Except):
        return Hold(plan, length)
    below = inputs_of(plan)
    held = tuple(_held(p, length) for p in below)
    return plan if held == below else with_inputs(plan, held)
