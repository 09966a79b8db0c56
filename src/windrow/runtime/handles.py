"""What databases, and handles of queries, have in common on both engines."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from windrow.core.errors import BindError, WindrowError
from windrow.plan.session import Session

SHOWN_ROWS = 20
"""Rows of an answer that a notebook shows."""


Function = TypeVar("Function", bound=Callable[..., object])


class Declarations:
    """A database of which one can ask what is declared, and that takes functions of the user's."""

    session: Session

    def streams(self) -> list[str]:
        """Return the names of all streams, in the order of declaration."""
        return self.session.names("stream")

    def relations(self) -> list[str]:
        """Return the names of all relations, in the order of declaration."""
        return self.session.names("relation")

    def views(self) -> list[str]:
        """Return the names of all views, in the order of declaration."""
        return self.session.names("view")

    def function(
        self,
        arguments: tuple[pa.DataType, ...],
        result: pa.DataType,
        name: str | None = None,
    ) -> Callable[[Function], Function]:
        """Register a function of yours, as a decorator: Arrow arrays in, as many values out.

        Queries call it by its name in Python, or by `name`.
        """

        def registered(function: Function) -> Function:
            from windrow import register_function  # noqa: PLC0415 - it compiles

            register_function(name or function.__name__, function, arguments, result)
            return function

        return registered


class Answered(Protocol):
    """What can be asked for an answer."""

    name: str

    @property
    def schema(self) -> pa.Schema:
        """The columns of the answer."""
        ...

    def answer(self) -> pa.Table:
        """Return the answer now."""
        ...


class Tabular:
    """A handle whose answer is taken as a table by whoever reads Arrow."""

    def to_pandas(self: Answered) -> Any:  # a pandas.DataFrame
        """Return the answer now as a DataFrame of pandas."""
        return self.answer().to_pandas()

    def to_polars(self: Answered) -> Any:  # a polars.DataFrame
        """Return the answer now as a DataFrame of Polars."""
        try:
            import polars  # noqa: PLC0415 - only who asks for it needs it
        except ImportError as error:
            raise BindError(
                "Polars is not installed", hint="pip install polars, or use to_pandas()."
            ) from error
        return polars.from_arrow(self.answer())

    def __arrow_c_stream__(self: Answered, requested_schema: object | None = None) -> object:
        """Give the answer now to any reader of Arrow's C stream interface."""
        return self.answer().__arrow_c_stream__(requested_schema)

    def _repr_html_(self: Answered) -> str:
        """Return the answer now as a notebook shows it; an error as its text."""
        try:
            table = self.answer()
        except WindrowError as error:
            return f"<pre>{escape(error.render())}</pre>"
        return as_html(table, self.name)


def as_html(table: pa.Table, name: str) -> str:
    """Return the first rows of a table, under the name of its query."""
    head = "".join(f"<th>{escape(column)}</th>" for column in table.column_names)
    rows = "".join(
        f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row.values())}</tr>"
        for row in table.slice(0, SHOWN_ROWS).to_pylist()
    )
    count = f"{len(table):,} row{'' if len(table) == 1 else 's'}"
    if len(table) > SHOWN_ROWS:
        count += f", the first {SHOWN_ROWS} shown"
    caption = f"<caption>{escape(name)}: {count}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cell(value: Any) -> str:
    return "<i>NULL</i>" if value is None else escape(str(value))
