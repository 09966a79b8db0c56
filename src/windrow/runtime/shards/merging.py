"""Which queries of a program have tuples merged by pane and group before they reach a shard.

Tuples that another query needs as they are cross in any case: then there is nothing to gain. So a
query's input is merged only if all queries that share its port can have it merged; and by default
(`auto`) only if no tuple of any stream crosses as it is, and the expected rates make it pay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from windrow.optimize.choose_partials import verdict
from windrow.optimize.preaggregate_panes import refusals
from windrow.optimize.rules import apply_rules, prepared
from windrow.physical.plan import PhysicalPlan
from windrow.physical.sources import Partials
from windrow.plan.catalog import Stream
from windrow.plan.nodes import Query
from windrow.runtime.shards.ports import Ports
from windrow.runtime.shards.program import Program

OFF, ON, AUTO = "off", "on", "auto"
"""What SET partials may say."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The queries, by number, whose inputs are merged; and of those that could be, why or not."""

    queries: frozenset[int] = frozenset()
    reasons: dict[int, str] = field(default_factory=dict)


def choose_merging(program: Program, plans: list[PhysicalPlan]) -> Choice:
    """Return which queries have their inputs merged, given plans in which all that can do."""
    mode, queries = program.folding().mode, program.bound()
    able = frozenset(n for n, plan in enumerate(plans) if plan.partials)
    reasons = {
        n: f"not merged: {why[0]}"
        for n, query in enumerate(queries)
        if (why := (*refusals(apply_rules(prepared(query.root))), *plans[n].unmerged))
    }
    trial = _trial(queries, plans)
    chosen = frozenset() if mode == OFF else trial.unshared(able)
    against = trial.against(chosen) if mode == AUTO and chosen else None
    for n in sorted(able):
        if mode == OFF:
            reasons[n] = "not merged: partials is off"
        elif n not in chosen:
            reasons[n] = f"not merged: {trial.sharing(n, chosen)}"
        elif against is not None:
            reasons[n] = f"not merged: {against}"
        else:
            reasons[n] = "merged: " + ("partials is on" if mode == ON else trial.gain(n))
    return Choice(chosen if against is None else frozenset(), reasons)


def _trial(queries: Sequence[Query], plans: list[PhysicalPlan]) -> _Trial:
    ports = Ports()
    entered = [ports.enter(q, plan) for q, plan in zip(queries, plans, strict=True)]
    users: dict[int, set[tuple[int, int]]] = {}
    for n, at in enumerate(entered):
        for stage, port in at.items():
            users.setdefault(port, set()).add((n, stage))
    names = {p.number: p.entry.name for p in ports.made if isinstance(p.entry, Stream)}
    return _Trial([q.name for q in queries], plans, users, names)


@dataclass(frozen=True, slots=True)
class _Trial:
    """All queries at their ports. `users`: (query, stage) by port; `streams`: names by port."""

    queries: list[str]
    plans: list[PhysicalPlan]
    users: dict[int, set[tuple[int, int]]]
    streams: dict[int, str]

    def _whole(self, port: int, chosen: frozenset[int]) -> list[int]:
        """Return the queries that need the tuples of a port as they are."""
        users = sorted(self.users[port])
        return [n for n, s in users if n not in chosen or s not in self.plans[n].partials]

    def _merging(self, n: int) -> list[int]:
        """Return the ports at which a query could have tuples merged."""
        partials = self.plans[n].partials
        return [p for p, users in self.users.items() if any((n, s) in users for s in partials)]

    def unshared(self, chosen: frozenset[int]) -> frozenset[int]:
        """Return the queries whose merged inputs nobody needs as they are."""
        while True:
            kept = frozenset(
                n for n in chosen if not any(self._whole(p, chosen) for p in self._merging(n))
            )
            if kept == chosen:
                return kept
            chosen = kept

    def sharing(self, n: int, chosen: frozenset[int]) -> str:
        """Say who needs a query's tuples as they are."""
        needing = [o for p in self._merging(n) for o in self._whole(p, chosen) if o != n]
        who = f'query "{self.queries[needing[0]]}"' if needing else "the query itself"
        return f"{who} needs the same tuples as they are"

    def against(self, chosen: frozenset[int]) -> str | None:
        """Return what speaks against merging at all; None if nothing does."""
        for port, stream in self.streams.items():
            if whole := self._whole(port, chosen):
                name = self.queries[whole[0]]
                return f'query "{name}" needs the tuples of "{stream}" as they are'
        verdicts = (verdict(p, s) for n in chosen for p, s in self._partials(n))
        return next((v.reason for v in verdicts if not v.pays), None)

    def gain(self, n: int) -> str:
        """Say why it pays."""
        return "; ".join(dict.fromkeys(verdict(p, s).reason for p, s in self._partials(n)))

    def _partials(self, n: int) -> list[tuple[Partials, Stream]]:
        plan = self.plans[n]
        entries = ((p, plan.sources[stage].entry) for stage, p in plan.partials.items())
        return [(partials, entry) for partials, entry in entries if isinstance(entry, Stream)]
