"""The evaluator on cases worth reading; all the others are in the comparison with DuckDB."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from windrow.core.types import BIGINT, BOOLEAN, DATE, DOUBLE, INTERVAL, STRING, TIMESTAMP
from windrow.operators.evaluate import BUILDERS, compile_expr, compile_predicate, evaluate, fold
from windrow.plan.expressions import Call, Column, Expr, Literal
from windrow.plan.functions import FUNCTIONS, resolve_call, resolve_cast

WIDE = pa.decimal128(38, 2)


def values(name: str, *columns: pa.Array, constants: tuple[Literal, ...] = ()) -> list[object]:
    """Return what a function makes of some columns, followed by constants."""
    refs = tuple(Column(f"c{i}", column.type) for i, column in enumerate(columns))
    bound = resolve_call(name, (*refs, *constants))
    batch = {f"c{i}": column for i, column in enumerate(columns)}
    found: list[object] = evaluate(bound, batch, len(columns[0])).to_pylist()
    return found


def test_every_function_that_can_be_bound_has_a_kernel() -> None:
    sugar = {"log", "nullif", "ifnull", "nvl2", "if", "nanvl", "isnan", "left", "position"}
    sugar |= {"to_date", "to_timestamp", "unix_timestamp", "from_unixtime", "unix_date"}
    sugar |= {"date_from_unix_date", "date_part", "decode", "e", "elt", "nullifzero", "overlay"}
    sugar |= {"pi", "space", "zeroifnull"}
    assert set(BUILDERS) == set(FUNCTIONS) - sugar


def test_overflow_is_null_in_its_row_only() -> None:
    near = pa.array([2**63 - 1, 1, None, -(2**63)])
    assert values("add", near, pa.array([1, 1, 1, 1])) == [None, 2, None, -(2**63) + 1]
    assert values("neg", near) == [-(2**63) + 1, -1, None, None]
    assert values("mul", pa.array([2**62, -1]), pa.array([2, -(2**63)])) == [None, None]


def test_division_by_zero_is_null() -> None:
    assert values("div", pa.array([1, 0]), pa.array([0, 4])) == [None, 0.0]
    assert values("mod", pa.array([7]), pa.array([0])) == [None]


def test_decimals_of_76_digits_are_multiplied_exactly_then_rounded() -> None:
    large = pa.array([Decimal("123456789012345678.91"), Decimal(10) ** 35], WIDE)
    product = Decimal("123456789012345678.91") * Decimal("3.33")
    found = values("mul", large, pa.array([Decimal("3.33"), Decimal("3.33")], WIDE))
    assert found[0] == product.quantize(Decimal("1.0000"))
    assert values("mul", large, large)[1] is None


def test_a_decimal_becomes_the_nearest_double() -> None:
    texts = ["8034.73", "0.1", "99999999999999999.99", "-123456789012345678901234.57"]
    decimals = pa.array([Decimal(t) for t in texts], WIDE)
    found = evaluate(resolve_cast(Column("d", WIDE), DOUBLE), {"d": decimals}, 4)
    assert found.to_pylist() == [float(t) for t in texts]


def test_a_float_as_text_reads_back_as_itself() -> None:
    floats = [1.0, 0.1, 1e20, 1e-7, -0.0, 1.5e300, 123456789.0]
    spelled = evaluate(resolve_cast(Column("x", DOUBLE), STRING), {"x": pa.array(floats)}, 7)
    assert [float(text) for text in spelled.to_pylist()] == floats
    special = pa.array([float("nan"), float("inf"), float("-inf"), 3.0])
    spelled = evaluate(resolve_cast(Column("x", DOUBLE), STRING), {"x": special}, 4)
    assert spelled.to_pylist() == ["NaN", "Infinity", "-Infinity", "3.0"]


def test_nan_equals_itself_and_is_greatest() -> None:
    nan = float("nan")
    left, right = pa.array([nan, nan, 1.0]), pa.array([nan, 1.0, nan])
    assert values("eq", left, right) == [True, False, False]
    assert values("gt", left, right) == [False, True, False]
    assert values("greatest", left, right)[1:] == pytest.approx([nan, nan], nan_ok=True)


def test_in_with_a_null_in_the_list_is_never_false() -> None:
    items = (Literal(1, BIGINT), Literal(None, BIGINT))
    assert values("in", pa.array([1, 2, None]), constants=items) == [True, None, None]


def test_moments_outside_the_calendar_are_null() -> None:
    last = pa.array([253_402_300_799_999_999, 0], TIMESTAMP)
    assert values("add", last, pa.array([1, 1], INTERVAL))[0] is None
    assert values("date_add", pa.array([2_932_896], DATE), pa.array([1])) == [None]


def test_a_column_of_patterns_groups_rows_by_parameter() -> None:
    texts, starts = pa.array(["abc", "abc", None, "xyz"]), pa.array([2, -1, 1, None])
    assert values("substring", texts, starts) == ["bc", "c", None, None]


def test_constants_are_folded_and_a_case_loses_its_dead_branches() -> None:
    column = Column("x", BIGINT)
    one, two = Literal(1, BIGINT), Literal(2, BIGINT)
    three = resolve_call("add", (one, two))
    assert fold(resolve_call("add", (column, three))) == Call(
        "add", (column, Literal(3, BIGINT)), BIGINT
    )
    never = resolve_call("gt", (one, two))
    assert fold(resolve_call("case", (never, one, column))) == column
    assert fold(resolve_call("upper", (Literal(None, STRING),))) == Literal(None, STRING)


def test_a_constant_fills_the_batch() -> None:
    assert evaluate(Literal(7, BIGINT), {}, 3).to_pylist() == [7, 7, 7]
    assert evaluate(Literal(None, STRING), {}, 2).to_pylist() == [None, None]


def test_a_predicate_counts_null_as_false() -> None:
    predicate = compile_predicate(Column("b", BOOLEAN))
    mask = predicate({"b": pa.array([True, None, False])}, 3)
    assert mask.dtype == np.bool_
    assert mask.tolist() == [True, False, False]


def edge_expressions() -> list[Expr]:
    text, number = Column("s", STRING), Column("i", BIGINT)
    return [
        resolve_call("substring", (text, number, number)),
        resolve_call("instr", (text, Literal("a", STRING))),
        resolve_call("split_part", (text, Literal(",", STRING), number)),
        resolve_call("translate", (text, Literal("a", STRING), Literal("b", STRING))),
        resolve_call("add", (number, number)),
        resolve_call("round", (number, Literal(-1, BIGINT))),
        resolve_cast(text, TIMESTAMP),
        resolve_cast(text, pa.decimal128(10, 2)),
        resolve_cast(resolve_cast(number, pa.decimal128(19, 0)), DOUBLE),
    ]


@pytest.mark.parametrize("expr", edge_expressions(), ids=lambda e: getattr(e, "name", "cast"))
def test_empty_batches_slices_and_all_null_batches_are_batches(expr: Expr) -> None:
    run = compile_expr(expr)
    texts, numbers = pa.array(["a,b", None, "xa", "2024-01-01", "7"]), pa.array([1, 2, None, 4, 5])
    whole = run({"s": texts, "i": numbers}, 5)
    part = run({"s": texts.slice(2, 3), "i": numbers.slice(2, 3)}, 3)
    assert part.to_pylist() == whole.to_pylist()[2:]
    assert len(run({"s": texts[:0], "i": numbers[:0]}, 0)) == 0
    nulls = run({"s": pa.nulls(2, STRING), "i": pa.nulls(2, BIGINT)}, 2)
    assert nulls.to_pylist() == [None, None]
