"""Every query that the papers print binds, and the update pattern of its answer is the rules'.

`EXPECTED` has only queries whose pattern follows from a sentence of THESIS or of
`docs/explanation/semantics.md`, which is named beside it; the others are only bound.
"""

from __future__ import annotations

import pytest
from tests.paper_queries import PAPER_QUERIES, PaperQuery

from windrow.plan.nodes import Query
from windrow.plan.patterns import PatternKind, pattern_of
from windrow.plan.session import Session

AGGREGATE = (PatternKind.STR, "THESIS 3.2.2: aggregation is strict")
NEGATION = (PatternKind.STR, "THESIS 3.2.2, 3.6: negation is strict")
COUNT_WINDOW = (PatternKind.STR, "THESIS 3.5.1, rule 4: count windows are strict")
JOIN = (PatternKind.WK, "THESIS 3.3.1: a join of time windows is weak")
DISTINCT = (PatternKind.WK, "THESIS 3.5.1, rule 3: duplicate elimination is weak")
PAIRS = (PatternKind.MON, "semantics.md 9: results of streams without windows never expire")

EXPECTED: dict[str, tuple[PatternKind, str]] = {
    "THESIS 1.1 Q2": AGGREGATE,
    "THESIS 1.2 Q3": AGGREGATE,
    "THESIS 2.1.3": JOIN,
    "THESIS 3.4 Wstream": COUNT_WINDOW,
    "THESIS 3.4 nested": AGGREGATE,
    "THESIS 3.4 nested with Wstream": AGGREGATE,
    "THESIS 3.5.1": NEGATION,
    "THESIS 3.6 Query 1": JOIN,
    "THESIS 3.6 Query 1, telnet": JOIN,
    "THESIS 3.6 Query 2": DISTINCT,
    "THESIS 3.6 Query 2, pairs": DISTINCT,
    "THESIS 3.6 Query 3": NEGATION,
    "THESIS 3.6 Query 4": NEGATION,
    "THESIS 8.1 Q1": AGGREGATE,
    "AGGJOIN Example 1": AGGREGATE,
    "AGGJOIN Example 2": AGGREGATE,
    "NEG Figure 2": AGGREGATE,
    "WJOIN Form 1": PAIRS,
    "WJOIN Form 2": PAIRS,
    "WJOIN Form 3": PAIRS,
}


def bind(query: PaperQuery) -> Query:
    session = Session()
    session.execute(query.ddl)
    [result] = session.execute(query.bound_text)
    assert isinstance(result, Query)
    return result


@pytest.mark.parametrize("query", PAPER_QUERIES, ids=lambda q: q.id)
def test_every_query_of_the_papers_binds(query: PaperQuery) -> None:
    bind(query)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_pattern_of_the_answer_follows_from_the_rules(name: str) -> None:
    [query] = [q for q in PAPER_QUERIES if q.id == name]
    kind, reason = EXPECTED[name]
    assert pattern_of(bind(query).root).kind is kind, reason
