"""The plans of real queries, as `windrow explain` writes them, in tests/golden/explain.plan."""

from tests.golden import FOLDER, check_golden

from windrow.plan.explain import explain_text
from windrow.plan.nodes import Query
from windrow.plan.session import Session

DECLARATIONS = """
CREATE STREAM link1 (ts TIMESTAMP, src STRING, proto STRING, bytes BIGINT) TIMESTAMP BY ts;
CREATE STREAM link2 (ts TIMESTAMP, src STRING, proto STRING, bytes BIGINT) TIMESTAMP BY ts;
CREATE RELATION hosts (src STRING, owner STRING);
CREATE NON RETROACTIVE RELATION prices (proto STRING, cents DOUBLE);
"""


def explained(text: str) -> str:
    [query] = [q for q in Session().execute(DECLARATIONS + text) if isinstance(q, Query)]
    return explain_text(query)


def test_plans_are_explained_as_written_down() -> None:
    check_golden(FOLDER / "explain.plan", explained)
