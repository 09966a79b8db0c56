"""A shell's session: carries out one statement or command after the other, and goes on."""

from __future__ import annotations

import json
import sys
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from windrow.core.errors import InputError, WindrowError

if TYPE_CHECKING:
    from rich.console import Console

    from windrow.language.statements import Explain, Show, Statement
    from windrow.plan.nodes import Query
    from windrow.runtime.local.database import Database
    from windrow.runtime.local.handle import QueryHandle

WIDTH = 160
"""Columns to assume where there is no terminal to ask."""


@dataclass(slots=True)
class Shell:
    """The database, what is watched, and whether something went wrong.

    The engine is loaded by the first statement: a prompt does not wait for it.
    """

    failed: bool = False
    finished: bool = False
    latest: str | None = None  # the query that commands without a name mean
    watched: dict[str, list[tuple[object, ...]]] = field(default_factory=dict)
    reading: tuple[str, ...] = ()  # the files that are being read, the outermost first
    _db: Database | None = None
    _console: Console | None = None

    @property
    def loaded(self) -> bool:
        """Return whether the engine is there already."""
        return self._db is not None

    @property
    def db(self) -> Database:
        """The database; made, and the engine loaded, when it is first asked for."""
        if self._db is None:
            import windrow  # noqa: PLC0415 - loads the engine

            self._db = windrow.connect()
        return self._db

    @property
    def console(self) -> Console:
        """Where output goes."""
        if self._console is None:
            from rich.console import Console  # noqa: PLC0415 - a prompt does not wait for it

            plain = Console(highlight=False)
            wide = Console(highlight=False, width=WIDTH)
            self._console = plain if plain.is_terminal else wide
        return self._console

    def run_all(self, texts: Iterable[str]) -> None:
        """Carry out one piece after the other, until one says to leave."""
        for text in texts:
            if self.finished:
                return
            self.run(text)

    def run(self, text: str) -> None:
        """Carry out a statement or a command. An error is shown, and the session goes on."""
        try:
            if text.startswith("."):
                from windrow.cli.shell.commands import run_command  # noqa: PLC0415 - loads Arrow

                run_command(self, text)
            else:
                self._statements(text)
        except WindrowError as error:
            self._complain(error.render())
        except KeyboardInterrupt:
            self._complain("interrupted")
        except Exception:  # a bug: printed in full, and the session goes on
            self._complain(f"error: this is a bug in windrow\n{traceback.format_exc()}")

    def _complain(self, text: str) -> None:
        self.failed = True
        fact, _, rest = text.partition("\n")
        sys.stdout.flush()
        click.secho(fact, err=True, fg="red")
        if rest:
            click.echo(rest, err=True)

    def say(self, text: str, style: str = "dim") -> None:
        """Print a line about what was done."""
        self.console.print(text, style=style, markup=False, soft_wrap=True)

    # -- statements ----------------------------------------------------------------------------

    def _statements(self, text: str) -> None:
        from windrow.language.parse import parse_script  # noqa: PLC0415 - loads sqlglot

        for statement in parse_script(text):
            self._statement(statement, text)

    def _statement(self, statement: Statement, text: str) -> None:
        from windrow.language import statements as s  # noqa: PLC0415 - loads sqlglot

        match statement:
            case s.Select():
                self.show_new(self.db.query(text.rstrip().rstrip(";")).name)
            case s.Explain():
                self._explain(statement, text)
            case s.Show():
                self._show(statement)
            case s.CreateQuery(name=name):
                self.db.execute(text)
                self.show_new(name.lower())
            case s.CreateStream(name=name):
                self.db.execute(text)
                self.say(f"stream {name}")
            case s.CreateRelation(name=name):
                self.db.execute(text)
                self.say(f"relation {name}")
            case s.CreateView(name=name):
                self.db.execute(text)
                self.say(f"view {name}")
            case s.Insert(name=name, rows=rows):
                self.db.execute(text)
                self.say(f"{len(rows)} row{'' if len(rows) == 1 else 's'} into {name}")
                self.show_watched()
            case s.Describe():
                self._describe(text)
            case s.Drop(kind=kind, name=name):
                self.db.execute(text)
                self._forget(name.lower())
                self.say(f"dropped {kind.lower()} {name}")
            case s.SetOption(name=name, value=value):
                self.db.execute(text)
                self.say(f"{name} = {value}")

    def show_new(self, name: str) -> None:
        """Say a new query's name, and show its answer if it has one."""
        self.latest = name
        if self.db.running(name).is_stream:
            self.say(f"query {name}: streams its results, see .changes")
        else:
            self.say(f"query {name}")
            self.show_answer(name)

    def _forget(self, name: str) -> None:
        self.watched.pop(name, None)
        if self.latest == name:
            self.latest = next(reversed(self.db.session.queries), None)

    def _explain(self, statement: Explain, text: str) -> None:
        from windrow.plan.nodes import Query  # noqa: PLC0415 - loads the plan

        query = self.db.session.execute(text)[0]
        assert isinstance(query, Query), "EXPLAIN gives a query"
        if statement.format == "text":
            self._explain_tree(query, running=statement.name)
        else:
            self.console.file.write(f"{as_other_format(query, statement.format)}\n")

    def _explain_tree(self, query: Query, *, running: str | None) -> None:
        from windrow.cli.terminal import print_notes, print_plan  # noqa: PLC0415 - loads the plan

        print_plan(self.console, query)
        if running is None:
            print_notes(self.console, query)
        else:
            from windrow.runtime.local.explain import explain_physical  # noqa: PLC0415 - the engine

            text = explain_physical(self.db.running(running.lower()))
            self.console.print(f"\n{text}", markup=False, soft_wrap=True)

    def _show(self, statement: Show) -> None:
        session = self.db.session
        match statement.what:
            case "QUERIES":
                lines = [f"{q.name}: {' '.join(q.text.split())}" for q in session.queries.values()]
            case "SETTINGS":
                lines = [f"{name} = {value}" for name, value in session.settings.items()]
            case "VIEWS":
                views = session.catalog.views.values()
                lines = [f"{view.view} ({', '.join(map(str, view.schema))})" for view in views]
            case what:
                names = session.names(what.removesuffix("S").lower())
                lines = [
                    f"{name} ({', '.join(map(str, session.entry(name).schema))})" for name in names
                ]
        for line in lines or ["none"]:
            self.say(line, style="")

    def _describe(self, text: str) -> None:
        from windrow.cli.shell.tables import print_answer  # noqa: PLC0415 - loads Arrow

        print_answer(self.console, self.db.execute(text))

    # -- answers -------------------------------------------------------------------------------

    def handle(self, name: str | None) -> QueryHandle:
        """Return a query by name, or the newest."""
        wanted = name or self.latest
        if wanted is None:
            raise InputError("there is no query yet", hint="Type one: SELECT ... ;")
        self.db.session.query(wanted)
        return self.db.query(wanted)

    def show_answer(self, name: str, at: str | None = None) -> None:
        """Show the answer of a query, now or later."""
        from windrow.cli.shell.tables import print_answer  # noqa: PLC0415 - loads Arrow
        from windrow.cli.shell.values import to_instant  # noqa: PLC0415 - loads Arrow

        handle = self.handle(name)
        table = handle.answer() if at is None else handle.answer(at=to_instant(at))
        print_answer(self.console, table)

    def show_watched(self) -> None:
        """Show what is watched, with what has changed since it was shown."""
        from windrow.cli.shell.tables import print_difference  # noqa: PLC0415 - loads Arrow

        for name, before in list(self.watched.items()):
            self.say(name, style="bold")
            self.watched[name] = print_difference(self.console, self.handle(name).answer(), before)


def as_other_format(query: Query, style: str) -> str:
    """Return a plan for another program."""
    from windrow.cli.terminal import join_notes  # noqa: PLC0415 - loads the plan
    from windrow.plan import explain as formats  # noqa: PLC0415 - loads the plan

    joins = join_notes(query)
    match style:
        case "json":
            facts = formats.explain_json(query, joins=joins)
            return json.dumps(facts, indent=2, ensure_ascii=False)
        case "dot":
            return formats.explain_dot(query, joins=joins)
        case _:
            return formats.explain_mermaid(query, joins=joins)
