"""Tuples of ``[ROWS n SLIDE m]`` meet an NRR when they arrive, not when they show.

    S [ROWS n SLIDE m] ⋈NRR N   ⇒   (S [ROWS n+m-1] ⋈NRR N)  ⋉ number  S [ROWS n SLIDE m]

    tuples       1  2┊ 3  4┊ 5         m = 2, n = 2
    sliding      ────┊─1 2─┊─3 4       a tuple shows up to m-1 tuples after its arrival
    ROWS 3       1 2 ┊1 2 3┊...        holds each tuple from its arrival on, until it has expired

A result meets the version at the ts of its stream tuples [THESIS, Definition 3.1], and an NRR is
read when a result appears. The longer window has every tuple from its arrival on: there results
appear at their own ts. Those whose tuples the sliding window does not hold are left out above.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from windrow.plan.expressions import Column
from windrow.plan.nodes import (
    Filter,
    Join,
    JoinOn,
    Named,
    NrrJoin,
    Numbered,
    Plan,
    Project,
    Scan,
    SemiJoin,
    Window,
    as_column,
    inputs_of,
)
from windrow.plan.rebuilding import with_inputs
from windrow.plan.windows import Rows

SLID = "#slid"
"""The column with a tuple's number, where only the sliding window is asked for it."""


def meet_versions_before_slides(plan: Plan) -> Plan:
    """Return the plan with NRRs joined above windows that hold tuples from their arrival on.

    Applied once, from the root down: NRRs that are joined one after the other all meet the longer
    window, before results are left out.
    """
    if isinstance(plan, NrrJoin) and _slid(plan.left):
        plan = _joined_before(plan)
    inputs = inputs_of(plan)
    made = tuple(map(meet_versions_before_slides, inputs))
    return plan if made == inputs else with_inputs(plan, made)


def _joined_before(plan: NrrJoin) -> Plan:
    """Return the join of the longer windows, less what the sliding ones do not hold."""
    longer = _Longer()
    left = longer.over(plan.left)
    met: Plan = replace(plan, left=left)
    for column, window in longer.found:
        number = as_column(left.schema[column])
        on = JoinOn((number,), (Column(SLID, number.type, nullable=False),))
        met = SemiJoin(met, _numbers(window), on)
    return Project(met, tuple(Named(f.name, as_column(f)) for f in plan.schema))


def _slid(plan: Plan) -> bool:
    """Return whether results are made of tuples that show later than they arrive."""
    match plan:
        case Window(spec=Rows(step=step)):
            return step > 1
        case Filter() | Project() | Join():
            return any(map(_slid, inputs_of(plan)))
        case NrrJoin(left=left) | SemiJoin(left=left):
            return _slid(left)
        case _:
            return False


@dataclass(slots=True)
class _Longer:
    """A walk that makes sliding count windows longer; `found` has their numbers' columns."""

    found: list[tuple[str, Window]] = field(default_factory=list)

    def over(self, plan: Plan) -> Plan:
        """Return the node over longer windows, whose numbers it shows."""
        match plan:
            case Window(spec=Rows(count=count, step=step)) if step > 1:
                column = f"{SLID}{len(self.found)}"
                self.found.append((column, plan))
                source = Numbered(plan.source, column)
                return replace(plan, source=source, spec=Rows(count + step - 1))
            case Filter(source=source):
                return replace(plan, source=self.over(source))
            case Project(source=source, columns=columns):
                before = len(self.found)
                below = self.over(source)
                shown = tuple(
                    Named(name, as_column(below.schema[name])) for name, _ in self.found[before:]
                )
                return Project(below, columns + shown)
            case Join():
                return with_inputs(plan, tuple(map(self.over, inputs_of(plan))))
            case NrrJoin(left=left) | SemiJoin(left=left):
                return replace(plan, left=self.over(left))
            case _:
                return plan


def _numbers(window: Window) -> Plan:
    """Return the numbers of the tuples that a sliding window holds: a scan of its own."""
    source = window.source
    if isinstance(source, Scan):
        source = replace(source, alias=f"{source.alias}{SLID}")
    held = Window(Numbered(source, SLID), window.spec)
    return Project(held, (Named(SLID, as_column(held.schema[SLID])),))
