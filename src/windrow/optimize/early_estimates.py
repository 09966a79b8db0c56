"""What is known of a GROUP BY over joins before it runs, and what placement is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from windrow.core.errors import SemanticError
from windrow.optimize.choose_early import EarlyChoice, EarlyFacts, EarlyInput, choose_early, named
from windrow.optimize.early_grouping import Placement, early_calls, entry_columns
from windrow.optimize.grouped_joins import NUMBERED, GroupedJoin, Versioned
from windrow.optimize.join_estimates import estimated
from windrow.optimize.join_graph import GraphInput, JoinGraph
from windrow.optimize.join_orders import best_orders
from windrow.optimize.statistics import Statistics
from windrow.plan.settings import names_in

AUTO, NONE = "auto", "none"

Asked = Callable[[GroupedJoin], str]
"""Which inputs of a join are to be aggregated early, as `SET early_aggregation` takes them."""


def estimated_facts(
    joined: GroupedJoin, statistics: Statistics, slide: int | None = None
) -> EarlyFacts:
    """Return the facts as far as they follow from rates and keys: every column has as many values.

    With a `slide`, changes come at its multiples.
    """
    graph = estimated(joined.join, joined.flat, statistics)
    counts = [
        _counts(joined, which, given, max(given.values, default=0.0) or statistics.keys)
        for which, given in enumerate(graph.inputs)
    ]
    facts = facts_from(joined, graph, counts)
    return facts if slide is None else replace(facts, instants=1.0 / slide)


Counts = tuple[float, float]
"""Of an input: distinct rows in the columns of its entries if it is aggregated, and groups."""


def facts_from(joined: GroupedJoin, graph: JoinGraph, counts: list[Counts]) -> EarlyFacts:
    """Return the facts of inputs of which entries and groups are counted."""
    everyone = (True,) * len(graph)
    early = early_calls(joined, everyone)
    not_early = joined.why_not_applicable()
    inputs = tuple(
        EarlyInput(name, entries, groups, early.count(which), not_early)
        for which, (name, (entries, groups)) in enumerate(zip(joined.names, counts, strict=True))
    )
    calls = sum(1 for c in joined.calls if c.args or c.filter is not None)
    return EarlyFacts(graph, inputs, calls, orders=best_orders(graph))


def _counts(joined: GroupedJoin, which: int, given: GraphInput, keys: float) -> Counts:
    """Return entries and groups of an input whose columns are independent of each other."""
    everyone = (True,) * len(joined.flat.inputs)
    columns = entry_columns(joined, early_calls(joined, everyone), which)
    matched = prod(max(1.0, v) for v in given.values)
    others = sum(1 for e in columns.all if e not in columns.matched)
    groups = min(given.size, keys ** len(columns.grouped))
    return min(given.size, matched * keys**others), max(1.0, groups)


def chosen_early(joined: GroupedJoin, facts: EarlyFacts, asked: str) -> EarlyChoice:
    """Return the placement that is asked for, or with `auto` the cheapest.

    Raises `SemanticError` for one that cannot be.
    """
    choice = choose_early(facts)
    if asked == AUTO:
        return choice
    placement = asked_placement(joined, asked)
    return replace(choice, placement=placement, reason=f"early_aggregation is {asked}")


def asked_placement(joined: GroupedJoin, asked: str) -> Placement:
    """Return the inputs that a set names."""
    wanted = _wanted(asked)
    placement = tuple(bool(names & wanted) for names in joined.answers)
    if any(placement) and (why := joined.why_not_applicable()):
        name = named(placement, joined.names)
        raise SemanticError(
            f"early_aggregation {name} cannot be",
            detail=f"{why[0].upper()}{why[1:]}." if not why.startswith("WINDOW") else f"{why}.",
            hint="SET early_aggregation = 'auto' for this query; EXPLAIN shows what is taken.",
        )
    return placement


def answers_to(joined: GroupedJoin, asked: str) -> bool:
    """Return whether a join has an input for each of the names asked for."""
    return _wanted(asked) <= frozenset[str]().union(*joined.answers)


def asks_for(joined: GroupedJoin, asked: Asked) -> bool:
    """Return whether some inputs of a join are named, to be aggregated early."""
    said = asked(joined)
    return said not in (AUTO, NONE) and answers_to(joined, said)


def _wanted(asked: str) -> frozenset[str]:
    return frozenset(name.lower() for name in names_in(asked) or ())


def meets_a_version(asked: str, found: Versioned) -> SemanticError | None:
    """Return the error for names of what meets an NRR; None if they are not among its own."""
    known = {NUMBERED.sub("", name.lower()) for name in found.names}
    if not _wanted(asked) <= known | {name.lower() for name in found.names}:
        return None
    below = f"Join {found.table} with one stream in a sub-query of FROM, or declare"
    return SemanticError(
        f"early_aggregation {asked} cannot be",
        detail=f"{found.table} is a NON RETROACTIVE RELATION: each result meets the version at its"
        " own time. What is summed up before must be of time windows, or unbounded ones, with"
        " expiry 'auto' and no processor, so that tuples of a version expire in order of arrival.",
        hint=f"{below if found.several else 'Declare'} it as a RELATION; or SET early_aggregation"
        " = 'auto'.",
    )


def unknown_names(asked: str, known: list[str]) -> SemanticError:
    """Return the error for names that no join under a GROUP BY has."""
    there = f"Joined and grouped are {', '.join(dict.fromkeys(known))}." if known else ""
    return SemanticError(
        f"early_aggregation = {asked} names what no GROUP BY over a join has",
        detail=there or "The query has no GROUP BY over a join.",
        hint="SET early_aggregation = 'auto' before it, or write names of its FROM in braces.",
    )
