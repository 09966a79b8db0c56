"""Judges a case: the engine against the papers' oracle, and the DuckDB oracle against both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from tests.generate.papers import calls_failing
from tests.generate.papers_queries import NRR
from tests.papers.drive import Drive, Glance, RefusedError, Seen, declarations
from tests.papers.script import Case, Report
from tests.papers.simulate import Standing
from tests.reference import histories
from tests.reference.oracle import Oracle
from tests.reference.papers.description import (
    Block,
    Body,
    Derived,
    Query,
    Stream,
    Sub,
    is_stream,
    period_of,
    sources_of,
)
from tests.reference.papers.evaluate import Output, evaluate, shown
from tests.reference.papers.rendering import to_sql
from tests.reference.papers.results import Bags
from tests.reference.papers.values import Row
from tests.reference.papers.worlds import Run
from windrow.core.time import BEGINNING
from windrow.plan.nodes import Query as BoundQuery
from windrow.plan.session import Session

ENGINE, DUCKDB = "engine", "duckdb"


@dataclass(frozen=True, slots=True)
class Difference:
    """Who differs from the papers, in which query, where, and what each says."""

    who: str
    query: int
    where: str
    papers: object
    other: object

    def __str__(self) -> str:
        lines = [f"{self.who} differs in query {self.query}: {self.where}"]
        lines += [f"    papers: {_shown(self.papers)}", f"    {self.who}: {_shown(self.other)}"]
        return "\n".join(lines)


@dataclass(slots=True)
class Verdict:
    """What came of a case: differences, or the reason for which a query was refused."""

    differences: list[Difference] = field(default_factory=list)
    refused: str | None = None


LAG = 3
"""Instants by which streams of results, one in the other, come later: each waits for an instant to
be over, and a query that is dropped is not drained."""


def sources_of_streams(query: Query) -> bool:
    """Whether a query reads a stream, so that its clock is that of the streams."""
    return any(isinstance(source, Stream) for source in sources_of(query.body))


def judge(case: Case, *, duckdb: bool = True) -> Verdict:
    """Run a case and compare all that it gives."""
    verdict, drive = Verdict(), Drive(case)
    try:
        drive.run()
    except RefusedError as refused:
        return Verdict(refused=str(refused))
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        verdict.differences.append(Difference(ENGINE, 0, "raised", "no error", text))
        return verdict
    finally:
        drive.db.close()
    for number, seen in drive.seen.items():
        if calls_failing(case.queries[number]):
            continue
        standing = drive.simulation.standing[number]
        verdict.differences += compare(case, number, seen, standing)
        if duckdb and not any(d.query == number for d in verdict.differences if d.who == DUCKDB):
            verdict.differences += compare_duckdb(case, number, standing)
    return verdict


def bound(query: Query, *, keyed: bool) -> BoundQuery:
    """The engine's plan of a query, for the DuckDB oracle."""
    return _session(keyed=keyed).bind_text(to_sql(query), "q")


@cache
def _session(*, keyed: bool) -> Session:
    session = Session()
    session.execute(declarations(keyed=keyed))
    return session


# ---------------------------------------------------------------------------- the engine


def compare(case: Case, number: int, seen: Seen, standing: Standing) -> list[Difference]:
    """Compare the changelog at every instant, the answers at looks, and the reports."""
    query = case.queries[number]
    found: list[Difference] = []
    for glance in seen.looks:
        found += compare_look(number, query, glance, standing)
    if seen.ends is None:
        return found
    begin = standing.begin()
    output = evaluate(query, standing.world(), seen.ends, begin)
    if output is None or begin is None or (standing.relations_only and standing.untimed):
        return found + compare_total(number, query, seen, standing)
    first = comparable_from(query, standing, begin)
    last = seen.ends - 1 - LAG if seen.dropped else seen.ends
    got = emitted(seen, output) if output.stream else added_up(seen, output)
    for at in range(first, last + 1):
        if not same(got[at], output.bags[at]):
            word = "emitted at" if output.stream else "answer at"
            found.append(Difference(ENGINE, number, f"{word} {at}", output.bags[at], got[at]))
            break
    early = [c for c in seen.changes if c[0] < begin]
    if early and standing.since is None:
        found.append(Difference(ENGINE, number, "changes before the first event", [], early))
    if seen.final is not None and not same(Counter(seen.final), output.bags[seen.ends]):
        where = f"answer() at {seen.ends}"
        found.append(Difference(ENGINE, number, where, output.bags[seen.ends], Counter(seen.final)))
    elif seen.final is not None:
        run = Run(standing.world(), begin, seen.ends)
        found += compare_order(number, query, run, seen.final)
    return found + compare_reports(case, number, seen, output, first)


def comparable_from(query: Query, standing: Standing, begin: int) -> int:
    """The first instant at which the answer of a query that came later is beyond doubt.

    With SLIDE that is the first refresh: before it the answer is that of no update.
    """
    period = period_of(query.body)
    if standing.since is None or period is None:
        return begin
    return -(-begin // period) * period + (1 if is_stream(query) else 0)


def compare_look(number: int, query: Query, glance: Glance, standing: Standing) -> list[Difference]:
    """Compare the answer at a look with the papers', and with the sum of the changes."""
    got = Counter(glance.rows)
    if not same(got, glance.total):
        where = f"answer() at {glance.clock} is not the sum of changes()"
        return [Difference(ENGINE, number, where, glance.total, got)]
    if glance.begin is None or glance.clock is None or glance.clock < glance.begin:
        return []
    if waits(query) or glance.clock < comparable_from(query, standing, glance.begin):
        return []
    output = evaluate(query, glance.world, glance.clock, glance.begin)
    assert output is not None
    want = output.bags[glance.clock]
    if not same(got, want):
        return [Difference(ENGINE, number, f"answer() at {glance.clock}", want, got)]
    return compare_order(number, query, Run(glance.world, glance.begin, glance.clock), glance.rows)


def waits(query: Query) -> bool:
    """Whether results show only once their instant is over: those of a stream of results do."""
    inner = (s.query for s in sources_of(query.body) if isinstance(s, Sub | Derived))
    return (
        query.kind == "wstream"
        or any(is_stream(q) or q.kind == "wstream" for q in inner)
        or any(isinstance(s, Derived) for s in sources_of(query.body))
        or mixes(query.body)
    )


def mixes(body: Body) -> bool:
    """Whether internal windows stand anywhere in a body."""
    return any(
        isinstance(s, Stream | Derived) and s.window is not None and s.window.internal
        for s in sources_of(body)
    )


def compare_order(number: int, query: Query, run: Run, rows: list[Row]) -> list[Difference]:
    """Compare the order in which the answer at a run's end is shown, where ORDER BY says it."""
    body = query.body
    if not isinstance(body, Block) or not body.order or period_of(body) is not None:
        return []
    if query.kind not in ("view", "rstream"):
        return []
    want = shown(query, run, run.end)
    keys = [[plain(row) for row in some] for some in (want, rows)]
    if body.limit is None:  # ties are in any order
        places = [[i.expr for i in body.items].index(o.expr) for o in body.order]
        keys = [[tuple(row[p] for p in places) for row in some] for some in keys]
    if keys[0] == keys[1]:
        return []
    return [Difference(ENGINE, number, f"order of answer() at {run.end}", want, rows)]


def compare_total(number: int, query: Query, seen: Seen, standing: Standing) -> list[Difference]:
    """Compare the sum of the changes, where their times are not certain: without an event, or
    of relations alone that have changed without a time. Their answer is what they hold.
    """
    total: Counter[Row] = Counter()
    for _, sign, row in seen.changes:
        total[row] += sign
    if is_stream(query) or seen.final is None:
        return []
    if not same(total, Counter(seen.final)):
        where = "answer() without an event is not the sum of changes()"
        return [Difference(ENGINE, number, where, total, Counter(seen.final))]
    if not standing.relations_only or period_of(query.body) is not None:
        return []
    if waits(query) or NRR in standing.reads:
        return []  # since when a row without a time has been there is not certain
    if not total and not any(map(standing.relations.get, standing.reads)):
        return []  # it has not begun: nothing has ever been in its relations
    assert seen.ends is not None
    output = evaluate(query, standing.world(), seen.ends, begin=standing.begin() or seen.ends)
    assert output is not None
    want = output.bags[seen.ends]
    if same(total, want):
        return []
    return [Difference(ENGINE, number, "answer over relations", want, total)]


def compare_reports(
    case: Case, number: int, seen: Seen, output: Output, first: int
) -> list[Difference]:
    """Compare each report with the answer of its instant; none may be missing."""
    if seen.dropped or not sources_of_streams(case.queries[number]):
        return []  # reports that are due come with the next call; relations run on timestamps
    for report in (a for a in case.script if isinstance(a, Report) and a.query == number):
        due = range(-(-first // report.every) * report.every, output.end, report.every)
        for at in due:
            if at not in seen.reports or not same(seen.reports[at], output.bags[at]):
                got = seen.reports.get(at, "none")
                return [Difference(ENGINE, number, f"report of {at}", output.bags[at], got)]
    return []


def emitted(seen: Seen, output: Output) -> Bags:
    """What a stream has emitted at each instant; a retraction counts as -1."""
    bags: Bags = {at: Counter() for at in range(output.begin, output.end + 1)}
    for ts, sign, row in seen.changes:
        if ts in bags:
            bags[ts][row] += sign
    return bags


def added_up(seen: Seen, output: Output) -> Bags:
    """What the changelog adds up to at each instant."""
    bags: Bags = {}
    bag: Counter[Row] = Counter()
    waiting = sorted(seen.changes, key=lambda c: c[0])
    for at in range(output.begin, output.end + 1):
        while waiting and waiting[0][0] <= at:
            _, sign, row = waiting.pop(0)
            bag[row] += sign
        bags[at] = Counter(bag)
    return bags


# ---------------------------------------------------------------------------- the DuckDB oracle


def compare_duckdb(case: Case, number: int, standing: Standing) -> list[Difference]:
    """Compare the DuckDB oracle with the papers' at every instant."""
    query, until = case.queries[number], case.until
    output = evaluate(query, standing.world(), until)
    if output is None or standing.relations_only:
        return []
    first = comparable_from(query, standing, output.begin)
    oracle = Oracle(bound(query, keyed=case.keyed), duckdb_world(standing), until=until)
    if output.stream:
        got: Bags = {at: Counter() for at in range(output.begin, until + 1)}
        for ts, sign, row in oracle.changes():
            if ts in got:
                got[ts][row] += sign
    else:
        got = oracle.answers(range(output.begin, until + 1))
    for at in range(first, until + 1):
        if not same(got[at], output.bags[at]):
            word = "emitted at" if output.stream else "answer at"
            return [Difference(DUCKDB, number, f"{word} {at}", output.bags[at], got[at])]
    return []


def duckdb_world(standing: Standing) -> histories.World:
    """What a query has seen, as the DuckDB oracle reads it."""
    return histories.World(
        {
            name: histories.StreamHistory([(t.ts, *t.row) for t in standing.streams.get(name, ())])
            for name in ("a", "b", "c")
        },
        {
            name: histories.RelationHistory(
                [
                    (BEGINNING if c.ts is None else c.ts, c.sign, c.row)
                    for c in standing.relations.get(name, ())
                ]
            )
            for name in ("r", "n")
        },
    )


# ---------------------------------------------------------------------------- bags


def same(one: Mapping[Row, int], other: Mapping[Row, int]) -> bool:
    """Whether two bags hold the same rows; numbers may differ by a rounding."""
    return _counted(one) == _counted(other)


def _counted(bag: Mapping[Row, int]) -> dict[Row, int]:
    counted: Counter[Row] = Counter()
    for row, n in bag.items():
        counted[plain(row)] += n
    return {row: n for row, n in counted.items() if n}


def plain(row: Row) -> Row:
    """A row without rounding errors."""
    return tuple(round(v, 9) if isinstance(v, float) else v for v in row)


def _shown(value: object) -> object:
    return {row: n for row, n in value.items() if n} if isinstance(value, Counter) else value
