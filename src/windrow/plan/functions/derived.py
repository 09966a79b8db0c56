"""Aggregates that are written with others, and those that need an order.

    CORR(x, y)              covar_pop(x, y) / (stddev_pop(x) * stddev_pop(y)), over whole pairs
    ARG_MAX(x, y)           the x of the first row by y DESC, x DESC: first(x, y, 'dd')
    LAST(x)                 the x of the first row by ts DESC, x DESC: first(x, ts, 'dd')
    STRING_AGG(x, ', ')     string_agg(x, ts, 'aA', ', ')

`first`, `collect_list` and `string_agg` take a value, the keys that order it, and a text with one
letter a key, the last for the value itself: `a` ascending, `d` descending, in capitals with NULLs
at the other end than usual (they are least). The value decides between equal keys, so that the
answer does not depend on the order in which rows are folded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from windrow.core.errors import BindError
from windrow.core.types import DOUBLE, STRING
from windrow.plan.expressions import Expr, Literal
from windrow.plan.functions import arithmetic, comparison, logic
from windrow.plan.functions.signature import (
    FLOATING,
    TEXT,
    TRUTH,
    Args,
    Function,
    coerce,
    constant,
    fit,
)

_CALLS: dict[str, Function] = {
    f.name: f for family in (arithmetic, comparison, logic) for f in family.FUNCTIONS
}


@dataclass(frozen=True, slots=True)
class AggregateText:
    """A call of an aggregate as it is written, its parts bound.

    `order` has the terms of ORDER BY with their letters; `time` is the time of the rows, if they
    are tuples of streams.
    """

    name: str
    args: Args
    distinct: bool = False
    filter: Expr | None = None
    order: tuple[tuple[Expr, str], ...] = ()
    within: bool = False  # the order is that of WITHIN GROUP
    ignore_nulls: bool = False
    time: Expr | None = None

    def where(self, condition: Expr) -> Expr:
        """Return the filter with one more condition."""
        return condition if self.filter is None else _call("and", self.filter, condition)

    def where_valid(self, *values: Expr) -> Expr | None:
        """Return the filter that also drops rows in which one of the values is NULL."""
        found = self.filter
        for value in values:
            if value.nullable:
                there = _call("is_not_null", value)
                found = there if found is None else _call("and", found, there)
        return found


Folded: TypeAlias = Callable[[str, Args, Expr | None, bool], Expr]
"""Returns the column of a plain aggregate: its name, arguments, FILTER and DISTINCT."""

Expand: TypeAlias = Callable[[AggregateText, Folded], Expr]


@dataclass(frozen=True, slots=True)
class DerivedAggregate:
    """One aggregate that `expand` writes with plain ones; what of its text it can have."""

    usage: str
    least: int
    most: int
    expand: Expand
    distinct: bool = False
    ordered: bool = False  # ORDER BY in its brackets
    within: bool = False  # WITHIN GROUP (ORDER BY ...)
    nulls: bool = False  # IGNORE NULLS

    @property
    def name(self) -> str:
        """The name in `usage`."""
        return self.usage.partition("(")[0]

    def check(self, text: AggregateText) -> None:
        """Refuse a wrong number of arguments, and words that mean nothing here."""
        count = len(text.args)
        if not self.least <= count <= self.most:
            raise BindError(
                f"{self.name} does not take {count} argument{'' if count == 1 else 's'}",
                hint=f"Write {self.usage}.",
            )
        check_words(text, self)


def check_words(text: AggregateText, function: DerivedAggregate | None, usage: str = "") -> None:
    """Refuse DISTINCT, ORDER BY, WITHIN GROUP and IGNORE NULLS where they mean nothing."""
    usage = usage or (function.usage if function is not None else f"{text.name}(x)")
    ordered = bool(text.order)
    wrong = {
        "DISTINCT": text.distinct and function is not None and not function.distinct,
        "WITHIN GROUP": text.within and not (function is not None and function.within),
        "ORDER BY": ordered and not text.within and not (function and function.ordered),
        "IGNORE NULLS": text.ignore_nulls and not (function is not None and function.nulls),
    }
    for word, here in wrong.items():
        if here:
            raise BindError(
                f"{text.name} cannot be used with {word}",
                detail="It would mean nothing there."
                if word != "IGNORE NULLS"
                else "It never folds NULLs.",
                hint=f"Write {usage}.",
            )


def _call(name: str, *args: Expr) -> Expr:
    function = _CALLS[name]
    function.check_count(len(args))
    return function.resolve(args)


# -- counts and moments ---------------------------------------------------------------------------


def _count_if(text: AggregateText, folded: Folded) -> Expr:
    truth = fit("count_if", text.args[0], TRUTH)
    return folded("count", (), text.where(truth), False)  # noqa: FBT003


def _beside(value: Expr, other: Expr) -> Expr:
    """Return a value, NULL where the other is."""
    if not other.nullable:
        return value
    return _call("case", _call("is_not_null", other), value)


class _Pairs:
    """The aggregates of the rows in which neither y nor x is NULL."""

    def __init__(self, text: AggregateText, folded: Folded) -> None:
        self.y, self.x = (fit(text.name, a, FLOATING) for a in text.args)
        self._text, self._folded = text, folded

    def of_x(self, name: str) -> Expr:
        """Return an aggregate of x."""
        return self._of(name, _beside(self.x, self.y))

    def of_y(self, name: str) -> Expr:
        """Return an aggregate of y."""
        return self._of(name, _beside(self.y, self.x))

    def of_both(self, name: str) -> Expr:
        """Return an aggregate of the pairs."""
        return self._of(name, self.y, self.x)

    def _of(self, name: str, *args: Expr) -> Expr:
        return self._folded(name, args, self._text.filter, False)  # noqa: FBT003

    def slope(self) -> Expr:
        """Return the slope of the line of least squares; NULL if all x are one."""
        return _call("div", self.of_both("covar_pop"), self.of_x("var_pop"))

    def intercept(self) -> Expr:
        """Return where the line meets x = 0."""
        return _call("sub", self.of_y("avg"), _call("mul", self.slope(), self.of_x("avg")))

    def correlation(self) -> Expr:
        """Return Pearson's coefficient; NULL if all x or all y are one."""
        deviations = _call("mul", self.of_y("stddev_pop"), self.of_x("stddev_pop"))
        return _call("div", self.of_both("covar_pop"), deviations)

    def determination(self) -> Expr:
        """Return the square of the correlation; 1 if only all y are one."""
        both, zero = self.of_both("covar_pop"), Literal(0.0, DOUBLE)
        found = _call("mul", self.slope(), _call("div", both, self.of_y("var_pop")))
        level = _call("and", *(_call(o, v, zero) for o, v in self._level()))
        return _call("case", level, Literal(1.0, DOUBLE), found)

    def _level(self) -> tuple[tuple[str, Expr], ...]:
        return ("eq", self.of_y("var_pop")), ("gt", self.of_x("var_pop"))

    def times_count(self, value: Expr) -> Expr:
        """Return a mean of the pairs as their sum."""
        return _call("mul", coerce(self.of_both("count"), DOUBLE), value)


def _of_pairs(usage: str, read: Callable[[_Pairs], Expr]) -> DerivedAggregate:
    return DerivedAggregate(usage, 2, 2, lambda text, folded: read(_Pairs(text, folded)))


# -- rows in an order -----------------------------------------------------------------------------

_TURNED = {"a": "d", "d": "a", "A": "D", "D": "A"}


def _first(
    value: Expr, keys: tuple[tuple[Expr, str], ...], last: str, where: Expr | None, folded: Folded
) -> Expr:
    letters = "".join(letter for _, letter in keys) + last
    args = (value, *(key for key, _ in keys), Literal(letters, STRING))
    return folded("first", args, where, False)  # noqa: FBT003


def _arg_extreme(letter: str) -> Expand:
    """Return the value beside the least or greatest key; between equal ones the same decides.

    A NULL is taken only if there is nothing else, so that NULLs are last both ways.
    """

    def expand(text: AggregateText, folded: Folded) -> Expr:
        value, key = text.args
        last = "A" if letter == "a" else "d"
        return _first(value, ((key, letter),), last, text.where_valid(key), folded)

    return expand


def _edge(*, last: bool) -> Expand:
    def expand(text: AggregateText, folded: Folded) -> Expr:
        value, *flag = text.args
        ignores = text.ignore_nulls or (bool(flag) and _truth(text.name, flag[0]))
        keys = text.order or _by_time(text)
        if last:
            keys = tuple((key, _TURNED[letter]) for key, letter in keys)
        where = text.where_valid(value) if ignores else text.filter
        return _first(value, keys, "d" if last else "A", where, folded)

    return expand


def _truth(name: str, arg: Expr) -> bool:
    known = constant(name, arg, "whether NULLs are ignored")
    fit(name, known, TRUTH)
    return known.value is True


def _by_time(text: AggregateText) -> tuple[tuple[Expr, str], ...]:
    if text.time is None:
        raise BindError(
            f"{text.name} needs an order",
            detail="Tuples of streams are ordered by their times; rows of relations and of "
            "sub-queries have none.",
            hint=f"Write {text.name}(x ORDER BY column).",
        )
    return ((text.time, "a"),)


def _listing(name: str) -> Expand:
    """Return all values that are not NULL: by ORDER BY, else by time, else by themselves."""

    def expand(text: AggregateText, folded: Folded) -> Expr:
        value, *rest = text.args
        if name == "string_agg":
            value = fit(text.name, value, TEXT)
            rest = [_separator(text, rest)]
        keys = text.order or (((text.time, "a"),) if text.time is not None else ())
        last = "a"
        if text.distinct:
            last, keys = _distinct_order(text, value), ()
        letters = "".join(letter for _, letter in keys) + last
        args = (value, *(key for key, _ in keys), Literal(letters, STRING), *rest)
        return folded(name, args, text.where_valid(value), text.distinct)

    return expand


def _separator(text: AggregateText, rest: list[Expr]) -> Literal:
    found = constant(text.name, rest[0], "the separator") if rest else Literal("", STRING)
    if found.type != STRING or found.value is None:
        raise BindError(
            f"the separator of {text.name} must be a text", hint="Write ', ', for example."
        )
    return found


def _distinct_order(text: AggregateText, value: Expr) -> str:
    """Return the letter of the values themselves: nothing else is one a value."""
    if any(key != value for key, _ in text.order):
        raise BindError(
            f"{text.name} with DISTINCT is ordered by its own values",
            detail="Equal values are listed once, but may stand beside different ones of another.",
            hint="Order by the value itself, or leave DISTINCT out.",
        )
    return text.order[0][1] if text.order else "a"


def _set(text: AggregateText, folded: Folded) -> Expr:
    (value,) = text.args
    args = (value, Literal("a", STRING))
    return folded("collect_list", args, text.where_valid(value), True)  # noqa: FBT003


def _percentile(name: str) -> Expand:
    """Return the value at a fraction of the ORDER BY of WITHIN GROUP."""

    def expand(text: AggregateText, folded: Folded) -> Expr:
        if len(text.order) != 1 or not text.within:
            raise BindError(
                f"{text.name} needs one order",
                hint=f"Write {text.name}(0.5) WITHIN GROUP (ORDER BY x).",
            )
        ((value, letter),) = text.order
        fraction = constant(text.name, text.args[0], "the fraction")
        if letter in "dD":
            if name != "quantile":
                raise BindError(
                    f"{text.name} takes no DESC",
                    hint="Order ascending, by the negative value for example.",
                )
            fraction = Literal(1.0 - float(str(fraction.value)), DOUBLE)
        return folded(name, (value, fraction), text.filter, False)  # noqa: FBT003

    return expand


def _mode(text: AggregateText, folded: Folded) -> Expr:
    if bool(text.args) == bool(text.order) or len(text.order) > 1:
        raise BindError("mode takes one value", hint="Write mode(x).")
    value = text.args[0] if text.args else text.order[0][0]
    return folded("mode", (value,), text.filter, False)  # noqa: FBT003


_SHIPPED = (
    DerivedAggregate("count_if(condition)", 1, 1, _count_if),
    _of_pairs("corr(y, x)", _Pairs.correlation),
    _of_pairs("regr_count(y, x)", lambda p: p.of_both("count")),
    _of_pairs("regr_avgx(y, x)", lambda p: p.of_x("avg")),
    _of_pairs("regr_avgy(y, x)", lambda p: p.of_y("avg")),
    _of_pairs("regr_sxx(y, x)", lambda p: p.times_count(p.of_x("var_pop"))),
    _of_pairs("regr_syy(y, x)", lambda p: p.times_count(p.of_y("var_pop"))),
    _of_pairs("regr_sxy(y, x)", lambda p: p.times_count(p.of_both("covar_pop"))),
    _of_pairs("regr_slope(y, x)", _Pairs.slope),
    _of_pairs("regr_intercept(y, x)", _Pairs.intercept),
    _of_pairs("regr_r2(y, x)", _Pairs.determination),
    DerivedAggregate("arg_min(x, key)", 2, 2, _arg_extreme("a")),
    DerivedAggregate("arg_max(x, key)", 2, 2, _arg_extreme("d")),
    DerivedAggregate(
        "first(x [IGNORE NULLS] [ORDER BY key])", 1, 2, _edge(last=False), ordered=True, nulls=True
    ),
    DerivedAggregate(
        "last(x [IGNORE NULLS] [ORDER BY key])", 1, 2, _edge(last=True), ordered=True, nulls=True
    ),
    DerivedAggregate(
        *("collect_list([DISTINCT] x [ORDER BY key])", 1, 1, _listing("collect_list")),
        distinct=True,
        ordered=True,
        nulls=True,
    ),
    DerivedAggregate("collect_set(x)", 1, 1, _set, distinct=True, nulls=True),
    DerivedAggregate(
        *("string_agg([DISTINCT] x, separator [ORDER BY key])", 1, 2, _listing("string_agg")),
        distinct=True,
        ordered=True,
        within=True,
        nulls=True,
    ),
    DerivedAggregate(
        *("percentile_cont(fraction) WITHIN GROUP (ORDER BY x)", 1, 1, _percentile("quantile")),
        within=True,
    ),
    DerivedAggregate(
        *("percentile_disc(fraction) WITHIN GROUP (ORDER BY x)", 1, 1),
        _percentile("approx_quantile"),
        within=True,
    ),
    DerivedAggregate("mode(x)", 0, 1, _mode, within=True),
)

DERIVED: dict[str, DerivedAggregate] = {f.name: f for f in _SHIPPED}
"""Aggregates that are written with plain ones, by name."""

ALIASES = {
    "countif": "count_if",
    "min_by": "arg_min",
    "max_by": "arg_max",
    "argmin": "arg_min",
    "argmax": "arg_max",
    "first_value": "first",
    "last_value": "last",
    "array_agg": "collect_list",
    "listagg": "string_agg",
    "group_concat": "string_agg",
    "array_unique_agg": "collect_set",
}


def is_grouping(name: str) -> bool:
    """Return whether a call asks which keys of GROUP BY a row's set has.

    >>> is_grouping("GROUPING_ID")
    True
    """
    return name.lower() in ("grouping", "grouping_id")


def derived_aggregate(name: str) -> DerivedAggregate | None:
    """Return what writes an aggregate with others, if it is such a one.

    >>> derived_aggregate("MAX_BY").name
    'arg_max'
    """
    lower = name.lower()
    return DERIVED.get(ALIASES.get(lower, lower))
