"""What EXPLAIN tells of joins of many inputs, in tests/golden/joins.plan, and in other formats."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from tests.golden import FOLDER, check_golden

from windrow.cli.explain import as_text
from windrow.cli.main import windrow
from windrow.cli.terminal import join_notes
from windrow.core.errors import WindrowError
from windrow.optimize.showing import DECLARATIONS
from windrow.plan.explain import explain_dot, explain_json, explain_mermaid
from windrow.plan.nodes import Query
from windrow.plan.session import Session

THREE = (
    "SET join_algorithm = 'hash'; "
    "SELECT a.sku FROM bids AS a [RANGE 1 MINUTE], asks AS b [RANGE 10 MINUTES], "
    "bans AS c [RANGE 1 MINUTE] WHERE a.sku = b.sku AND b.sku = c.sku"
)


def bound(text: str) -> Query:
    [query] = [q for q in Session().execute(DECLARATIONS + text) if isinstance(q, Query)]
    return query


def explained(text: str) -> str:
    try:
        notes = join_notes(bound(text))
    except WindrowError as error:
        return error.render()
    return "\n".join(line for note in notes for line in note.lines) or "nothing is chosen"


def test_joins_are_explained_as_written_down() -> None:
    check_golden(FOLDER / "joins.plan", explained)


def test_all_formats_tell_the_orders() -> None:
    query = bound(THREE)
    notes = join_notes(query)
    (told,) = explain_json(query, joins=notes)["joins"]  # type: ignore[misc]
    assert told["algorithm"] == "hash"
    assert told["inputs"] == ["a", "b", "c"]
    (first, *_) = told["orders"]
    assert first["new"] == first["order"][0] == "a"
    assert first["looks"] <= min(lost["looks"] for lost in first["lost"])
    json.dumps(told)
    assert "j1 [label=" in explain_dot(query, joins=notes)
    assert "new a: a ►" in explain_mermaid(query, joins=notes)
    assert "new a: a ►" in as_text(query, patterns=True)


@pytest.mark.parametrize("style", ["tree", "text", "json", "dot", "mermaid"])
def test_the_command_tells_them_as_well(style: str) -> None:
    script = DECLARATIONS + THREE.replace("SELECT", "CREATE QUERY q AS SELECT")
    made = CliRunner().invoke(windrow, ["explain", "-", "--format", style], input=script)
    assert made.exit_code == 0, made.output
    assert "join_algorithm is hash" in made.output


def test_plans_without_such_joins_have_no_such_key() -> None:
    query = bound("SELECT a.sku FROM bids AS a [NOW], asks AS b [NOW] WHERE a.sku = b.sku")
    assert join_notes(query) == []
    assert "joins" not in explain_json(query)
