"""The nodes that CQL adds to sqlglot's tree.

What a reader of the tree meets, besides sqlglot's own nodes:

- a stream or sub-query with a window is `Windowed(this=Table | Subquery, window=StreamWindow)`;
  the alias, if there is one, is on the table or sub-query inside, wherever it was written;
- ``ISTREAM(SELECT ...)`` and ``SELECT Istream(...) FROM ...`` are one tree:
  `StreamFunction(kind, this=<query>)` around the whole query, in sub-queries as well;
- ``SUM(Wstream(SUM(a))[ROWS 10])`` keeps its `StreamFunction` inside the aggregate; its `this` is
  then an expression;
- ``WINDOW(A, B) = t`` is `PairWindow`, a conjunct of WHERE, also where it was written as WJOIN's
  clause before WHERE;
- a function call is `exp.Anonymous(this=NAME, expressions=[...])` with the written name in upper
  case, aggregates as well: ``COUNT(*)`` holds `exp.Star`, ``COUNT(b.*)`` an `exp.Column` whose
  `this` is `exp.Star`, ``COUNT(DISTINCT a)`` an `exp.Distinct`, ``LAST(a ORDER BY b)`` an
  `exp.Order` around its last argument; `exp.WithinGroup`, `exp.IgnoreNulls` and `exp.RespectNulls`
  are around the call, the latter two also around an argument. ``SUBSTRING(x FROM i FOR n)`` and
  ``POSITION(a IN b)`` are the calls ``SUBSTRING(x, i, n)`` and ``POSITION(a, b)``;
- sqlglot's own: `exp.Cast` and `exp.TryCast`, `exp.Case`, `exp.Extract`, `exp.Trim` (only with
  BOTH, LEADING, TRAILING or FROM), `exp.Interval`, `exp.Filter`, `exp.Exists(this=<query>)`,
  `exp.In(query=Subquery)`, `exp.Window` for OVER.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp

UNITS: dict[str, tuple[str, ...]] = {
    "MICROSECOND": ("US", "USEC", "USECS", "MICRO", "MICROS"),
    "MILLISECOND": ("MS", "MSEC", "MSECS", "MILLI", "MILLIS"),
    "SECOND": ("S", "SEC", "SECS"),
    "MINUTE": ("M", "MIN", "MINS"),
    "HOUR": ("H", "HR", "HRS"),
    "DAY": ("D",),
    "WEEK": ("W", "WK", "WKS"),
}
"""Each unit of time with its short spellings; the plural of the full name is understood."""

UNIT_OF: dict[str, str] = {
    spelling: unit for unit, short in UNITS.items() for spelling in (unit, f"{unit}S", *short)
}

STREAM_FUNCTIONS = ("istream", "dstream", "rstream", "wstream")


class Duration(exp.Expression):
    """A length of time. `this` is a number literal, `unit` a key of `UNITS` or None for ticks."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "unit": False}


class StreamWindow(exp.Expression):
    """What stands in ``[...]`` after a stream, a sub-query or a WSTREAM.

    kind       size                     slide             keys
    range      Duration                 Duration or None
    rows       Literal (integer)        Literal or None
    partition  Literal (integer)        Literal or None   [Column, ...]
    now
    unbounded
    since      Literal (string or integer: an instant)
    tumble     Duration

    `internal` is True for windows that bound state only.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "kind": True,
        "size": False,
        "slide": False,
        "keys": False,
        "internal": False,
    }


class Windowed(exp.Expression):
    """A table or sub-query in FROM, seen through a window."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "window": True}

    @property
    def alias_or_name(self) -> str:
        """The name by which columns of it are qualified."""
        return str(self.this.alias_or_name)


class StreamFunction(exp.Expression):
    """A relation turned into a stream: istream, dstream, rstream or wstream.

    `this` is a query, or an expression inside an aggregate. Only wstream has a `window`;
    `restore` asks for results that appear and disappear between two refreshes.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "kind": True,
        "this": True,
        "window": False,
        "restore": False,
    }


class StreamItems(exp.Expression):
    """What stands in ``Rstream(...)`` of a select list, until it is lifted around its SELECT."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True, "distinct": False}


class PairWindow(exp.Expression):
    """``WINDOW(A, B) = size``: tuples of these streams join only within `size` of each other.

    kind "window" is symmetric, "dwindow" directed (the later stream follows the earlier one).
    No `streams`: every pair of the query.
    """

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "streams": False, "size": True}
