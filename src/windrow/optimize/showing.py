"""Plans before and after rules, as text: for doctests and golden files."""

from __future__ import annotations

from dataclasses import replace

from windrow.optimize.rewriting import Rule
from windrow.optimize.rules import apply_rules
from windrow.plan.explain import explain_text
from windrow.plan.nodes import Query
from windrow.plan.session import Session

DECLARATIONS = """
CREATE STREAM bids (ts TIMESTAMP, sku STRING, price BIGINT) TIMESTAMP BY ts;
CREATE STREAM asks (ts TIMESTAMP, sku STRING, price BIGINT) TIMESTAMP BY ts;
CREATE STREAM bans (ts TIMESTAMP, sku STRING) TIMESTAMP BY ts;
CREATE RELATION items (sku STRING, owner STRING);
CREATE NON RETROACTIVE RELATION taxes (sku STRING, rate BIGINT);
"""


def rewritten(text: str, *rules: Rule, patterns: bool = False) -> str:
    """Return the plan of a query over bids, asks, bans, items and taxes after the rules."""
    query = bound(text)
    return explain_text(replace(query, root=apply_rules(query.root, rules)), patterns=patterns)


def bound(text: str) -> Query:
    """Return a query over them, as the binder makes it."""
    session = Session()
    session.execute(DECLARATIONS)
    [query] = session.execute(text)
    assert isinstance(query, Query), "the text is one query"
    return query
