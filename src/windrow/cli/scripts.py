"""Scripts of CQL as commands need them: every query with a name."""

from __future__ import annotations

from windrow.language.parse import parse_script
from windrow.language.printing import print_statement, to_sql
from windrow.language.statements import CreateQuery, Select


def named_queries(text: str) -> tuple[str, list[str]]:
    """Return the script with a name for every query, and the names.

    >>> named_queries("CREATE STREAM s (ts BIGINT); SELECT * FROM s [NOW]")[1]
    ['query_1']
    """
    lines: list[str] = []
    names: list[str] = []
    for statement in parse_script(text):
        match statement:
            case Select(query=tree):
                names.append(f"query_{len(names) + 1}")
                lines.append(f"CREATE QUERY {names[-1]} AS {to_sql(tree)}")
                continue
            case CreateQuery(name=name):
                names.append(name)
        lines.append(print_statement(statement))
    return "".join(f"{line};\n" for line in lines), names
