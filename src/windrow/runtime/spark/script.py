"""The text of all statements of a database: declarations, settings and queries, in order."""

from __future__ import annotations

from dataclasses import dataclass, field

from windrow.language.printing import name_sql, print_statement
from windrow.language.statements import (
    CreateQuery,
    CreateRelation,
    CreateStream,
    Drop,
    SetOption,
    Statement,
)


@dataclass(slots=True)
class Script:
    """Statements that still count, by what they make; a program is written from them."""

    lines: dict[tuple[str, str], str] = field(default_factory=dict)

    def note(self, statement: Statement) -> None:
        """Keep a statement that the session has accepted."""
        match statement:
            case CreateStream(name=name) | CreateRelation(name=name):
                self.lines.setdefault(("input", name.lower()), print_statement(statement))
            case CreateQuery(name=name):
                if statement.or_replace:
                    self.lines.pop(("query", name.lower()), None)
                self.lines.setdefault(("query", name.lower()), print_statement(statement))
            case SetOption(name=name):
                self.lines["set", f"{len(self.lines)} {name}"] = print_statement(statement)
            case Drop(kind=kind, name=name):
                self.lines.pop(("query" if kind == "QUERY" else "input", name.lower()), None)

    def add_query(self, name: str, text: str) -> None:
        """Keep a query that was given by itself."""
        self.lines["query", name.lower()] = f"CREATE QUERY {name_sql(name)} AS {text}"

    def text(self, queries: tuple[str, ...]) -> str:
        """Return the script of some queries."""
        wanted = {("query", name.lower()) for name in queries}
        kept = [t for key, t in self.lines.items() if key[0] != "query" or key in wanted]
        return "".join(f"{line};\n" for line in kept)
