"""Which queries of a set have tuples merged by pane and group before they reach a shard.

Tuples that another query needs as they are cross in any case: then there is nothing to gain. So a
query's input is merged only if all queries to whom its tuples go can have them merged; and by
default (`auto`) only if no tuple of any stream crosses as it is, and the expected rates make it
pay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from windrow.optimize.choose_partials import Verdict, verdict
from windrow.optimize.context import QueryDraft, Spread
from windrow.optimize.notes import CostNotes
from windrow.optimize.physical.streams import source_of
from windrow.physical.sources import Partials
from windrow.plan.catalog import Stream
from windrow.plan.expressions import Expr, plain
from windrow.plan.nodes import Exchange, Plan, Route, inputs_of

OFF, ON, AUTO = "off", "on", "auto"
"""What SET partials may say."""

Way = tuple[str, Route, tuple[Expr, ...]]
"""A stream, and where its tuples go: whoever they go to in one way shares them."""


def choose_merging(
    mode: str, drafts: Sequence[QueryDraft]
) -> tuple[frozenset[int], dict[int, CostNotes]]:
    """Return the queries, by number, whose tuples are merged; and why, of those that could be.

    The drafts are spread as if all that can be merged were.
    """
    queries = [_MergingQuery.of(draft) for draft in drafts]
    able = frozenset(n for n, query in enumerate(queries) if query.merging)
    reasons = {n: query.refused[0] for n, query in enumerate(queries) if query.refused}
    trial = _Trial(queries)
    chosen = frozenset() if mode == OFF else trial.unshared(able)
    against = trial.against(chosen) if mode == AUTO and chosen else None
    for n in sorted(able):
        if mode == OFF:
            reasons[n] = "partials is off"
        elif n not in chosen:
            reasons[n] = trial.sharing(n, chosen)
        else:
            reasons[n] = against or ("partials is on" if mode == ON else queries[n].gain)
    merged = chosen if against is None else frozenset()
    return merged, {n: queries[n].notes(n in merged, reason) for n, reason in reasons.items()}


@dataclass(frozen=True)
class _MergingQuery:
    """A query and the ways of its tuples: of those that may be merged, and of others.

    `refused`: why others are not merged.
    """

    name: str
    merging: tuple[tuple[Way, Partials, Stream], ...]
    whole: frozenset[Way]
    refused: tuple[str, ...]

    @classmethod
    def of(cls, draft: QueryDraft) -> _MergingQuery:
        """Return a query that is spread."""
        spread = draft.spread
        assert spread is not None, "tuples go to shards by exchanges"
        found = list(_ways(spread))
        merging = tuple((way, p, stream) for way, p, stream in found if p is not None)
        whole = frozenset(way for way, partials, _ in found if partials is None)
        return cls(draft.query.name, merging, whole, spread.refused)

    @cached_property
    def ways(self) -> frozenset[Way]:
        """The ways of tuples that may be merged."""
        return frozenset(way for way, *_ in self.merging)

    @cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What merging costs and spares, by input."""
        return tuple(verdict(partials, stream) for _, partials, stream in self.merging)

    @property
    def gain(self) -> str:
        """Why it pays."""
        return "; ".join(dict.fromkeys(v.reason for v in self.verdicts))

    def notes(self, merged: bool, reason: str) -> CostNotes:  # noqa: FBT001 - the choice itself
        """Return what becomes of its tuples, and why."""
        known = [(v.moved, v.merged) for v in self.verdicts if v.moved and v.merged]
        ways = zip(("as they are", "merged"), map(sum, zip(*known, strict=True)), strict=False)
        taken = "merged" if merged else "not merged"
        return CostNotes("tuples are", taken, reason, tuple(ways), "ms a pane")


def _ways(spread: Spread) -> Iterator[tuple[Way, Partials | None, Stream]]:
    """Return where tuples of streams go, and how they may be merged before."""
    waiting = [spread.root]
    while waiting:
        plan = waiting.pop()
        leaf, route, keys = _leaf(plan)
        source = source_of(leaf)
        if source is None:
            waiting += inputs_of(plan)
        elif isinstance(source.entry, Stream):
            partials = (p for p in spread.merging if p.is_of(leaf))
            by = tuple(plain(source.at_entry(key)) for key in keys)
            yield (source.entry.name, route, by), next(partials, None), source.entry


def _leaf(plan: Plan) -> tuple[Plan, Route, tuple[Expr, ...]]:
    """Return a node below its exchange; without one, all shards have its rows."""
    return (
        (plan.source, plan.route, plan.keys)
        if isinstance(plan, Exchange)
        else (plan, Route.ALL, ())
    )


@dataclass(frozen=True, slots=True)
class _Trial:
    """All queries, and where their tuples go."""

    queries: list[_MergingQuery]

    def _whole(self, way: Way, chosen: frozenset[int]) -> list[int]:
        """Return the queries that need the tuples that go one way as they are."""
        return [
            n
            for n, query in enumerate(self.queries)
            if way in query.whole or (n not in chosen and way in query.ways)
        ]

    def unshared(self, chosen: frozenset[int]) -> frozenset[int]:
        """Return the queries whose merged tuples nobody needs as they are."""
        while True:
            kept = frozenset(
                n for n in chosen if not any(self._whole(w, chosen) for w in self.queries[n].ways)
            )
            if kept == chosen:
                return kept
            chosen = kept

    def sharing(self, n: int, chosen: frozenset[int]) -> str:
        """Say who needs a query's tuples as they are."""
        ways = (way for way, *_ in self.queries[n].merging)
        needing = [other for way in ways for other in self._whole(way, chosen) if other != n]
        who = f'query "{self.queries[needing[0]].name}"' if needing else "the query itself"
        return f"{who} needs the same tuples as they are"

    def against(self, chosen: frozenset[int]) -> str | None:
        """Return what speaks against merging at all; None if nothing does."""
        for n, query in enumerate(self.queries):
            whole = query.whole if n in chosen else query.whole | query.ways
            for stream, *_ in sorted(whole, key=lambda way: way[0]):
                return f'query "{query.name}" needs the tuples of "{stream}" as they are'
        verdicts = (v for n in sorted(chosen) for v in self.queries[n].verdicts)
        return next((v.reason for v in verdicts if not v.pays), None)
