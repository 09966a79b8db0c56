"""Everything that a paper prints as a query parses."""

import pytest
from tests.paper_queries import PAPER_QUERIES, PaperQuery

from windrow.language import parse_query, parse_script, to_sql
from windrow.language.statements import CreateRelation, CreateStream, SetOption

each = pytest.mark.parametrize("query", PAPER_QUERIES, ids=lambda query: query.id)


@each
def test_it_parses_prints_and_parses_to_the_same_tree(query: PaperQuery) -> None:
    for text in (query.text, query.bound_text):
        tree = parse_query(text)
        assert parse_query(to_sql(tree)) == tree
        assert parse_query(to_sql(tree, pretty=True)) == tree


@each
def test_its_declarations_parse(query: PaperQuery) -> None:
    for statement in parse_script(query.ddl):
        assert isinstance(statement, CreateStream | CreateRelation | SetOption)


@each
def test_a_changed_query_says_why(query: PaperQuery) -> None:
    assert query.note or query.text == query.bound_text


def test_each_has_its_own_name() -> None:
    assert len({query.id for query in PAPER_QUERIES}) == len(PAPER_QUERIES)
