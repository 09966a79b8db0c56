"""Settings that a query has no use for.

SET is for all queries that follow, so a setting that one of them has no use for is no error:
EXPLAIN and `q.stats()` show it. One that was given to a query alone is meant for that query: there
it is refused. Settings that contradict each other are refused wherever they were said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from windrow.core.errors import BindError
from windrow.plan.nodes import Hold, Query, nodes_of

LOCAL, SPARK = "local", "spark"

OF_A_RUN = ("partials", "expiry_pace")
"""Settings that all queries of a run on Spark share."""


@dataclass(frozen=True, slots=True)
class Unused:
    """A setting without effect, why it has none, and what would give it one."""

    name: str
    value: object
    reason: str
    hint: str = ""

    def __str__(self) -> str:
        """Return the line that EXPLAIN shows."""
        return f"{self.name} = {self.value} has no effect: {self.reason}"


def unused(query: Query, engine: str | None = None) -> list[Unused]:
    """Return the settings that a query was bound under and has no use for.

    Without an engine: those that no engine could use.
    """
    return [*_of_plan(query), *(_of_engine(query, engine) if engine is not None else ())]


def _of_plan(query: Query) -> Iterator[Unused]:
    asked, kind = dict(query.asked), query.expiry.kind
    if "hold" in asked and not any(isinstance(node, Hold) for node in nodes_of(query.root)):
        reason = "the query has no negation whose results could be held"
        yield Unused("hold", asked["hold"], reason)
    said = query.expiry.join_messages
    if said != "auto" and not (kind == "negative" or (kind == "piggyback" and said == "on")):
        reason = f"under expiry {kind} no negative tuples travel that messages could stand for"
        yield Unused("join_messages", said, reason, "negative")
    if "punctuation" in asked and kind != "input_triggered":
        reason = f"under expiry {kind} operators learn of time without it"
        yield Unused("punctuation", asked["punctuation"], reason, "input_triggered")


def _of_engine(query: Query, engine: str) -> Iterator[Unused]:
    asked = dict(query.asked)
    if engine == LOCAL and "partials" in asked:
        yield Unused("partials", asked["partials"], "no rows are moved within one process")
    if engine == LOCAL and "expiry_pace" in asked:
        reason = "in one process there are no batches of Spark that expiries could wait for"
        yield Unused("expiry_pace", asked["expiry_pace"], reason)
    if engine == SPARK and "punctuation" in asked and query.expiry.kind == "input_triggered":
        reason = "on Spark every batch with rows brings the time to all operators"
        yield Unused("punctuation", asked["punctuation"], reason)


def require_used(query: Query, given: Collection[str], engine: str) -> None:
    """Refuse settings that were given for just this query, and that it has no use for."""
    for found in unused(query, engine):
        if found.name in given:
            also = f'Give expiry="{found.hint}" as well, or leave' if found.hint else "Leave"
            raise BindError(
                f"{found.name} = {found.value} has no effect on this query",
                detail=f"{found.reason[0].upper()}{found.reason[1:]}.",
                hint=f"{also} {found.name} out; SET is passed over by queries without use for it.",
            )


def require_unset(name: str, given: Mapping[str, object]) -> None:
    """Refuse settings for a query that there is already."""
    if given:
        raise BindError(
            f'"{name}" is a query already, with settings of its own',
            detail=f"It was bound before {', '.join(given)} could be given.",
            hint="Leave settings out to read it, or register its text under another name.",
        )


def require_of_query(name: str, value: object, session: object) -> None:
    """Refuse a setting for one query that all queries of a run share, unless it is so for all."""
    if name in OF_A_RUN and value != session:
        raise BindError(
            f"{name} = {value} cannot be said of one query",
            detail="All queries of a run on Spark share it.",
            hint=f"SET {name} = '{value}' before the run, or leave it out.",
        )
