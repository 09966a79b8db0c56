"""Answers and changes as tables on a terminal: what is new is green, what is gone is red."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal

import pyarrow as pa
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

MOST_ROWS = 60
"""Rows that are shown of one table."""
SIGNS = {1: ("+", "green"), -1: ("-", "red"), 0: ("", "")}

Row = tuple[object, ...]


def print_answer(console: Console, table: pa.Table) -> None:
    """Print the rows of an answer."""
    rows = rows_of(table)
    print_rows(console, table.schema, [(0, row) for row in rows])


def print_changes(console: Console, table: pa.Table) -> None:
    """Print a changelog: the sign first, in its colour."""
    signs = table["_sign"].to_pylist()
    shown = table.drop_columns(["_sign"])
    print_rows(console, shown.schema, list(zip(signs, rows_of(shown), strict=True)), noun="change")


def print_difference(console: Console, table: pa.Table, before: list[Row]) -> list[Row]:
    """Print an answer with what it was not before, then what it no longer is; return its rows."""
    rows = rows_of(table)
    marked = difference(before, rows)
    print_rows(console, table.schema, marked, total=len(rows))
    return rows


def difference(before: Sequence[Row], after: Sequence[Row]) -> list[tuple[int, Row]]:
    """Return the rows after, those that are new with +1, then those that are gone with -1.

    >>> difference([(1,), (2,)], [(2,), (3,)])
    [(0, (2,)), (1, (3,)), (-1, (1,))]
    """
    kept = Counter(map(_identity, before))
    marked: list[tuple[int, Row]] = []
    for row in after:
        marked.append((0 if kept[_identity(row)] > 0 else 1, row))
        kept[_identity(row)] -= 1
    for row in before:
        if kept[_identity(row)] > 0:
            marked.append((-1, row))
            kept[_identity(row)] -= 1
    return marked


def _identity(row: Row) -> str:
    return repr(row)


def rows_of(table: pa.Table) -> list[Row]:
    """Return a table as rows of Python values."""
    columns = [table.column(i).to_pylist() for i in range(table.num_columns)]
    return list(zip(*columns, strict=True)) if columns else []


def print_rows(
    console: Console,
    schema: pa.Schema,
    rows: list[tuple[int, Row]],
    *,
    noun: str = "row",
    total: int | None = None,
) -> None:
    """Print rows with their signs, and how many there are."""
    signed = any(sign for sign, _ in rows)
    shown = Table(
        box=box.SIMPLE_HEAD, padding=(0, 1), show_edge=False, pad_edge=False, header_style="bold"
    )
    if signed:
        shown.add_column("")
    for field in schema:
        shown.add_column(Text(field.name), justify="right" if _is_number(field.type) else "left")
    for sign, row in rows[:MOST_ROWS]:
        mark, style = SIGNS[sign]
        shown.add_row(*([mark] if signed else []), *map(cell, row), style=style)
    if rows:
        put(console, shown)
    console.print(count(len(rows) if total is None else total, noun, len(rows)), style="dim")


def count(rows: int, noun: str, printed: int) -> str:
    """Return how many rows there are, in words.

    >>> count(1, "row", 1), count(2, "change", 2), count(99, "row", 99)
    ('1 row', '2 changes', '99 rows, the first 60 are shown')
    """
    words = f"{rows:,} {noun}{'' if rows == 1 else 's'}"
    return f"{words}, the first {MOST_ROWS} are shown" if printed > MOST_ROWS else words


def print_pairs(console: Console, pairs: Iterable[tuple[str, object]]) -> None:
    """Print names with their values, one a line."""
    shown = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for name, value in pairs:
        shown.add_row(Text(name, "bold"), cell(value))
    put(console, shown)


def put(console: Console, table: Table) -> None:
    """Print a table; in a file its lines end where their text does."""
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as captured:
        console.print(table)
    console.file.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def cell(value: object) -> Text:
    """Return a value as it is shown."""
    return Text("NULL", "dim") if value is None else Text(written(value))


def written(value: object) -> str:
    """Return a value as text: times without what is zero or UTC, bytes in hexadecimal.

    >>> from datetime import UTC
    >>> written(datetime(2026, 1, 1, 12, 0, 5, tzinfo=UTC)), written(b"ab"), written(True)
    ('2026-01-01 12:00:05', "X'6162'", 'true')
    """
    match value:
        case bool():
            return str(value).lower()
        case datetime():
            return value.replace(tzinfo=None).isoformat(sep=" ")
        case date() | Decimal() | str():
            return str(value)
        case bytes():
            return f"X'{value.hex()}'"
        case dict():
            return ", ".join(f"{k} {written(v)}" for k, v in value.items())
        case _:
            return str(value)


def _is_number(type_: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_))
