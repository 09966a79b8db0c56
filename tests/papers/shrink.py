"""Makes a failing case small: drops actions, rows, queries and clauses while it still fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from tests.papers.script import (
    Action,
    Case,
    Drop,
    Look,
    Push,
    Register,
    Reoptimize,
    Report,
    Restart,
    Update,
)
from tests.reference.papers.description import Query, SetOp

OF_QUERY = (Register, Drop, Look, Restart, Reoptimize, Report)
KEPT_FIELDS = ("keep_all", "retroactive", "internal", "directed")
"""What says which feature a query is about: a smaller case keeps it where it can."""


def shrunk(case: Case, fails: Callable[[Case], bool], tries: int = 1500) -> Case:
    """Return the smallest case found, of those that one step after the other leads to."""
    left = tries
    while True:
        for smaller in smaller_cases(case):
            left -= 1
            if left < 0:
                return case
            if fails(smaller):
                case = smaller
                break
        else:
            return case


def smaller_cases(case: Case) -> Iterator[Case]:
    """Cases with one thing less, the largest things first."""
    if len(case.queries) > 1:
        for number in range(len(case.queries)):
            yield _without_query(case, number)
    for i, action in enumerate(case.script):
        if not isinstance(action, Register):
            yield replace(case, script=case.script[:i] + case.script[i + 1 :])
    for i, action in enumerate(case.script):
        for smaller in _smaller_actions(action):
            yield replace(case, script=(*case.script[:i], smaller, *case.script[i + 1 :]))
    for number, query in enumerate(case.queries):
        for simpler in simpler_queries(query):
            queries = (*case.queries[:number], simpler, *case.queries[number + 1 :])
            yield replace(case, queries=queries)
    yield from _nearer(case)


def _without_query(case: Case, number: int) -> Case:
    script = tuple(
        _renumbered(action, number)
        for action in case.script
        if not (isinstance(action, OF_QUERY) and action.query == number)
    )
    return replace(
        case,
        queries=case.queries[:number] + case.queries[number + 1 :],
        strategies=case.strategies[:number] + case.strategies[number + 1 :],
        script=script,
    )


def _renumbered(action: Action, gone: int) -> Action:
    if isinstance(action, OF_QUERY) and action.query > gone:
        return replace(action, query=action.query - 1)
    return action


def _smaller_actions(action: Action) -> Iterator[Action]:
    match action:
        case Push(name, rows) if len(rows) > 1:
            yield from (Push(name, rows[:i] + rows[i + 1 :]) for i in range(len(rows)))
        case Update(name, changes) if len(changes) > 1:
            yield from (Update(name, changes[:i] + changes[i + 1 :]) for i in range(len(changes)))


def _nearer(case: Case) -> Iterator[Case]:
    last = max((r[0] or 0 for a in case.script if isinstance(a, Push) for r in a.rows), default=0)
    if case.until > last:
        yield replace(case, until=case.until - 1)
    if case.keyed:
        yield replace(case, keyed=False)
    if any(s != "auto" for s in case.strategies):
        yield replace(case, strategies=("auto",) * len(case.strategies))


def simpler_queries(query: Query) -> Iterator[Query]:
    """Queries with one clause less, at any depth; many of them mean nothing, and are refused."""
    if isinstance(query.body, SetOp):
        yield query.body.left
        yield query.body.right
    yield from _simpler(query)


def _simpler(node: Any) -> Iterator[Any]:
    for f in fields(node):
        if f.name == "kind" and getattr(node, "restore", False):
            continue
        value = getattr(node, f.name)
        for smaller in _simpler_value(f.name, value):
            yield replace(node, **{f.name: smaller})


def _simpler_value(name: str, value: Any) -> Iterator[Any]:
    if isinstance(value, tuple):
        least = 1 if name in ("items", "sources") else 0
        if len(value) > least:
            yield from (value[:i] + value[i + 1 :] for i in range(len(value)))
        for i, element in enumerate(value):
            if is_dataclass(element):
                for smaller in _simpler(element):
                    yield (*value[:i], smaller, *value[i + 1 :])
    elif is_dataclass(value):
        if hasattr(value, "col"):
            yield value.col
        yield from _simpler(value)
    elif value is True and name not in KEPT_FIELDS:
        yield False
    elif name == "slide" and value is not None:
        yield None
    elif name == "offset" and value:
        yield 0
    elif name == "kind" and value in ("istream", "rstream"):
        yield "view"
