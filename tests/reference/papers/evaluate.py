"""Q(τ): a query description over a world, from FROM to the output operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from tests.reference.papers import operators as op
from tests.reference.papers.description import (
    Block,
    Body,
    Col,
    Compare,
    Derived,
    Expr,
    Member,
    PairBound,
    Plus,
    Query,
    SetOp,
    Source,
    Stream,
    Sub,
    Table,
    Times,
    is_internal,
    is_mixed,
    is_stream,
    period_of,
    reads_stream,
)
from tests.reference.papers.operators import Columns
from tests.reference.papers.results import (
    Bags,
    Result,
    bags_of,
    in_order,
    individuals,
    net_increases,
    produced,
    productions,
)
from tests.reference.papers.values import Row
from tests.reference.papers.windows import passings, windowed
from tests.reference.papers.worlds import Arrival, Run, World, first_event, state_of


@dataclass(frozen=True, slots=True)
class Output:
    """What a query gives from its first event to `end`: of a stream, what it emits at each instant;
    of any other the answer at each instant."""

    stream: bool
    begin: int
    end: int
    bags: Bags


def evaluate(query: Query, world: World, end: int, begin: int | None = None) -> Output | None:
    """All that a query gives up to and at `end`; None if it has no event by then."""
    begin = first_event(query, world) if begin is None else begin
    if begin is None or begin > end:
        return None
    run = Run(world, begin, end)
    if not is_stream(query):
        return Output(False, begin, end, answers(query, run))
    emitted: Bags = {at: Counter() for at in run.instants}
    for result in stream_of(query, run):
        emitted[result.ts][result.row] += 1
    return Output(True, begin, end, emitted)


# ---------------------------------------------------------------------------- output operators


def answers(query: Query, run: Run) -> Bags:
    """The answer at each instant, held between refreshes, with what RESTORE adds.

    THESIS 2.1.3: "the Rstream operator streams the contents of the entire output relation at the
    current time". windrow keeps it as a view.
    """
    if query.kind == "wstream":
        return bags_of(relation_of(query, run), run)
    assert not is_stream(query), "a stream has no answer"
    return body_answers(query.body, run, restore=query.restore)


def body_answers(body: Body, run: Run, *, restore: bool = False) -> Bags:
    """The answers of a body under its SLIDE."""
    results, period = results_of(body, run), period_of(body)
    if period is None:
        return bags_of(results, run)
    before = over_nothing(body, run)
    if restore:
        return op.restored(results, before, period, run)
    return op.held(bags_of(results, run), before, period, run)


def over_nothing(body: Body, run: Run) -> Counter[Row]:
    """The answer before any update: no tuple has come, relations are as they began."""
    nothing = replace(run, end=run.begin, nothing=True)
    return bags_of(results_of(body, nothing), nothing)[run.begin]


def stream_of(query: Query, run: Run) -> list[Arrival]:
    """The stream of a query's results: by its output operator, or as over internal windows.

    THESIS 3.3.2: "an operator over internal windows produces the same results in the same order as
    in the case of external windows, but the output stream is assumed to be append-only"; 3.4: "the
    windows do not need to be declared as INTERNAL because Wstream assumes that the output is
    monotonic and may be windowed".
    """
    if run.nothing:
        return []
    if query.kind == "wstream":
        return produced(relation_of(query, run))
    internal = is_internal(query.body)
    if query.kind == "dstream":
        return [] if internal else net_increases(body_answers(query.body, run), run, -1)
    if query.restore and (query.kind == "istream" or internal):
        return delayed(query.body, run)
    if query.kind == "istream" and not internal:
        return net_increases(body_answers(query.body, run), run)
    return generated(query.body, run)


def generated(body: Body, run: Run) -> list[Arrival]:
    """The results that a body generates, append-only: of an aggregate whole answers, if it slides.

    THESIS 3.4: "each six-second interval in the inner sub-query is summed up, which produces a
    monotonic output stream because it operates over an internal window"; 3.3.2: "only external
    windowing causes a previously reported aggregate value to be removed ... when a new value is
    computed". Without SLIDE a value that does not change is no new value.
    """
    period = period_of(body)
    if not (isinstance(body, Block) and body.aggregated):
        if period is None:
            return produced(results_of(body, run))
        return refreshed(body, period, run)
    results = results_of(body, run)
    due = set(run.refreshes(period)) if period is not None else updates_by_count(body, run)
    if due is None:
        return produced(results)
    bags = bags_of(results, run)
    return in_order(Arrival(at, row) for at in due for row in bags[at].elements())


def refreshed(body: Body, period: int, run: Run) -> list[Arrival]:
    """New results of each refresh: alive then, and not alive at the one before.

    THESIS 3.3.4: "each re-evaluation appends all the newly generated results to the output stream";
    "If a tuple arrives during the period between two re-evaluations, then any results that it
    generates are not reported until the next re-evaluation". What was there before the first event
    is emitted with it, and is not new at the first refresh [semantics.md 14]: only relations have
    rows then.
    """
    refreshes, before = run.refreshes(period), run.begin - 1
    earlier = run if run.begin in refreshes else replace(run, begin=before)
    if isinstance(body, SetOp) and body.kind == "union" and body.keep_all:
        sides = (body.left, body.right)
        times = (run if reads_stream(side.body) else earlier for side in sides)
        results = [
            r for side, time in zip(sides, times, strict=True) for r in relation_of(side, time)
        ]
    else:
        results = results_of(body, run)
    first = [Arrival(run.begin, r.row) for r in results if before in r.alive]
    later = [
        Arrival(due, r.row)
        for due in refreshes
        for r in results
        if due in r.alive
        and due - period not in r.alive
        and not (due == refreshes.start and before in r.alive)
    ]
    return in_order(first + later)


def delayed(body: Body, run: Run) -> list[Arrival]:
    """ISTREAM with RESTORE: every result of continual evaluation, at the next refresh.

    THESIS 3.3.4: "Restore semantics force the output stream to include all the results that would
    be produced by continual re-evaluation".
    """
    period = period_of(body)
    assert period is not None, "RESTORE needs a SLIDE"
    due = ((-(-at // period) * period, r) for r in results_of(body, run) for at in productions(r))
    return in_order(Arrival(at, r.row) for at, r in due if at <= run.end)


def updates_by_count(block: Block, run: Run) -> set[int] | None:
    """When an aggregate over [ROWS n SLIDE m] windows is computed; None with any other window.

    THESIS 2.1.1: "a count-based window may be updated periodically and a time-based window may be
    updated after some number of new tuples have arrived".
    """
    due: set[int] = set()
    for source in block.sources:
        match source:
            case Table():
                continue
            case Stream(window=w) | Derived(window=w) if w and w.kind == "rows" and w.slide:
                due |= passings(w, tuples_of(source, run), run)
            case _:
                return None
    return due or set()


def relation_of(query: Query, run: Run) -> list[Result]:
    """A query as a relation in FROM: its results, or the window over the stream that it is.

    THESIS 3.3.3: "For a count-based output window of size N, the answer consists of the N most
    recently generated results; for a time-based output window of size T, the answer consists of all
    the results generated in the last T time units."
    """
    if query.kind == "wstream":
        assert query.window is not None
        stream = [] if run.nothing else generated(query.body, run)
        return windowed(stream, query.window, query.columns, run)
    if is_stream(query):
        return windowed(stream_of(query, run), None, query.columns, run)
    return results_of(query.body, run)


# ---------------------------------------------------------------------------- bodies


def results_of(body: Body, run: Run) -> list[Result]:
    """The results of a body, evaluated continually."""
    return set_results(body, run) if isinstance(body, SetOp) else block_results(body, run)


def set_results(body: SetOp, run: Run) -> list[Result]:
    """UNION ALL: the results of both sides; else rows of an answer that is a multi-set.

    THESIS 3.2.2: "a merge-union of two time-based windows" keeps the lifetimes of its inputs.
    """
    left, right = relation_of(body.left, run), relation_of(body.right, run)
    if body.kind == "union" and body.keep_all:
        return left + right
    ours, theirs = bags_of(left, run), bags_of(right, run)
    bags = {
        at: op.combined(body.kind, ours[at], theirs[at], keep_all=body.keep_all)
        for at in run.instants
    }
    return individuals(bags, run, timed=reads_stream(body))


def block_results(block: Block, run: Run) -> list[Result]:
    """SELECT of FROM and WHERE: the results themselves, or rows of an answer."""
    results, columns = from_where(block, run)
    if is_mixed(block):
        results = op.until_external_end(results, run)
    if not shows_rows_of_an_answer(block):
        return [replace(r, row=op.projected(block, r.row, columns)[0]) for r in results]
    bags = {at: Counter(block_rows(block, results, columns, at)) for at in run.instants}
    return individuals(bags, run, timed=reads_stream(block))


def shows_rows_of_an_answer(body: Body) -> bool:
    """Whether rows of a body are told apart by what it shows: no result tuple stands behind them.

    A SELECT from nothing but such rows shows them with its own columns [semantics.md 10].
    """
    match body:
        case SetOp(kind, keep_all):
            return not (kind == "union" and keep_all)
        case Block(sources=(Sub(Query(inner) as query, _),), members=()) if not is_stream(query):
            own = body.aggregated or body.distinct or body.limit is not None
            return own or (query.kind != "wstream" and shows_rows_of_an_answer(inner))
        case Block():
            return body.aggregated or body.distinct or body.limit is not None


def block_rows(block: Block, results: Sequence[Result], columns: Columns, at: int) -> list[Row]:
    """GROUP BY, HAVING, DISTINCT, ORDER BY and LIMIT at one instant."""
    rows = [r.row for r in results if at in r.alive]
    if block.aggregated:
        pairs = op.grouped(block, rows, columns)
    else:
        pairs = [op.projected(block, row, columns) for row in rows]
    if block.distinct:
        pairs = list(dict.fromkeys(pairs))
    found = op.ordered(pairs, block.order)
    if block.limit is None:
        return found
    return found[block.offset : block.offset + block.limit]


def shown(query: Query, run: Run, at: int) -> list[Row]:
    """The answer of an instant in the order that ORDER BY asks for, of a block without SLIDE."""
    assert isinstance(query.body, Block)
    assert period_of(query.body) is None
    results, columns = from_where(query.body, run)
    return block_rows(query.body, results, columns, at)


# ---------------------------------------------------------------------------- FROM and WHERE


def columns_of(source: Source, world: World) -> tuple[str, ...]:
    """The names of a source's columns."""
    if isinstance(source, Stream | Table):
        return world.columns[source.name]
    return source.query.columns


def tuples_of(source: Stream | Derived, run: Run) -> Sequence[Arrival]:
    """The tuples of a stream, or the results of a sub-query as a stream."""
    if run.nothing:
        return []
    if isinstance(source, Derived):
        return stream_of(source.query, run)
    return run.world.streams.get(source.name, ())


def source_results(source: Source, run: Run) -> list[Result]:
    """One item of FROM as results."""
    match source:
        case Stream() | Derived():
            names = columns_of(source, run.world)
            return windowed(tuples_of(source, run), source.window, names, run)
        case Sub(query):
            return relation_of(query, run)
        case Table(name):
            changes = run.world.relations.get(name, ())
            bags = {at: state_of(changes, None if run.nothing else at) for at in run.instants}
            return individuals(bags, run, timed=False)


def from_where(
    block: Block, run: Run, outer: frozenset[str] = frozenset()
) -> tuple[list[Result], Columns]:
    """The join of all sources under all conditions, NRRs last: they are read at a result's ts.

    Terms about sources of the query around it (`outer`) are left to it.
    """
    results, columns = [Result((), None, frozenset(run.instants))], ()
    waiting = [t for t in block.where if not aliases_of(t) & outer]
    bounds = list(pair_bounds(block))
    times = {s.alias: Col(s.alias, "ts") for s in block.sources if isinstance(s, Stream)}
    for source in sorted(block.sources, key=is_nrr):
        if isinstance(source, Table) and not source.retroactive:
            results = op.joined_nrr(results, run.world.relations.get(source.name, ()))
        else:
            results = op.joined(results, source_results(source, run))
        columns += tuple(Col(source.alias, name) for name in columns_of(source, run.world))
        here = {c.alias for c in columns}
        results = op.selected(results, columns, [t for t in waiting if aliases_of(t) <= here])
        waiting = [t for t in waiting if not aliases_of(t) <= here]
        for bound in [b for b in bounds if {b.left, b.right} <= here]:
            results = op.within(results, columns, bound, times)
            bounds.remove(bound)
    assert not [*waiting, *bounds], "all conditions are about sources of the block"
    for member in block.members:
        results = member_results(member, results, columns, run)
    return results, columns


def is_nrr(source: Source) -> bool:
    """Whether a source is a non-retroactive relation."""
    return isinstance(source, Table) and not source.retroactive


def pair_bounds(block: Block) -> list[PairBound]:
    """The bounds of pairs; one without names is for all pairs of streams."""
    streams = [s.alias for s in block.sources if isinstance(s, Stream)]
    found: list[PairBound] = []
    for bound in block.pairs:
        if bound.left:
            found.append(bound)
        else:
            found += [replace(bound, left=a, right=b) for a, b in combinations(streams, 2)]
    return found


def member_results(
    member: Member, results: list[Result], columns: Columns, run: Run
) -> list[Result]:
    """Results restricted by EXISTS, IN, or their negation."""
    inner = member.inner
    if member.value is not None:
        found = block_results(replace(inner, distinct=False), run)
        return op.members(results, columns, found, member.value, negated=member.negated)
    outer = frozenset(c.alias for c in columns) - {s.alias for s in inner.sources}
    terms = [t for t in inner.where if aliases_of(t) & outer]
    if inner.aggregated or inner.limit is not None:
        assert not terms
        found, inner_columns = block_results(inner, run), tuple(Col("", c) for c in inner.columns)
    else:
        found, inner_columns = from_where(inner, run, outer)
    return op.restricted(results, columns, found, inner_columns, terms, negated=member.negated)


def aliases_of(term: Compare | Expr | int) -> frozenset[str]:
    """The sources that a term is about."""
    match term:
        case Compare(left, _, right):
            return aliases_of(left) | aliases_of(right)  # type: ignore[arg-type]
        case Col(alias):
            return frozenset({alias})
        case Plus(col) | Times(col):
            return frozenset({col.alias})
        case _:
            return frozenset()
