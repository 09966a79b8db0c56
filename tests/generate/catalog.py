"""The streams and relations that every generated query and history is about."""

from __future__ import annotations

from functools import cache

from windrow.plan.nodes import Query
from windrow.plan.session import Session
from windrow.plan.settings import check_setting

STREAMS = ("a", "b", "c")
RELATION = "r"
NRR = "n"

STREAM_COLUMNS = {"k": "int", "v": "int", "s": "text", "x": "real", "id": "int", "ts": "int"}
"""Columns of each stream by name, with the sort of expression that they are."""

RELATION_COLUMNS = {"k": "int", "w": "int", "s": "text"}

DECLARATIONS = "".join(
    f"CREATE STREAM {name} (ts BIGINT, k BIGINT, v BIGINT, s STRING, x DOUBLE, id BIGINT NOT NULL)"
    " TIMESTAMP BY ts;\n"
    for name in STREAMS
) + (
    f"CREATE RELATION {RELATION} (k BIGINT, w BIGINT, s STRING);\n"
    f"CREATE NON RETROACTIVE RELATION {NRR} (k BIGINT, w BIGINT, s STRING);\n"
)


@cache
def session() -> Session:
    """Return the session in which the names are declared."""
    made = Session()
    made.execute(DECLARATIONS)
    return made


def bind(text: str, hold: int = 0) -> Query:
    """Return the bound query of a text, results of its negations held for so long."""
    made = session()
    made.settings["hold"] = check_setting("hold", hold)
    (query,) = made.execute(text)
    assert isinstance(query, Query)
    return query
