"""`windrow explain FILE`: the plan of each query in a script.

Also how commands read scripts: every query gets a name.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TextIO

import click
from rich.console import Console

from windrow.cli.terminal import join_notes, print_notes, print_plan
from windrow.core.errors import BindError, InputError
from windrow.language.parse import parse_script
from windrow.language.printing import print_statement, to_sql
from windrow.language.statements import CreateQuery, Select
from windrow.plan.explain import explain_dot, explain_json, explain_mermaid, explain_text
from windrow.plan.nodes import Query
from windrow.plan.session import Session
from windrow.plan.settings import unused


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


DRAWINGS: dict[str, Callable[..., str]] = {"dot": explain_dot, "mermaid": explain_mermaid}


@click.command("explain")
@click.argument("file", type=click.File(encoding="utf-8"))
@click.option("--query", "name", metavar="NAME", help="Only this query.")
@click.option(
    "--format",
    "style",
    type=click.Choice(["tree", "text", *DRAWINGS, "json"]),
    default="tree",
    show_default=True,
    help="Tree has colours on a terminal and is plain text elsewhere.",
)
@click.option(
    "--patterns/--no-patterns",
    default=True,
    help="With or without each edge's update pattern and its reason.",
)
@click.option("--spark", is_flag=True, help="How all of it runs on Spark, as one.")
@click.option(
    "--shards", type=click.IntRange(min=1), default=2, show_default=True, help="With --spark."
)
@click.option(
    "--partials", type=click.Choice(["auto", "on", "off"]), help="With --spark: as of run."
)
def command(  # noqa: PLR0913, PLR0917 - one parameter an option
    file: TextIO,
    name: str | None,
    style: str,
    patterns: bool,
    spark: bool,
    shards: int,
    partials: str | None,
) -> None:
    """Show the plan of each query in a script of CQL.

    FILE declares streams and relations and holds queries: CREATE QUERY and bare SELECT.
    Nothing is run. A dash reads standard input.
    """
    text = read_text(file)
    queries = chosen(bind_script(text), name)
    if spark:
        said = "" if partials is None else f";\nSET partials = '{partials}'"
        click.echo(on_spark(text + said, tuple(query.name for query in queries), shards))
        return
    if style == "json":
        plans = [explain_json(q, patterns=patterns, joins=join_notes(q)) for q in queries]
        click.echo(json.dumps(plans, indent=2, ensure_ascii=False))
    elif style == "tree":
        print_trees(queries, patterns=patterns)
    elif style == "text":
        click.echo("\n\n".join(as_text(query, patterns=patterns) for query in queries))
    else:
        write = DRAWINGS[style]
        drawn = (write(q, patterns=patterns, joins=join_notes(q)) for q in queries)
        click.echo("\n\n".join(drawn))


def as_text(query: Query, *, patterns: bool) -> str:
    """Return a plan and what was chosen for its joins as plain text."""
    lines = [line for note in join_notes(query) for line in note.lines]
    lines += map(str, unused(query))
    return "\n".join([explain_text(query, patterns=patterns), *lines])


def on_spark(text: str, names: tuple[str, ...], shards: int) -> str:
    """Return how the queries run on Spark: together, over one pass of each input."""
    from windrow.runtime.shards.program import Program  # noqa: PLC0415 - only here is it needed
    from windrow.runtime.spark.explain import explain_spark  # noqa: PLC0415 - loads pyspark

    script, _ = named_queries(text)
    return explain_spark(Program(script, names, shards=shards))


def read_text(file: TextIO) -> str:
    """Return the text of a script."""
    try:
        return file.read()
    except UnicodeDecodeError as error:
        raise InputError(
            f'"{file.name}" is not text',
            detail=f"Byte {error.start} is not UTF-8.",
            hint="Give a script of CQL, saved as UTF-8.",
        ) from error


def bind_script(text: str) -> dict[str, Query]:
    """Return the queries that a script leaves behind, in order; bare ones get a number."""
    session = Session()
    found: dict[str, Query] = {}
    for result in session.execute(text):
        if not isinstance(result, Query):
            continue
        name = result.name or f"query_{len(found) + 1}"
        found[name] = replace(result, name=name)
    return found


def chosen(queries: dict[str, Query], name: str | None) -> list[Query]:
    """Return all queries, or the one of that name."""
    if not queries:
        raise InputError(
            "the script has no query",
            hint="Add one, for example CREATE QUERY q AS SELECT * FROM s [RANGE 1 MINUTE];",
        )
    if name is None:
        return list(queries.values())
    found = {known.lower(): query for known, query in queries.items()}.get(name.lower())
    if found is None:
        raise BindError(f'there is no query "{name}"', hint=f"The script has {', '.join(queries)}.")
    return [found]


def print_trees(queries: list[Query], *, patterns: bool) -> None:
    """Print one tree a query, a blank line between two."""
    console = Console(highlight=False)
    for i, query in enumerate(queries):
        if i:
            console.print()
        print_plan(console, query, patterns=patterns)
        print_notes(console, query)
