"""The catalogue types calls, converts arguments where nothing is lost, and refuses the rest."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from windrow.core.errors import BindError
from windrow.core.types import BIGINT, BOOLEAN, DATE, DOUBLE, INTERVAL, NULL, STRING, TIMESTAMP
from windrow.plan.expressions import Call, Cast, Column, Expr, Literal
from windrow.plan.functions import (
    AGGREGATES,
    FUNCTIONS,
    Fold,
    is_aggregate,
    resolve_aggregate,
    resolve_call,
    resolve_cast,
)

INT = pa.int32()
COLUMNS = {
    "i": Column("i", INT, nullable=False),
    "l": Column("l", BIGINT),
    "x": Column("x", DOUBLE, nullable=False),
    "d": Column("d", pa.decimal128(10, 2)),
    "s": Column("s", STRING, nullable=False),
    "b": Column("b", BOOLEAN),
    "day": Column("day", DATE),
    "ts": Column("ts", TIMESTAMP, nullable=False),
    "iv": Column("iv", INTERVAL),
    "list": Column("list", pa.list_(STRING)),
}


def const(value: object) -> Literal:
    if isinstance(value, int) and not isinstance(value, bool):
        return Literal(value, INT)
    return Literal(value, NULL if value is None else pa.scalar(value).type)


def call(name: str, *args: object) -> Expr:
    exprs = (COLUMNS[a] if isinstance(a, str) else a for a in args)
    return resolve_call(
        name, tuple(a if isinstance(a, Column | Literal | Call) else const(a) for a in exprs)
    )


@pytest.mark.parametrize(
    "name, args, type_",
    [
        ("add", ("i", "l"), BIGINT),
        ("add", ("i", "x"), DOUBLE),
        ("add", ("d", 1), pa.decimal128(11, 2)),
        ("mul", ("d", "d"), pa.decimal128(21, 4)),
        ("div", ("d", "d"), DOUBLE),
        ("intdiv", ("i", "i"), BIGINT),
        ("sub", ("ts", "ts"), INTERVAL),
        ("sub", ("day", "day"), INTERVAL),
        ("add", ("ts", "iv"), TIMESTAMP),
        ("add", ("day", "iv"), TIMESTAMP),
        ("add", ("day", "i"), DATE),
        ("add", ("i", "day"), DATE),
        ("mul", ("iv", "i"), INTERVAL),
        ("case", ("b", "i", "x"), DOUBLE),
        ("coalesce", ("day", "ts"), TIMESTAMP),
        ("round", ("d", 1), pa.decimal128(10, 1)),
        ("ceil", ("x",), BIGINT),
        ("ceil", ("d",), pa.decimal128(9, 0)),
        ("length", ("s",), INT),
        ("YEAR", ("ts",), INT),
        ("substr", ("s", 2), STRING),
    ],
)
def test_a_call_has_its_type(name: str, args: tuple[object, ...], type_: pa.DataType) -> None:
    assert call(name, *args).type == type_


def test_numbers_are_widened_by_casts_and_constants_at_once() -> None:
    bound = call("add", "i", Literal(1, BIGINT))
    assert isinstance(bound, Call)
    assert bound.args == (Cast(COLUMNS["i"], BIGINT, nullable=False), Literal(1, BIGINT))


def test_a_text_constant_beside_a_timestamp_is_read_as_one() -> None:
    bound = call("ge", "ts", Literal("1970-01-01T00:00:01+01:00", STRING))
    assert isinstance(bound, Call)
    assert bound.args[1] == Literal(1_000_000 - 3_600_000_000, TIMESTAMP)


def test_a_date_is_compared_with_a_day_as_a_date_and_with_a_time_as_a_timestamp() -> None:
    by_day = call("lt", "day", Literal("2024-02-29", STRING))
    by_time = call("lt", "day", Literal("2024-02-29 12:00", STRING))
    assert isinstance(by_day, Call)
    assert isinstance(by_time, Call)
    assert by_day.args[1].type == DATE
    assert by_time.args[0].type == TIMESTAMP


def test_null_takes_the_type_of_the_other_side() -> None:
    bound = call("eq", "s", None)
    assert isinstance(bound, Call)
    assert bound.args[1] == Literal(None, STRING)


def test_and_of_many_is_a_chain_of_two() -> None:
    bound = call("and", "b", "b", "b")
    assert isinstance(bound, Call)
    assert isinstance(bound.args[0], Call)
    assert len(bound.args) == len(bound.args[0].args) == 2


@pytest.mark.parametrize(
    "name, args, nullable",
    [
        ("upper", ("s",), False),
        ("add", ("x", "x"), False),
        ("add", ("i", "i"), True),  # may overflow
        ("div", ("x", "x"), True),  # may divide by zero
        ("eq_null_safe", ("l", "l"), False),
        ("coalesce", ("l", 1), False),
        ("case", ("b", "s"), True),
        ("case", ("b", "s", "s"), False),
        ("concat_ws", ("s", "s"), False),
    ],
)
def test_nullability_is_known(name: str, args: tuple[object, ...], nullable: bool) -> None:
    assert call(name, *args).nullable is nullable


@pytest.mark.parametrize(
    "name, args, message, hint",
    [
        ("cuont", ("s",), 'unknown function "cuont"', 'Did you mean "count"?'),
        ("eq", ("s", "l"), "cannot compare STRING with BIGINT", "CAST("),
        ("add", ("s", "l"), "cannot apply + to STRING and BIGINT", "CAST("),
        ("upper", ("l",), "upper needs text, not BIGINT", "CAST(... AS STRING)"),
        ("substring", ("s",), "substring does not take 1 argument", "start[, length]"),
        ("eq", ("ts", Literal("soon", STRING)), "'soon' is not a TIMESTAMP", "2024-02-29"),
        ("case", ("b", "s", "i"), "one value cannot be both STRING and INT", "CAST("),
        ("not", ("i",), "NOT needs a truth value, not INT", "CAST("),
        ("rlike", ("s", Literal("(a", STRING)), "'(a' is not a regular expression", "RE2"),
        ("like", ("s", "s"), "the pattern of like must be a constant", ""),
        ("date_format", ("ts", Literal("EEEE", STRING)), "does not know 'EEEE'", "yyyy"),
        ("date_trunc", (Literal("eon", STRING), "ts"), "date_trunc knows no unit 'eon'", "year"),
        ("eq", ("list", "list"), "values of type ARRAY<STRING> cannot be compared", ""),
        ("sum", ("i",), 'aggregate function "sum" cannot be used here', "SELECT"),
        ("regexp_extract", ("s", Literal("(a)", STRING), 2), "has no group 2", ""),
    ],
)
def test_what_does_not_fit_is_refused_with_a_reason(
    name: str, args: tuple[object, ...], message: str, hint: str
) -> None:
    with pytest.raises(BindError) as refusal:
        call(name, *args)
    assert message in refusal.value.message
    assert hint in refusal.value.hint


def test_a_cast_without_meaning_is_refused() -> None:
    with pytest.raises(BindError, match="BOOLEAN cannot be cast to TIMESTAMP"):
        resolve_cast(COLUMNS["b"], TIMESTAMP)


def test_a_cast_of_a_constant_is_done_at_once() -> None:
    assert resolve_cast(Literal("1970-01-02", STRING), DATE) == Literal(1, DATE)
    assert resolve_cast(Literal(2, INT), pa.decimal128(5, 1)) == Literal(
        Decimal(2), pa.decimal128(5, 1)
    )


@pytest.mark.parametrize(
    "name, args, type_, nullable",
    [
        ("count", (), BIGINT, False),
        ("SUM", ("i",), BIGINT, True),
        ("sum", ("d",), pa.decimal128(38, 2), True),
        ("sum", ("x",), DOUBLE, True),
        ("avg", ("d",), DOUBLE, True),
        ("max", ("ts",), TIMESTAMP, True),
        ("variance", ("i",), DOUBLE, True),
        ("percentile", ("l", 0.9), DOUBLE, True),
        ("topk", ("s", 3), pa.list_(STRING), True),
        ("approx_count_distinct", ("s",), BIGINT, False),
        ("every", ("b",), BOOLEAN, True),
    ],
)
def test_an_aggregate_has_its_type(
    name: str, args: tuple[object, ...], type_: pa.DataType, nullable: bool
) -> None:
    exprs = tuple(COLUMNS[a] if isinstance(a, str) else const(a) for a in args)
    assert resolve_aggregate(name, exprs, distinct=False)[1:] == (type_, nullable)


@pytest.mark.parametrize(
    "name, args, message",
    [
        ("sum", ("s",), "sum needs a number, not STRING"),
        ("quantile", ("x", 1.5), "must be between 0 and 1"),
        ("topk", ("s", 0), "must be a positive whole number"),
        ("topk", ("s", "i"), "must be a constant"),
        ("max", ("list",), "needs values that have an order"),
        ("avg", (), "avg does not take 0 arguments"),
    ],
)
def test_an_aggregate_refuses_what_does_not_fit(
    name: str, args: tuple[object, ...], message: str
) -> None:
    exprs = tuple(COLUMNS[a] if isinstance(a, str) else const(a) for a in args)
    with pytest.raises(BindError, match=message):
        resolve_aggregate(name, exprs, distinct=False)


def test_distinct_is_refused_where_it_means_nothing() -> None:
    with pytest.raises(BindError, match="DISTINCT"):
        resolve_aggregate("count", (), distinct=True)


def test_names_of_aggregates_and_functions_do_not_meet() -> None:
    assert not set(AGGREGATES) & set(FUNCTIONS)
    assert is_aggregate("Stddev")
    assert not is_aggregate("upper")


def test_subtractable_aggregates_are_distributive_or_made_of_such() -> None:
    """Thesis §2.3.4: SUM and COUNT can be taken apart, MIN and MAX cannot."""
    folds = {f.name: f.fold for f in AGGREGATES.values() if f.subtractable}
    assert {"count", "sum", "avg"} <= set(folds)
    assert Fold.HOLISTIC not in folds.values()
    assert not AGGREGATES["min"].subtractable
    assert not AGGREGATES["min"].duplicate_sensitive
