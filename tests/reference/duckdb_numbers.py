"""Arithmetic in DuckDB's SQL. Whole numbers are computed in 128 bits, then fitted or NULL."""

from __future__ import annotations

from collections.abc import Callable

from tests.reference.duckdb_casts import moment
from tests.reference.duckdb_types import duckdb_type
from windrow.core.types import TIMESTAMP, is_decimal, is_float
from windrow.plan.expressions import Call, Literal

Renderer = Callable[..., str]


def _huge(sql: str) -> str:
    return f"CAST({sql} AS HUGEINT)"


def _combine(symbol: str) -> Renderer:
    def render(call: Call, a: str, b: str) -> str:
        name = duckdb_type(call.type)
        if call.type == TIMESTAMP:
            return moment(f"{_huge(f'epoch_us({a})')} {symbol} {b}")
        if call.args[0].type == TIMESTAMP:
            return f"({_huge(f'epoch_us({a})')} {symbol} epoch_us({b}))"
        if is_decimal(call.type):
            wide = f"CAST({a} AS DECIMAL(38, {call.args[0].type.scale}))"
            return f"TRY_CAST(TRY({wide} {symbol} {b}) AS {name})"
        if is_float(call.type):
            return f"({a} {symbol} {b})"
        return f"TRY_CAST({_huge(a)} {symbol} {_huge(b)} AS {name})"

    return render


def _intdiv(_: Call, a: str, b: str) -> str:
    a, b = _huge(a), f"nullif({_huge(b)}, 0)"
    return f"TRY_CAST(sign({a}) * sign({b}) * (abs({a}) // abs({b})) AS BIGINT)"


def _mod(call: Call, a: str, b: str) -> str:
    if is_float(call.type):
        finite = f"CASE WHEN isinf({b}) AND NOT isinf({a}) AND NOT isnan({a}) THEN {a}"
        return f"{finite} ELSE {a} % nullif({b}, 0) END"
    if is_decimal(call.type):
        return f"({a} % nullif({b}, 0))"
    return f"({_huge(a)} % nullif({_huge(b)}, 0))"


def _pmod(call: Call, a: str, b: str) -> str:
    rest = _mod(call, a, b)
    again = _mod(call, f"(({rest}) + {b})", b) if is_float(call.type) else f"(({rest}) + {b})"
    return f"CASE WHEN ({rest}) < 0 AND {b} > 0 THEN {again} ELSE {rest} END"


def _neg(call: Call, a: str) -> str:
    if is_float(call.type) or is_decimal(call.type):
        return f"(-{a})"
    return f"TRY_CAST(-{_huge(a)} AS {duckdb_type(call.type)})"


def _abs(call: Call, a: str) -> str:
    if is_float(call.type) or is_decimal(call.type):
        return f"abs({a})"
    return f"TRY_CAST(abs({_huge(a)}) AS {duckdb_type(call.type)})"


def _toward(function: str) -> Renderer:
    return lambda call, a: f"TRY_CAST({function}({a}) AS {duckdb_type(call.type)})"


def _round(call: Call, a: str, _: str) -> str:
    places = call.args[1]
    assert isinstance(places, Literal), "places are constant"
    assert isinstance(places.value, int), "places are whole"
    if is_float(call.type):
        return _round_double(a, places.value)
    if is_decimal(call.type):
        return _round_decimal(call, a, places.value)
    if places.value < -37:
        return f"({a} * 0)"
    step = f"CAST('1{'0' * -places.value}' AS HUGEINT)"
    number = _huge(a)
    rounded = f"((abs({number}) + {step} // 2) // {step} * {step} * sign({number}))"
    return f"TRY_CAST({rounded} AS {duckdb_type(call.type)})"


def _round_double(a: str, places: int) -> str:
    turned = f"round({a} * 1e{places}) / 1e{places}"
    if places < 0:
        turned = f"round({a} / 1e{-places}) * 1e{-places}"
    return f"CASE WHEN isfinite({turned}) THEN {turned} ELSE {a} END"


def _round_decimal(call: Call, a: str, places: int) -> str:
    """Add half a step away from zero, then cut: in whole steps, as text moves no point."""
    source = call.args[0].type
    step = 10 ** (source.scale - places)
    digits = f"CAST(replace(CAST({a} AS VARCHAR), '.', '') AS HUGEINT)"
    steps = f"((abs({digits}) + {step // 2}) // {step}) * sign({digits})"
    if places <= 0:
        return f"TRY_CAST({steps} * {10**-places} AS {duckdb_type(call.type)})"
    unit = f"CAST('0.{'0' * (places - 1)}1' AS DECIMAL({places + 1}, {places}))"
    whole = f"CAST({steps} AS DECIMAL({min(38 - places - 1, 30)}, 0))"
    return f"TRY_CAST({whole} * {unit} AS {duckdb_type(call.type)})"


def _domain(function: str, inside: str) -> Renderer:
    return lambda _, a: f"CASE WHEN {a} {inside} THEN {function}({a}) END"


def _power(_: Call, a: str, b: str) -> str:
    power = f"pow({a}, {b})"
    lost = f"isnan({power}) AND NOT isnan({a}) AND NOT isnan({b})"
    return f"CASE WHEN {lost} THEN NULL ELSE {power} END"


def _shiftleft(call: Call, a: str, bits: str) -> str:
    """Multiply in 128 bits, then fold into the signed range, as the machine's word does."""
    width = call.type.bit_width
    turn, half = f"CAST('{2**width}' AS HUGEINT)", f"CAST('{2 ** (width - 1)}' AS HUGEINT)"
    product = f"({_huge(a)} * (CAST(1 AS HUGEINT) << CAST({bits} & {width - 1} AS INTEGER)))"
    low = f"((({product} % {turn}) + {turn}) % {turn})"
    return f"CASE WHEN {low} >= {half} THEN {low} - {turn} ELSE {low} END"


def _shiftright(call: Call, a: str, bits: str) -> str:
    """Divide by the power of two, rounded down."""
    power = f"(CAST(1 AS HUGEINT) << CAST({bits} & {call.type.bit_width - 1} AS INTEGER))"
    number = _huge(a)
    return f"(({number} - (({number} % {power}) + {power}) % {power}) // {power})"


def _no_sign(a: str) -> str:
    """Return a number, 0.0 where it is -0.0."""
    return f"CASE WHEN {a} = 0 THEN 0.0e0 ELSE {a} END"


def _finite(function: str) -> Renderer:
    return lambda _, a: f"CASE WHEN isfinite({a}) OR isnan({a}) THEN {function}({a}) END"


def _within(function: str, inside: str) -> Renderer:
    """Return a function of numbers that a condition on x lets in; NaN stays NaN."""
    return lambda _, a: (
        f"CASE WHEN isnan({a}) THEN {a} WHEN {inside.replace('x', a)} THEN {function}({a}) END"
    )


def _expm1(_: Call, a: str) -> str:
    """Return e^x - 1: near 0 by its series, where the difference loses all digits."""
    series = f"{a} + {a} * {a} / 2 + {a} * {a} * {a} / 6"
    return f"CASE WHEN abs({a}) < 1e-4 THEN {series} ELSE exp({a}) - 1 END"


def _log1p(_: Call, a: str) -> str:
    series = f"{a} - {a} * {a} / 2 + {a} * {a} * {a} / 3"
    return (
        f"CASE WHEN isnan({a}) THEN {a} WHEN abs({a}) < 1e-4 THEN {series} "
        f"WHEN {a} > -1 THEN ln(1 + {a}) END"
    )


def _hypot(_: Call, a: str, b: str) -> str:
    """Scale by the larger, so that no square overflows; infinite if one side is."""
    big, small = f"greatest(abs({a}), abs({b}))", f"least(abs({a}), abs({b}))"
    missing = f"{a} IS NULL OR {b} IS NULL"
    return (
        f"CASE WHEN {missing} THEN NULL WHEN isinf({a}) OR isinf({b}) THEN 'inf'::DOUBLE "
        f"WHEN {big} = 0 OR isnan({a}) OR isnan({b}) THEN {a} * {a} + {b} * {b} "
        f"ELSE {big} * sqrt(1 + ({small} / {big}) * ({small} / {big})) END"
    )


NUMBERS: dict[str, Renderer] = {
    **{name: _finite(name) for name in ("sin", "cos", "tan")},
    **{name: _within(name, "abs(x) <= 1") for name in ("asin", "acos")},
    **{name: lambda _, a, name=name: f"{name}({a})" for name in ("atan", "sinh", "cosh", "tanh")},
    **{name: lambda _, a, name=name: f"{name}({a})" for name in ("asinh", "cbrt", "degrees")},
    "radians": lambda _, a: f"radians({a})",
    "rint": lambda _, a: f"CASE WHEN isfinite({a}) THEN round_even({a}, 0) ELSE {a} END",
    "acosh": _within("acosh", "x >= 1"),
    "atanh": lambda _, a: (
        f"CASE WHEN isnan({a}) THEN {a} WHEN abs({a}) = 1 THEN {a} / 0.0e0 "
        f"WHEN abs({a}) < 1 THEN atanh({a}) END"
    ),
    "expm1": _expm1,
    "log1p": _log1p,
    "atan2": lambda _, a, b: f"atan2({_no_sign(a)}, {_no_sign(b)})",
    "hypot": _hypot,
    "factorial": lambda _, a: (
        f"CASE WHEN {a} BETWEEN 0 AND 20 THEN factorial(CAST({a} AS INT)) END"
    ),
    "bit_count": lambda _, a: f"bit_count(CAST({a} AS BIGINT))",
    "add": _combine("+"),
    "sub": _combine("-"),
    "mul": _combine("*"),
    "div": lambda _, a, b: f"({a} / nullif({b}, 0))",
    "intdiv": _intdiv,
    "mod": _mod,
    "pmod": _pmod,
    "neg": _neg,
    "abs": _abs,
    "ceil": _toward("ceil"),
    "floor": _toward("floor"),
    "round": _round,
    "sign": lambda _, a: f"CASE WHEN isnan({a}) THEN {a} ELSE sign({a}) END",
    "sqrt": _domain("sqrt", ">= 0"),
    "power": _power,
    "exp": lambda _, a: f"exp({a})",
    "ln": _domain("ln", "> 0"),
    "log10": _domain("log10", "> 0"),
    "log2": _domain("log2", "> 0"),
    "bitand": lambda _, a, b: f"({a} & {b})",
    "bitor": lambda _, a, b: f"({a} | {b})",
    "bitxor": lambda _, a, b: f"xor({a}, {b})",
    "bitnot": lambda _, a: f"(~{a})",
    "shiftleft": _shiftleft,
    "shiftright": _shiftright,
}
