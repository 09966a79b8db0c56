"""What a generated query may contain: the knobs of `queries`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tests.generate.expressions import AGGREGATES

WINDOWS = (
    "range",
    "slide",
    "now",
    "unbounded",
    "none",  # no window written: unbounded by default
    "since",
    "rows",
    "rows slide",
    "partition",
    "tumble",
    "internal",
)

OPERATORS = (
    "filter",
    "join",
    "theta",
    "outer join",
    "band",
    "relation",
    "nrr",
    "exists",
    "in",
    "not exists",
    "not in",
    "union all",
    "union",
    "intersect all",
    "intersect",
    "except all",
    "except",
    "distinct",
    "group",
    "having",
    "order",
    "limit",
    "subquery",
    "stream subquery",  # (ISTREAM(...)), (DSTREAM(...)) or (WSTREAM(...)[...]) in FROM
    "windowed subquery",
    "with",
)

OUTPUTS = ("view", "istream", "dstream", "rstream", "wstream", "restore")

STRICT_WINDOWS = {"rows", "rows slide", "partition"}
STRICT_OPERATORS = {
    *("relation", "not exists", "not in", "except", "except all", "group", "having", "limit"),
    "outer join",
}
MONOTONE_WINDOWS = {"unbounded", "none", "since"}


@dataclass(frozen=True, slots=True)
class Grammar:
    """The constructs that may occur, how many sources a FROM has, how deep sub-queries nest.

    With `keep_ids` every select list holds the ids of its streams, so that rows differ. An
    `eager` grammar uses what it has nearly always: for a few operators in small plans.
    """

    windows: frozenset[str]
    operators: frozenset[str]
    outputs: frozenset[str]
    aggregates: tuple[str, ...]
    max_sources: int
    depth: int
    keep_ids: bool
    eager: bool

    def __post_init__(self) -> None:
        assert self.windows <= set(WINDOWS), f"unknown: {set(self.windows) - set(WINDOWS)}"
        assert self.operators <= set(OPERATORS), f"unknown: {set(self.operators) - set(OPERATORS)}"
        assert self.outputs <= set(OUTPUTS), f"unknown: {set(self.outputs) - set(OUTPUTS)}"
        assert self.windows - {"internal"}, "some window is needed"


def grammar(
    *,
    windows: Iterable[str] = WINDOWS,
    operators: Iterable[str] = OPERATORS,
    outputs: Iterable[str] = OUTPUTS,
    aggregates: Iterable[str] = tuple(AGGREGATES),
    max_sources: int = 3,
    depth: int = 1,
    keep_ids: bool = False,
    eager: bool = False,
    monotone_only: bool = False,
    predictable_only: bool = False,
) -> Grammar:
    """Return a grammar; `monotone_only` and `predictable_only` leave out what breaks MON or WK."""
    allowed_windows, allowed_operators = set(windows), set(operators)
    if monotone_only or predictable_only:
        allowed_windows -= STRICT_WINDOWS
        allowed_operators -= STRICT_OPERATORS
    if monotone_only:
        allowed_windows &= MONOTONE_WINDOWS
    return Grammar(
        frozenset(allowed_windows),
        frozenset(allowed_operators),
        frozenset(outputs),
        tuple(aggregates),
        max_sources,
        depth,
        keep_ids,
        eager,
    )
