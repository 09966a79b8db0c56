"""Every generated query prints, parses back, binds and explains, the same each time."""

import json

import pytest
from hypothesis import given
from tests.generate.catalog import bind, session
from tests.generate.effort import examples
from tests.generate.queries import queries

from windrow.language.parse import parse_query
from windrow.language.printing import to_sql
from windrow.plan.explain import explain_dot, explain_json, explain_mermaid, explain_text

pytestmark = pytest.mark.long


@examples(120)
@given(queries(depth=2))
def test_a_query_is_its_printed_text(text):
    tree = parse_query(text)
    printed = to_sql(tree)
    laid_out = to_sql(tree, pretty=True)

    assert parse_query(printed) == tree
    assert parse_query(laid_out) == tree
    assert to_sql(parse_query(printed)) == printed

    query = bind(text)
    for other in (bind(printed), bind(laid_out), session().bind(tree)):
        assert (other.root, other.order) == (query.root, query.order)


@examples(60)
@given(queries(depth=2))
def test_a_query_explains_itself_in_every_format(text):
    query = bind(text)
    explained = explain_text(query)
    assert explained == explain_text(bind(text))
    assert json.loads(json.dumps(explain_json(query))) == explain_json(query)
    assert explain_dot(query).startswith("digraph")
    assert "flowchart" in explain_mermaid(query)
