"""What each update pattern promises, as checks of a plan's answers in one world.

All relation nodes of a plan are evaluated at once, in the world as it was and in the world that
ended at a cut, so that a promise "whatever arrives later" is tried on what did arrive later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from tests.generate.streams import cut_times, until
from tests.reference import oracle_sql as sql
from tests.reference.histories import Row, World
from tests.reference.oracle_tables import Tables, walk

from windrow.core.schema import Field, Schema
from windrow.core.types import BIGINT
from windrow.plan.expressions import Column
from windrow.plan.nodes import (
    Delay,
    Filter,
    Istream,
    Join,
    NrrJoin,
    Plan,
    Produced,
    Project,
    Refresh,
    Scan,
    UnionAll,
    Window,
    is_stream,
)
from windrow.plan.patterns import PatternKind, pattern_of

AFTERMATH = 30
"""How long after the last event answers are looked at: longer than any window drawn."""

Answers = dict[int, Counter[Row]]
"""A node's answer at each instant looked at, in the order of time."""


def observe(root: Plan, world: World, cuts: Iterable[int] = ()) -> list[list[Answers]]:
    """The answers of every relation node, the root's first: in the world, then as it ends at cuts.

    All are taken at the same instants: when any node can change in any of these worlds. Where
    the world ends, so do the streams that queries make: a stream of whole answers would go on,
    but what it will say is not yet a result.
    """
    cuts = list(cuts)
    last = max([*cuts, *cut_times(world)], default=0) + AFTERMATH
    nodes = nodes_of(root)
    everywhere = [Tables(root, world, last)]
    everywhere += [Tables(root, until(world, cut), last) for cut in cuts]
    found = {i for tables in everywhere for node in nodes for i in tables.instants(node)}
    if reads_derived_stream(root):
        everywhere[1:] = [Tables(root, until(world, cut), cut) for cut in cuts]
    instants = tuple(sorted({*cuts, *found}))
    return [
        [_answers(tables, node, instants) for node in nodes if not is_stream(node)]
        for tables in everywhere
    ]


def nodes_of(root: Plan) -> list[Plan]:
    """Every node once, parents first."""
    return list({id(node): node for node in walk(root)}.values())


def _answers(tables: Tables, node: Plan, instants: tuple[int, ...]) -> Answers:
    columns = sql.listed("__at", sql.columns_sql(node.schema))
    table = tables.relation(node, instants)
    schema = Schema((Field("__at", BIGINT),)) + node.schema
    answers: Answers = {i: Counter() for i in instants}
    for at, *row in tables.fetch(f"SELECT {columns} FROM {table}", schema):
        answers[at][tuple(row)] += 1  # type: ignore[index]
    return answers


def check_patterns(root: Plan, world: World, cuts: Iterable[int]) -> None:
    """Assert that every node keeps the promise of its pattern, wherever the world is cut."""
    cuts = sorted(set(cuts))
    whole, *predictions = observe(root, world, cuts)
    relations = [node for node in nodes_of(root) if not is_stream(node)]
    for cut, predicted in zip(cuts, predictions, strict=True):
        for node, answers, foreseen in zip(relations, whole, predicted, strict=True):
            check_node(node, answers, foreseen, cut)


def check_node(node: Plan, answers: Answers, predicted: Answers, cut: int) -> None:
    """Assert the promise of one node's pattern; `predicted` are its answers if the world ends."""
    told = f"{type(node).__name__} is {pattern_of(node).kind.name}"
    early = next((i for i in answers if i <= cut and answers[i] != predicted[i]), None)
    assert early is None, f"{told}: what comes after {cut} changes the answer at {early}"
    pattern = pattern_of(node)
    if not pattern.predictable:
        return
    taken = taken_back(answers, predicted, cut)
    assert taken is None, f"{told}: {taken[1]} is taken back at {taken[0]} by a later arrival"
    if pattern.kind is PatternKind.MON:
        assert first_loss(answers) is None, f"{told}: an answer is lost at {first_loss(answers)}"
    if identity(node) is None:
        return
    renewed = outlived(answers, predicted, cut)
    assert renewed is None, (
        f"{told}: the end of {renewed[1]} was not known at {cut}, see {renewed[0]}"
    )
    if pattern.lifetime is not None:
        assert lives_for(answers, pattern.lifetime), f"{told}: not all live {pattern.lifetime}"


def taken_back(answers: Answers, predicted: Answers, cut: int) -> tuple[int, Row] | None:
    """The first (instant, row) of the predicted answer that does not come true."""
    for at in answers:
        lost = predicted[at] - answers[at] if at > cut else None
        if lost:
            return at, next(iter(lost))
    return None


def outlived(answers: Answers, predicted: Answers, cut: int) -> tuple[int, Row] | None:
    """The first (instant, row) that was there at the cut and then is not as often as predicted."""
    born = set(answers[cut])
    for at in answers:
        for row in born if at > cut else ():
            if answers[at][row] != predicted[at][row]:
                return at, row
    return None


def first_loss(answers: Answers) -> int | None:
    """The first instant at which a row leaves."""
    return next((b for a, b in pairwise(answers) if answers[a] - answers[b]), None)


def changes(answers: Answers) -> tuple[dict[int, Counter[Row]], dict[int, Counter[Row]]]:
    """What enters and what leaves, by instant."""
    before: Counter[Row] = Counter()
    entering, leaving = {}, {}
    for at, rows in answers.items():
        entering[at], leaving[at] = rows - before, before - rows
        before = rows
    return entering, leaving


def lives_for(answers: Answers, lifetime: int) -> bool:
    """Tell whether what leaves at τ is exactly what entered at τ - lifetime."""
    entering, leaving = changes(answers)
    last = max(answers, default=0)
    nothing: Counter[Row] = Counter()
    left = all(entering.get(at - lifetime, nothing) == rows for at, rows in leaving.items())
    entered = all(
        leaving.get(at + lifetime, nothing) == rows
        for at, rows in entering.items()
        if at + lifetime <= last
    )
    return left and entered


def reads_derived_stream(plan: Plan) -> bool:
    """Tell whether some window looks at the output of a query."""
    return any(is_stream(node) and not _is_of_base(node) for node in walk(plan))


def _is_of_base(stream: Plan) -> bool:
    match stream:
        case Filter(source) | Project(source):
            return _is_of_base(source)
        case _:
            return isinstance(stream, Scan)


def identity(plan: Plan) -> tuple[int, ...] | None:
    """Where the columns are that tell a row from all others; None if there are none for sure.

    So for select-project-join-union plans that keep the ids of all streams they read.
    """
    match plan:
        case Scan():
            return (plan.schema.names.index(f"{plan.alias}.id"),)
        case Project(source, columns):
            kept = identity(source)
            if kept is None:
                return None
            ids = [source.schema.names[i] for i in kept]
            shown = [c.expr.name if isinstance(c.expr, Column) else "" for c in columns]
            return tuple(map(shown.index, ids)) if set(ids) <= set(shown) else None
        case Join(left, right):
            return _both(identity(left), identity(right), len(left.schema))
        case NrrJoin(left):
            return identity(left)
        case Produced(source) | Istream(source) | Delay(source):
            return identity(source) if pattern_of(source).predictable else None
        case Filter(source) | Window(source) | Refresh(source):
            return identity(source)
        case UnionAll(inputs):
            places = {identity(source) for source in inputs}
            return places.pop() if len(places) == 1 and not reads_derived_stream(plan) else None
        case _:
            return None


def _both(
    left: tuple[int, ...] | None, right: tuple[int, ...] | None, offset: int
) -> tuple[int, ...] | None:
    if left is None or right is None:
        return None
    return (*left, *(offset + i for i in right))


def is_not_predictable(plan: Plan, world: World) -> bool:
    """Tell whether, at some of the cuts, what comes later takes back what stood firm: STR."""
    cuts = cut_times(world)[1:-1:3]
    whole, *predictions = observe(plan, world, cuts)
    return any(
        taken_back(whole[0], predicted[0], cut) is not None
        for cut, predicted in zip(cuts, predictions, strict=True)
    )


def has_no_one_lifetime(plan: Plan, world: World) -> bool:
    """Tell whether there is no c such that what leaves at τ is what entered at τ - c."""
    answers = observe(plan, world)[0][0]
    return not any(lives_for(answers, lifetime) for lifetime in range(1, AFTERMATH))


def loses_something(plan: Plan, world: World) -> bool:
    """Tell whether a row leaves the answer."""
    return first_loss(observe(plan, world)[0][0]) is not None
