"""Arithmetic: ``+ - * / DIV %``, bits, rounding, powers, and moments moved by intervals.

Results of whole numbers keep the wider type of both sides; what does not fit it is NULL.
Decimals follow Spark: enough digits for every result, cut to 38. ``/`` is DOUBLE always.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa

from windrow.core import types
from windrow.core.errors import BindError
from windrow.plan.expressions import Call, Expr, Literal
from windrow.plan.functions.casts import digits_of
from windrow.plan.functions.signature import (
    FLOATING,
    NUMBER,
    WHOLE,
    Args,
    Function,
    call,
    coerce,
    constant,
    fit,
    partial,
    read_moment,
    simple,
)

SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "intdiv": "DIV", "mod": "%"}

MAX_EXACT_MODULUS = 18
"""Digits of the widest decimals that `mod` divides exactly, in 64-bit integers."""


def _refuse(name: str, left: pa.DataType, right: pa.DataType) -> BindError:
    symbol = SYMBOLS.get(name, name)
    return BindError(
        f"cannot apply {symbol} to {types.sql_name(left)} and {types.sql_name(right)}",
        hint="Write CAST(... AS ...) around one side.",
    )


def _plain(args: Args) -> Args:
    """Give a NULL constant the type of the other side; DOUBLE if both are NULL."""
    left, right = args
    if left.type == types.NULL and right.type == types.NULL:
        return coerce(left, types.DOUBLE), coerce(right, types.DOUBLE)
    if left.type == types.NULL:
        left = coerce(left, types.INTERVAL if types.is_temporal(right.type) else right.type)
    if right.type == types.NULL:
        right = coerce(right, types.INTERVAL if types.is_temporal(left.type) else left.type)
    return left, right


def _numbers(name: str, args: Args) -> Args:
    left, right = args
    if not (types.is_numeric(left.type) and types.is_numeric(right.type)):
        raise _refuse(name, left.type, right.type)
    return args


def _exact(arg: Expr) -> Expr:
    if isinstance(arg, Literal) and isinstance(arg.value, int):
        return coerce(arg, digits_of(arg))
    return coerce(arg, types.as_decimal(arg.type))


def _both_exact(left: pa.DataType, right: pa.DataType) -> bool:
    one_decimal = types.is_decimal(left) or types.is_decimal(right)
    return one_decimal and not (types.is_float(left) or types.is_float(right))


def _numeric(name: str, args: Args, decimals: Callable[[Args], pa.DataType]) -> Expr:
    left, right = _numbers(name, args)
    if _both_exact(left.type, right.type):
        exact = (_exact(left), _exact(right))
        return partial(name, exact, decimals(exact))
    common = types.common_type(left.type, right.type)
    assert common is not None, "numbers have a common type"
    both = (coerce(left, common), coerce(right, common))
    return call(name, both, common) if types.is_float(common) else partial(name, both, common)


def _sum_type(args: Args) -> pa.DataType:
    left, right = args[0].type, args[1].type
    scale = max(left.scale, right.scale)
    whole = max(left.precision - left.scale, right.precision - right.scale)
    return types.decimal(whole + scale + 1, scale)


def _product_type(args: Args) -> pa.DataType:
    left, right = args[0].type, args[1].type
    return types.decimal(left.precision + right.precision + 1, left.scale + right.scale)


def _remainder_type(args: Args) -> pa.DataType:
    common = types.common_type(args[0].type, args[1].type)
    if common is None or common.precision > MAX_EXACT_MODULUS:
        raise BindError(
            f"% of decimals keeps {MAX_EXACT_MODULUS} digits, these need more",
            hint="Write CAST(... AS DOUBLE) or CAST(... AS DECIMAL(18, s)) around them.",
        )
    return common


def _add(args: Args) -> Expr:
    left, right = _plain(args)
    if types.is_temporal(right.type) and not types.is_temporal(left.type):
        left, right = right, left
    if types.is_temporal(left.type):
        return _move("add", left, right)
    if left.type == types.INTERVAL and right.type == types.INTERVAL:
        return partial("add", (left, right), types.INTERVAL)
    return _numeric("add", (left, right), _sum_type)


def _sub(args: Args) -> Expr:
    left, right = (_read_text(a, other) for a, other in (args, args[::-1]))
    left, right = _plain((left, right))
    if types.is_temporal(left.type) and types.is_temporal(right.type):
        return partial(
            "sub", (coerce(left, types.TIMESTAMP), coerce(right, types.TIMESTAMP)), types.INTERVAL
        )
    if types.is_temporal(left.type):
        return _move("sub", left, right)
    if left.type == types.INTERVAL and right.type == types.INTERVAL:
        return partial("sub", (left, right), types.INTERVAL)
    return _numeric("sub", (left, right), _sum_type)


def _read_text(arg: Expr, other: Expr) -> Expr:
    if isinstance(arg, Literal) and arg.type == types.STRING and types.is_temporal(other.type):
        return read_moment(arg, types.TIMESTAMP)
    return arg


def _move(name: str, moment: Expr, by: Expr) -> Expr:
    """Move a moment: by an interval, or a date by whole days."""
    if by.type == types.INTERVAL:
        return partial(name, (coerce(moment, types.TIMESTAMP), by), types.TIMESTAMP)
    if moment.type == types.DATE and types.is_integer(by.type):
        days = {"add": "date_add", "sub": "date_sub"}[name]
        return partial(days, (moment, coerce(by, types.BIGINT)), types.DATE)
    raise _refuse(name, moment.type, by.type)


def _mul(args: Args) -> Expr:
    left, right = _plain(args)
    if right.type == types.INTERVAL:
        left, right = right, left
    if left.type == types.INTERVAL and types.is_integer(right.type):
        return partial("mul", (left, coerce(right, types.BIGINT)), types.INTERVAL)
    return _numeric("mul", (left, right), _product_type)


def _div(args: Args) -> Expr:
    left, right = _numbers("div", _plain(args))
    return partial("div", (coerce(left, types.DOUBLE), coerce(right, types.DOUBLE)), types.DOUBLE)


def _intdiv(args: Args) -> Expr:
    left, right = _plain(args)
    if not (types.is_integer(left.type) and types.is_integer(right.type)):
        raise _refuse("intdiv", left.type, right.type)
    return partial(
        "intdiv", (coerce(left, types.BIGINT), coerce(right, types.BIGINT)), types.BIGINT
    )


def _remainder(name: str) -> Callable[[Args], Expr]:
    def resolve(args: Args) -> Expr:
        bound = _numeric(name, _plain(args), _remainder_type)
        assert isinstance(bound, Call), "arithmetic binds to a call"
        if types.is_decimal(bound.type):
            return partial(name, tuple(coerce(a, bound.type) for a in bound.args), bound.type)
        return partial(name, bound.args, bound.type)

    return resolve


def _neg(args: Args) -> Expr:
    (value,) = args
    if isinstance(value, Literal) and isinstance(value.value, int | float | Decimal):
        negated = -value.value
        if not isinstance(value.value, bool) and negated != 2**63:
            return Literal(negated, value.type)
    if value.type == types.INTERVAL:
        return partial("neg", (value,), types.INTERVAL)
    number = fit("-", value, NUMBER)
    return _partial_if_whole("neg", (number,), number.type)


def _partial_if_whole(name: str, args: Args, type_: pa.DataType) -> Expr:
    return partial(name, args, type_) if types.is_integer(type_) else call(name, args, type_)


def _abs(args: Args) -> Expr:
    number = fit("abs", args[0], NUMBER)
    return _partial_if_whole("abs", (number,), number.type)


def _toward(name: str) -> Callable[[Args], Expr]:
    """Type `ceil` and `floor`: whole numbers stay, decimals lose their scale, floats -> BIGINT."""

    def resolve(args: Args) -> Expr:
        number = fit(name, args[0], NUMBER)
        if types.is_integer(number.type):
            return number
        if types.is_decimal(number.type):
            whole = number.type.precision - number.type.scale + 1
            return call(name, (number,), types.decimal(whole, 0))
        return partial(name, (coerce(number, types.DOUBLE),), types.BIGINT)

    return resolve


def _round(args: Args) -> Expr:
    number = fit("round", args[0], NUMBER)
    places = constant("round", args[1], "the second argument") if len(args) > 1 else None
    if places is None:
        places = Literal(0, pa.int32())
    if not isinstance(places.value, int) or isinstance(places.value, bool):
        raise BindError("round needs a whole number of places", hint="For example ROUND(x, 2).")
    kept = Literal(places.value, pa.int32())
    if types.is_integer(number.type):
        return number if places.value >= 0 else partial("round", (number, kept), number.type)
    if types.is_decimal(number.type):
        return _round_decimal(number, kept)
    return call("round", (coerce(number, types.DOUBLE), kept), types.DOUBLE)


def _round_decimal(number: Expr, places: Literal) -> Expr:
    assert isinstance(places.value, int), "checked by the caller"
    whole = number.type.precision - number.type.scale + 1
    if places.value >= number.type.scale:
        return number
    kept = max(places.value, 0)
    return partial(
        "round", (number, places), types.decimal(max(whole, 1 - places.value) + kept, kept)
    )


def _log(args: Args) -> Expr:
    """``log(x)`` is natural; ``log(base, x)`` is the quotient of two logarithms."""
    logs = tuple(partial("ln", (fit("log", a, FLOATING),), types.DOUBLE) for a in args)
    return logs[0] if len(logs) == 1 else partial("div", (logs[1], logs[0]), types.DOUBLE)


def _bits(name: str) -> Callable[[Args], Expr]:
    def resolve(args: Args) -> Expr:
        for arg in args:
            fit(name, arg, WHOLE)
        common = pa.int32()
        for arg in args:
            common = types.common_type(common, arg.type) or common
        return call(name, tuple(coerce(a, common) for a in args), common)

    return resolve


def _shift(name: str) -> Callable[[Args], Expr]:
    def resolve(args: Args) -> Expr:
        fit(name, args[0], WHOLE)
        kept = types.BIGINT if args[0].type == types.BIGINT else pa.int32()
        return call(name, (coerce(args[0], kept), fit(name, args[1], WHOLE)), kept)

    return resolve


def _real(usage: str, *, total: bool = True) -> Function:
    kinds = (FLOATING,) * (usage.count(",") + 1)
    return simple(usage, kinds, types.DOUBLE, total=total)


def _constant(name: str, value: float) -> Function:
    return Function(name, f"{name}()", 0, 0, lambda _: Literal(value, types.DOUBLE))


FUNCTIONS = (
    Function("add", "a + b", 2, 2, _add),
    Function("sub", "a - b", 2, 2, _sub),
    Function("mul", "a * b", 2, 2, _mul),
    Function("div", "a / b", 2, 2, _div),
    Function("intdiv", "a DIV b", 2, 2, _intdiv),
    Function("mod", "mod(a, b)", 2, 2, _remainder("mod")),
    Function("pmod", "pmod(a, b)", 2, 2, _remainder("pmod")),
    Function("neg", "-a", 1, 1, _neg),
    Function("abs", "abs(x)", 1, 1, _abs),
    Function("ceil", "ceil(x)", 1, 1, _toward("ceil")),
    Function("floor", "floor(x)", 1, 1, _toward("floor")),
    Function("round", "round(x[, places])", 1, 2, _round),
    _real("sign(x)"),
    _real("sqrt(x)", total=False),
    _real("power(x, y)", total=False),
    _real("exp(x)"),
    _real("ln(x)", total=False),
    _real("log10(x)", total=False),
    _real("log2(x)", total=False),
    *(_real(f"{name}(x)", total=False) for name in ("sin", "cos", "tan", "asin", "acos", "atan")),
    *(_real(f"{name}(x)") for name in ("sinh", "cosh", "tanh", "asinh", "cbrt", "expm1", "rint")),
    *(_real(f"{name}(x)", total=False) for name in ("acosh", "atanh", "log1p")),
    _real("degrees(x)"),
    _real("radians(x)"),
    _real("atan2(y, x)"),
    _real("hypot(x, y)"),
    _constant("pi", math.pi),
    _constant("e", math.e),
    simple("factorial(n)", (WHOLE,), types.BIGINT, total=False),
    simple("bit_count(n)", (WHOLE,), pa.int32()),
    Function("log", "log([base, ]x)", 1, 2, _log),
    Function("bitand", "a & b", 2, 2, _bits("bitand")),
    Function("bitor", "a | b", 2, 2, _bits("bitor")),
    Function("bitxor", "a ^ b", 2, 2, _bits("bitxor")),
    Function("bitnot", "~a", 1, 1, _bits("bitnot")),
    Function("shiftleft", "shiftleft(x, bits)", 2, 2, _shift("shiftleft")),
    Function("shiftright", "shiftright(x, bits)", 2, 2, _shift("shiftright")),
)

ALIASES = {
    "pow": "power",
    "ceiling": "ceil",
    "negative": "neg",
    "signum": "sign",
    "try_add": "add",
    "try_subtract": "sub",
    "try_multiply": "mul",
    "try_divide": "div",
    "try_mod": "mod",
}
