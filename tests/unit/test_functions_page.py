"""docs/reference/functions.md is the catalogue: `REWRITE=1` writes it anew."""

import os
from pathlib import Path

from tests.properties.function_cases import CASES, argument

from windrow.optimize.catalyst import translatable
from windrow.plan.functions import (
    aggregates,
    arithmetic,
    comparison,
    datetime,
    derived,
    logic,
    resolve_call,
    text,
)

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "functions.md"

FAMILIES = {
    "Numbers": arithmetic,
    "Comparisons": comparison,
    "Texts": text,
    "Times": datetime,
    "Choices": logic,
}

HEAD = (
    "# Functions\n\n"
    "Every function and aggregate of the language, as the catalogue in the code has them.\n"
    "Functions are computed in process and on Spark alike.\n"
    "`Catalyst` says which of them Spark itself can compute, before rows reach a shard, at least "
    "for some types of arguments; the shard computes the others.\n"
)


def other_names(module, name: str) -> str:
    return ", ".join(alias for alias, of in sorted(module.ALIASES.items()) if of == name)


def in_catalyst(name: str) -> str:
    calls = (resolve_call(name, tuple(map(argument, case))) for case in CASES[name])
    return "yes" if any(map(translatable, calls)) else ""


def line(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def page() -> str:
    parts = [HEAD]
    for title, module in FAMILIES.items():
        rows = [
            line(f"`{f.usage}`", other_names(module, f.name), in_catalyst(f.name))
            for f in module.FUNCTIONS
        ]
        parts.append("\n".join([f"## {title}\n", line("function", "other names", "Catalyst")]))
        parts[-1] += "\n| --- | --- | --- |\n" + "\n".join(rows) + "\n"
    found = {f.name: (f.usage, other_names(aggregates, f.name)) for f in aggregates.SHIPPED}
    found |= {n: (f.usage, other_names(derived, n)) for n, f in derived.DERIVED.items()}
    rows = [line(f"`{usage}`", names) for usage, names in found.values()]
    parts.append("## Aggregates\n\n" + line("aggregate", "other names") + "\n| --- | --- |\n")
    parts[-1] += "\n".join(rows) + "\n"
    return "\n".join(parts)


def test_the_page_of_functions_is_the_catalogue() -> None:
    if os.environ.get("REWRITE"):
        PAGE.write_text(page())
    assert page() == PAGE.read_text()
