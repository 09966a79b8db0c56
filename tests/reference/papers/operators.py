"""Relational operators over results with lifetimes, and over answers as multi-sets."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from tests.reference.papers.description import Agg, Block, Col, Compare, Expr, Order, PairBound
from tests.reference.papers.results import Bags, Result, productions
from tests.reference.papers.values import (
    Env,
    Row,
    Value,
    compares,
    descending_key,
    holds,
    sort_key,
    value_of,
)
from tests.reference.papers.worlds import Change, Run, state_of

Columns = tuple[Col, ...]


def selected(results: Iterable[Result], columns: Columns, terms: Sequence[Compare]) -> list[Result]:
    """σ. THESIS 3.2.2: "selection ... drops tuples that do not satisfy the predicate, but does not
    alter the lifetimes of surviving tuples"."""
    if not terms:
        return list(results)
    return [r for r in results if holds(terms, dict(zip(columns, r.row, strict=True)))]


def joined(left: Iterable[Result], right: Sequence[Result]) -> list[Result]:
    """⋈ without a condition: pairs, alive while both parts are.

    NEG 3: "the output tuple expires whenever any of its composing tuples expires". THESIS 3.2.1:
    "if a tuple is generated at time ts, it is assumed that all results that it produces, possibly
    by joining with other tuples which have arrived previously and have not yet expired from their
    windows, are also generated at time ts".
    """
    pairs = ((one, other, one.alive & other.alive) for one in left for other in right)
    return [
        Result(one.row + other.row, later(one.ts, other.ts), alive, sooner(one.end, other.end))
        for one, other, alive in pairs
        if alive
    ]


def later(one: int | None, other: int | None) -> int | None:
    """The largest timestamp of stream tuples; rows of relations have none."""
    return max((t for t in (one, other) if t is not None), default=None)


def sooner(one: int | None, other: int | None) -> int | None:
    """The first expiry."""
    return min((t for t in (one, other) if t is not None), default=None)


def joined_nrr(left: Iterable[Result], changes: tuple[Change, ...]) -> list[Result]:
    """⋈NRR: each result meets the version of the relation at its own timestamp.

    THESIS Def. 3.1: "each result tuple t in Q(τ) must reflect the following state of the NRRs
    referenced in Q: {NRR1(t.ts), NRR2(t.ts), ..., NRRk(t.ts)}"; "updates of NRRs do not affect
    previously arrived stream tuples". A result of relations alone has as its timestamp the instant
    at which it is produced.
    """
    return [
        Result(r.row + row, r.ts, alive, r.end)
        for r in left
        for ts, alive in timestamps(r)
        for row in state_of(changes, ts).elements()
    ]


def timestamps(result: Result) -> list[tuple[int, frozenset[int]]]:
    """t.ts of Definition 3.1, and the instants at which the result has it.

    Without a tuple of a stream it is produced anew each time that it returns.
    """
    if result.ts is not None:
        return [(result.ts, result.alive)]
    starts = productions(result)
    ends = [*starts[1:], max(result.alive) + 1] if starts else []
    return [
        (start, frozenset(at for at in result.alive if start <= at < end))
        for start, end in zip(starts, ends, strict=True)
    ]


def within(
    results: Iterable[Result], columns: Columns, bound: PairBound, times: Mapping[str, Col]
) -> list[Result]:
    """WINDOW(A, B) = w: |A.ts - B.ts| < w; DWINDOW(A, B) = w: 0 <= B.ts - A.ts < w.

    WJOIN 1: "WINDOW(A,B) defines the time window between tuples in A, B": it says who meets, not
    how long a result lives.
    """
    left, right = columns.index(times[bound.left]), columns.index(times[bound.right])
    least = 0 if bound.directed else 1 - bound.width
    return [r for r in results if least <= r.row[right] - r.row[left] < bound.width]  # type: ignore[operator]


def until_external_end(results: Iterable[Result], run: Run) -> list[Result]:
    """Internal windows beside external ones: a result lives until its first external tuple expires.

    THESIS 3.3.2: "an operator over internal windows produces the same results in the same order as
    in the case of external windows"; "a join of n time-based windows is weakest non-monotonic if
    at most one of them is external": the external tuple alone says when a result expires.
    """
    return [
        Result(r.row, r.ts, frozenset(at for at in run.instants if at >= since and at < r.end))
        for r in results
        for since in productions(r)
        if r.end is not None
    ]


def restricted(
    left: Iterable[Result],
    columns: Columns,
    inner: Sequence[Result],
    inner_columns: Columns,
    terms: Sequence[Compare],
    *,
    negated: bool,
) -> list[Result]:
    """[NOT] EXISTS: the left result, alive at the instants at which the condition holds.

    THESIS 2.1.2: Q(τ) is "equal to the output of a corresponding one-time relational query"; 3.2.2:
    negation signals results that "no longer satisfy the query".
    """
    kept: list[Result] = []
    for result in left:
        env = dict(zip(columns, result.row, strict=True))
        matched: set[int] = set()
        for other in inner:
            if not terms or holds(terms, env | dict(zip(inner_columns, other.row, strict=True))):
                matched |= other.alive
        alive = result.alive - matched if negated else result.alive & matched
        kept.append(Result(result.row, result.ts, frozenset(alive), result.end))
    return [r for r in kept if r.alive]


def members(
    left: Iterable[Result],
    columns: Columns,
    inner: Sequence[Result],
    value: Expr,
    *,
    negated: bool,
) -> list[Result]:
    """``value [NOT] IN (...)`` at each instant, by SQL's three values.

    x NOT IN S is true if S is empty, or if neither x nor any member is NULL and none equals x.
    """
    kept: list[Result] = []
    for result in left:
        x = value_of(value, dict(zip(columns, result.row, strict=True)))
        equal = {at for r in inner if compares(x, "=", r.row[0]) for at in r.alive}
        unknown = {at for r in inner if x is None or r.row[0] is None for at in r.alive}
        alive = result.alive - equal - unknown if negated else result.alive & equal
        kept.append(Result(result.row, result.ts, frozenset(alive), result.end))
    return [r for r in kept if r.alive]


def aggregate(agg: Agg, envs: Sequence[Env]) -> Value:
    """One aggregate over the rows of a group; NULLs are passed over."""
    if agg.arg is None:
        return len(envs)
    values = [v for v in (value_of(agg.arg, env) for env in envs) if v is not None]
    match agg.function:
        case "count":
            return len(values)
        case "count distinct":
            return len(set(values))
        case "sum":
            return sum(values) if values else None
        case "min":
            return min(values, default=None)
        case "max":
            return max(values, default=None)
        case _:
            assert agg.function == "avg"
            return sum(values) / len(values) if values else None


def group_value(expr: Expr | Agg | int, key: Env, envs: Sequence[Env]) -> Value:
    """An expression of SELECT, HAVING or ORDER BY over a group."""
    return aggregate(expr, envs) if isinstance(expr, Agg) else value_of(expr, key)


def grouped(block: Block, rows: Iterable[Row], columns: Columns) -> list[tuple[Row, Row]]:
    """γ at one instant: a row, with its ORDER BY keys, for each group that HAVING lets through.

    THESIS 3.2.2: "group-by with aggregation ... produces updated aggregate values as new tuples
    arrive and old tuples expire". Without GROUP BY there is one group, of no rows too.
    """
    groups: dict[Row, list[Env]] = defaultdict(list)
    for row in rows:
        env = dict(zip(columns, row, strict=True))
        groups[tuple(env[col] for col in block.group)].append(env)
    if not block.group and not groups:
        groups[()] = []
    made: list[tuple[Row, Row]] = []
    for values, envs in groups.items():
        key = dict(zip(block.group, values, strict=True))
        if all(
            compares(group_value(t.left, key, envs), t.op, group_value(t.right, key, envs))
            for t in block.having
        ):
            made.append(
                (
                    tuple(group_value(item.expr, key, envs) for item in block.items),
                    tuple(group_value(o.expr, key, envs) for o in block.order),
                )
            )
    return made


def projected(block: Block, row: Row, columns: Columns) -> tuple[Row, Row]:
    """π of a row, with its ORDER BY keys."""
    env = dict(zip(columns, row, strict=True))
    return (
        tuple(value_of(item.expr, env) for item in block.items),  # type: ignore[arg-type]
        tuple(value_of(o.expr, env) for o in block.order),  # type: ignore[arg-type]
    )


def ordered(rows: Iterable[tuple[Row, Row]], order: Sequence[Order]) -> list[Row]:
    """Rows by their ORDER BY keys, ties by all columns, ascending."""

    def key(pair: tuple[Row, Row]) -> tuple[object, ...]:
        row, keys = pair
        by = (
            (descending_key if o.descending else sort_key)((k,))
            for o, k in zip(order, keys, strict=True)
        )
        return (*by, sort_key(row))

    return [row for row, _ in sorted(rows, key=key)]


def combined(kind: str, left: Counter[Row], right: Counter[Row], *, keep_all: bool) -> Counter[Row]:
    """EXCEPT and INTERSECT at one instant, of bags or of sets; UNION is of sets.

    NEG 5.3: minus and intersection over the windows' contents at the instant.
    """
    if not keep_all:
        left, right = Counter(set(left)), Counter(set(right))
    match kind:
        case "union":
            assert not keep_all, "UNION ALL keeps its inputs' results"
            return left | right
        case "except":
            return left - right
        case _:
            return left & right


def held(bags: Bags, before: Counter[Row], period: int, run: Run) -> Bags:
    """SLIDE: the answer of the last multiple of the period; `before` the first, as over nothing.

    THESIS Def. 2.1: "If results are updated periodically, then Q(τ) must reflect the state of the
    inputs as of the most recent update."
    """
    return {
        at: bags[at // period * period] if at // period * period >= run.begin else before
        for at in run.instants
    }


def restored(results: Sequence[Result], before: Counter[Row], period: int, run: Run) -> Bags:
    """RESTORE: each refresh also has the results that were produced and expired since the last.

    THESIS 3.3.4: "in addition to appending new results to the output stream upon re-evaluation, all
    the short-lived results that were generated since the last re-evaluation (and have already
    expired) are reported during the subsequent re-evaluation".
    """
    at_refresh: Bags = {}
    for due in run.refreshes(period):
        bag: Counter[Row] = Counter()
        for result in results:
            last = [at for at in productions(result) if at <= due]
            new = [at for at in last if at > due - period]
            bag[result.row] += max(len(new), due in result.alive)
        at_refresh[due] = +bag
    return {
        at: at_refresh[at // period * period] if at // period * period >= run.begin else before
        for at in run.instants
    }
