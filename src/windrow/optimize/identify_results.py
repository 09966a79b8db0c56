"""What a result is: columns that distinguish the results of a query.

A result is made of certain tuples, and is not the same as another one of equal values. THESIS 3.3.2
lets INTERNAL windows emit "the same results in the same order as in the case of external windows",
and 3.3.4 lets RESTORE report "all the short-lived results": both are about results, not about
values. Operators compare rows by their values, so here each row gets columns that say which result
it is:

    Produced(Q)           ⇒  π_Q(Istream(Q⁺))
    Refresh(Q, restore)   ⇒  π_Q(Refresh(Q⁺, restore))       Q⁺ = Q with the columns of its results

    result of             identified by
    S [window]            the number of the tuple in S
    a relation            all columns of its row; of equal rows the last inserted expires first
    σ, π                  as in the input
    ⋈, ⋈NRR               those of both sides; an NRR's row by all its columns
    ⋉, ▷                  those of the left side
    ⊎                     the branch, and those of that branch
    a block with γ, LIMIT the columns that it selects
    δ, ∩, -, TopN, hold   all columns

Where windows of time are only filtered, projected, joined and merged, each result travels exactly
once, with its end: there `Produced` stays, nothing is numbered, and no retraction is computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from windrow.core.types import BIGINT
from windrow.plan.expressions import Column, Literal
from windrow.plan.nodes import (
    Aggregate,
    AntiJoin,
    Filter,
    Istream,
    Join,
    Named,
    NrrJoin,
    Numbered,
    Plan,
    Produced,
    Project,
    Refresh,
    SemiJoin,
    Table,
    TopN,
    UnionAll,
    Window,
    as_column,
    inputs_of,
)
from windrow.plan.rebuilding import with_inputs
from windrow.plan.windows import Range, Since, Unbounded, Until

Identified = tuple[Plan, tuple[str, ...]]
"""A plan, and those of its columns that distinguish its results."""


def identify_results(plan: Plan, *, keep_produced: bool = True) -> Plan:
    """Return the plan with results identified wherever they count one by one.

    Applied once, before the rules. Without `keep_produced`, results are identified even where each
    travels exactly once.
    """
    return _Identify(count(1), keep_produced=keep_produced).over(plan)


def travels_once(plan: Plan, *, slid: bool = False) -> bool:
    """Return whether each result of a plan travels exactly once, with its end, and is then done.

    `slid`: whether a SLIDE stands above. A value that DISTINCT or EXISTS renews travels again, and
    results of an NRR under a SLIDE are compared with those of the refresh before.
    """
    match plan:
        case Window(spec=spec):
            return isinstance(spec, Range | Unbounded | Since | Until)
        case Filter(source=source) | Project(source=source):
            return travels_once(source, slid=slid)
        case Join() | UnionAll():
            return all(travels_once(below, slid=slid) for below in inputs_of(plan))
        case NrrJoin(left=left):
            return not slid and travels_once(left)
        case Refresh(source=source, restore=False):
            return not slid and travels_once(source, slid=True)
        case _:
            return False


class _Identify:
    """A walk down a plan that names the columns it adds."""

    def __init__(self, numbers: Iterator[int], *, keep_produced: bool) -> None:
        self._numbers = numbers
        self._keep_produced = keep_produced

    def over(self, plan: Plan) -> Plan:
        """Return the node with results identified where they count, in it or below."""
        match plan:
            case Produced(source=source) if not (self._keep_produced and travels_once(source)):
                below, _ = self.results(source)
                return _only(Istream(below), plan)
            case Refresh(source=source, restore=True):
                below, _ = self.results(source)
                return _only(replace(plan, source=below), plan)
            case _:
                inputs = inputs_of(plan)
                made = tuple(map(self.over, inputs))
                return plan if made == inputs else with_inputs(plan, made)

    def results(self, plan: Plan) -> Identified:
        """Return the plan with the columns that distinguish its results, after its own columns."""
        match plan:
            case Window(source=source):
                number = self._name()
                return replace(plan, source=Numbered(self.over(source), number)), (number,)
            case Table():
                return plan, plan.schema.names
            case Filter(source=source) | Refresh(source=source):
                below, ids = self.results(source)
                return replace(plan, source=below), ids
            case Project():
                return self._project(plan)
            case Join() | NrrJoin():
                return self._join(plan)
            case SemiJoin(left=left, right=right) | AntiJoin(left=left, right=right):
                below, ids = self.results(left)
                return replace(plan, left=below, right=self.over(right)), ids
            case UnionAll(inputs=inputs):
                return self._union(inputs)
            case _:
                return self.over(plan), plan.schema.names

    def _name(self) -> str:
        return f"#result{next(self._numbers)}"

    def _project(self, plan: Project) -> Identified:
        if _groups(plan.source) or _cuts_by_hidden_keys(plan.source):
            return replace(plan, source=self.over(plan.source)), plan.schema.names
        below, ids = self.results(plan.source)
        kept = {c.expr.name: c.name for c in plan.columns if isinstance(c.expr, Column)}
        added = tuple(
            Named(self._name(), as_column(below.schema[name])) for name in ids if name not in kept
        )
        names = iter(added)
        names_of_ids = tuple(kept[name] if name in kept else next(names).name for name in ids)
        return Project(below, plan.columns + added), names_of_ids

    def _join(self, plan: Join | NrrJoin) -> Identified:
        left, ids = self.results(plan.left)
        if isinstance(plan, NrrJoin):
            return replace(plan, left=left), ids + plan.table.schema.names
        right, others = self.results(plan.right)
        return replace(plan, left=left, right=right), ids + others

    def _union(self, inputs: tuple[Plan, ...]) -> Identified:
        """Number the branches; what identifies the results of one branch is NULL in others."""
        branches = [self.results(plan) for plan in inputs]
        branch = self._name()
        columns = [
            (i, Named(self._name(), as_column(below.schema[name])))
            for i, (below, ids) in enumerate(branches)
            for name in ids
        ]
        made = []
        for i, (below, _) in enumerate(branches):
            own = tuple(Named(f.name, as_column(f)) for f in inputs[i].schema)
            which = Named(branch, Literal(i, BIGINT))
            ids = tuple(
                c if j == i else Named(c.name, Literal(None, c.expr.type)) for j, c in columns
            )
            made.append(Project(below, (*own, which, *ids)))
        return UnionAll(tuple(made)), (branch, *(c.name for _, c in columns))


def _groups(plan: Plan) -> bool:
    """Return whether a node is γ, perhaps behind HAVING."""
    while isinstance(plan, Filter):
        plan = plan.source
    return isinstance(plan, Aggregate)


def _cuts_by_hidden_keys(plan: Plan) -> bool:
    """Return whether a node is LIMIT by keys that are not selected."""
    return isinstance(plan, TopN) and any(name.startswith("#key") for name in plan.schema.names)


def _only(made: Plan, plan: Plan) -> Plan:
    """Return what was made with the columns of `plan` alone."""
    if made.schema.names == plan.schema.names:
        return made
    return Project(made, tuple(Named(f.name, as_column(f)) for f in plan.schema))
