"""`windrow run FILE`: the queries of a script over its sources, until they end or you stop."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TextIO

import click

from windrow.cli.explain import named_queries, read_text
from windrow.cli.run_spark import RunRequest, SparkSettings, run_spark
from windrow.cli.run_view import Metrics
from windrow.cli.signals import Phases
from windrow.core.errors import InputError, RunError

DEFAULT_SINK = "console"


@click.command("run")
@click.argument("file", type=click.File(encoding="utf-8"))
@click.option(
    "--checkpoint", metavar="DIR", help="What makes it go on.  [default: FILE.checkpoint]"
)
@click.option(
    "--sink",
    "sinks",
    metavar="SINK",
    multiple=True,
    help="Where changes go: console (the default), parquet:DIR, json:DIR, duckdb:FILE, a "
    "PostgreSQL URL, memory, noop, spark:FORMAT. NAME=SINK is for one query. May be repeated: "
    "a query gets all of its own sinks, or if it has none all that are for every query.",
)
@click.option(
    "--sink-option", "options", metavar="KEY=VALUE", multiple=True, help="For spark:FORMAT."
)
@click.option(
    "--trigger",
    default="available-now",
    show_default=True,
    help='"available-now" reads what is there and ends; "2 seconds" goes on.',
)
@click.option(
    "--drain",
    is_flag=True,
    help="At the end close all streams: what waits for later rows comes out, and older rows that "
    "arrive for a later run are late. Without it the next run goes on as if this one still ran.",
)
@click.option("--shards", type=click.IntRange(min=1), default=2, show_default=True)
@click.option("--master", metavar="URL", help="Where Spark runs.  [default: local[*]]")
@click.option(
    "--engine",
    type=click.Choice(["spark", "local"]),
    default="spark",
    show_default=True,
    help="Local runs in this process, over files.",
)
@click.option(
    "--partials",
    type=click.Choice(["auto", "on", "off"]),
    help="Whether Spark merges the tuples of a pane and group.  [default: what the script says]",
)
@click.option("--query", "names", metavar="NAME", multiple=True, help="Only this query.")
@click.option(
    "--module",
    "modules",
    metavar="NAME",
    multiple=True,
    help="A Python module that registers aggregates: beside the script, here, or installed.",
)
@click.option(
    "--conf",
    "conf",
    metavar="KEY=VALUE",
    multiple=True,
    help="A setting of Spark, for example spark.driver.memory=4g; may be repeated.",
)
@click.option("--verbose", is_flag=True, help="Say what is done while it starts, and when.")
@click.option("--metrics-port", type=int, metavar="PORT", help="Serve Prometheus metrics.")
@click.option(
    "--metrics-host",
    metavar="HOST",
    default="127.0.0.1",
    show_default=True,
    help="Where to serve them; 0.0.0.0 lets other machines in.",
)
@click.pass_context
def command(  # noqa: PLR0913, PLR0917 - one parameter an option
    ctx: click.Context,
    file: TextIO,
    checkpoint: str | None,
    sinks: tuple[str, ...],
    options: tuple[str, ...],
    trigger: str,
    drain: bool,
    shards: int,
    master: str | None,
    engine: str,
    partials: str | None,
    names: tuple[str, ...],
    modules: tuple[str, ...],
    conf: tuple[str, ...],
    verbose: bool,
    metrics_port: int | None,
    metrics_host: str,
) -> None:
    """Run the queries of a script of CQL over the sources that its streams name.

    Stop it with Ctrl-C or SIGTERM, which let the batch under way come to its end, or kill it; run
    the same command again and it goes on where it was: nothing is lost, nothing comes twice.
    A dash reads standard input.

    Ends with code 0 when all is read or when it was stopped, 1 if it fails, and 143 if SIGTERM came
    before all was read (130 and 143 if it was stopped before it began).
    """
    import_modules(modules, Path(file.name).parent)
    script, all_names = named_queries(read_text(file))
    chosen = chosen_names(all_names, names)
    by_query = chosen_sinks(sinks or (DEFAULT_SINK,), chosen)
    if engine == "local":
        from windrow.cli.run_local import run_local  # noqa: PLC0415 - it loads the engine

        run_local(script, by_query)
        return
    if partials is not None:
        script += f"SET partials = '{partials}';\n"
    order = RunRequest(
        script,
        by_query,
        split_pairs(options, "sink option", "--sink-option path=out"),
        checkpoint or default_checkpoint(file.name),
        trigger,
        drain,
        None if metrics_port is None else Metrics(metrics_port, metrics_host),
    )
    settings = split_pairs(conf, "setting of Spark", "--conf spark.driver.memory=4g")
    ctx.exit(
        run_spark(order, SparkSettings(shards, master, settings), Phases.shown(verbose=verbose))
    )


def import_modules(names: tuple[str, ...], beside: Path) -> None:
    """Import modules for what they register."""
    if names:
        sys.path[:0] = [str(beside), str(Path.cwd())]
    for name in names:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            raise RunError(
                f"there is no module {error.name}",
                hint=f"--module {name} is looked for beside the script, in this folder, and among "
                "what is installed.",
            ) from error


def default_checkpoint(name: str) -> str:
    """Return the checkpoint of a script that is given none: a folder beside it."""
    if name in ("-", "<stdin>"):
        raise RunError(
            "a script from standard input has no place for its checkpoint",
            hint="Give one: --checkpoint DIR.",
        )
    return str(Path(name).with_suffix(".checkpoint"))


def chosen_names(known: list[str], wanted: tuple[str, ...]) -> list[str]:
    """Return the queries to run, in the order of the script."""
    if not known:
        raise InputError(
            "the script has no query",
            hint="Add one, for example CREATE QUERY q AS SELECT * FROM s [RANGE 1 MINUTE];",
        )
    unknown = [name for name in wanted if name.lower() not in {k.lower() for k in known}]
    if unknown:
        raise RunError(
            f'there is no query "{unknown[0]}"', hint=f"The script has {', '.join(known)}."
        )
    asked = {name.lower() for name in wanted}
    return [name for name in known if not asked or name.lower() in asked]


def chosen_sinks(sinks: tuple[str, ...], names: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the sinks of each query: its own, or those for all.

    >>> chosen_sinks(("noop", "json:x", "b=memory"), ["a", "b"])
    {'a': ('noop', 'json:x'), 'b': ('memory',)}
    """
    own: dict[str, list[str]] = {}
    common: list[str] = []
    for text in sinks:
        name, equals, spec = text.partition("=")
        if equals and name.lower() in {n.lower() for n in names}:
            own.setdefault(name.lower(), []).append(spec)
        elif equals and ":" not in name:
            raise RunError(
                f'there is no query "{name}" for a sink', hint=f"There are {', '.join(names)}."
            )
        else:
            common.append(text)
    unsaid = tuple(common) or (DEFAULT_SINK,)
    return {name: tuple(own.get(name.lower(), unsaid)) for name in names}


def split_pairs(pairs: tuple[str, ...], what: str, example: str) -> dict[str, str]:
    """Return KEY=VALUE texts by their keys."""
    wrong = [pair for pair in pairs if "=" not in pair]
    if wrong:
        raise RunError(f'a {what} is KEY=VALUE, not "{wrong[0]}"', hint=f"For example {example}.")
    return dict(pair.partition("=")[::2] for pair in pairs)
