"""Expressions made into functions of batches: constants folded, kernels chosen, once.

    a + 1 > b     ─►   gt( add( columns["a"], 1 ), columns["b"] )

After compiling, a batch costs one kernel call a node of the tree and nothing else. Shared
subtrees are not looked for: the optimizer makes columns of them where that pays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.core.types import BOOLEAN
from windrow.operators.buffers import bits_of
from windrow.operators.evaluate import arithmetic, comparison, datetime, logic, text
from windrow.operators.evaluate.arrays import FALSE, Builder, Datum, Kernel, fill_false
from windrow.operators.evaluate.casts import build_cast
from windrow.operators.few import scalar_of
from windrow.plan.expressions import Call, Cast, Column, Expr, Literal
from windrow.plan.functions import FUNCTIONS

Columns: TypeAlias = Mapping[str, pa.Array]
Evaluator: TypeAlias = Callable[[Columns, int], pa.Array]
Predicate: TypeAlias = Callable[[Columns, int], npt.NDArray[np.bool_]]

BUILDERS: dict[str, Builder] = {
    **arithmetic.BUILDERS,
    **comparison.BUILDERS,
    **logic.BUILDERS,
    **text.BUILDERS,
    **datetime.BUILDERS,
}
"""The kernel of each function that a bound expression may call."""


def compile_expr(expr: Expr) -> Evaluator:
    """Return the function from a batch's columns and its number of rows to the values."""
    folded = fold(expr)
    if isinstance(folded, Literal):
        value = scalar(folded)
        return lambda _, rows: pa.repeat(value, rows)
    node = _compile(folded)
    return lambda columns, _: node(columns)


def compile_predicate(expr: Expr) -> Predicate:
    """Return the function from a batch to a mask of the rows where `expr` is true, not NULL."""
    assert expr.type == BOOLEAN, "a predicate is a truth value"
    evaluator = compile_expr(expr)

    def mask(columns: Columns, rows: int) -> npt.NDArray[np.bool_]:
        truth = evaluator(columns, rows)
        if truth.null_count:
            truth = fill_false(truth, FALSE)
        if not rows:
            return np.zeros(0, np.bool_)
        return bits_of(truth.buffers()[1], truth.offset, rows)

    return mask


def evaluate(expr: Expr, columns: Columns, rows: int) -> pa.Array:
    """Return the values of an expression over one batch. To run it again, compile it."""
    return compile_expr(expr)(columns, rows)


def fold(expr: Expr) -> Expr:
    """Return the expression with every constant part replaced by its value.

    >>> from windrow.plan.functions import resolve_call
    >>> fold(resolve_call("add", (Literal(1, pa.int64()), Literal(2, pa.int64()))))
    Literal(value=3, type=DataType(int64))
    """
    match expr:
        case Call("case"):
            return logic.fold_case(tuple(fold(a) for a in expr.args), expr)
        case Call(name, args, type_, nullable):
            return _fold_call(Call(name, tuple(fold(a) for a in args), type_, nullable))
        case Cast(value, type_, nullable):
            inner = fold(value)
            if isinstance(inner, Literal):
                return _fold_constant(build_cast(inner.type, type_), (inner,), type_)
            return Cast(inner, type_, nullable)
        case _:
            return expr


def _fold_call(call: Call) -> Expr:
    literals = tuple(a for a in call.args if isinstance(a, Literal))
    if FUNCTIONS[call.name].strict and any(a.value is None for a in literals):
        return Literal(None, call.type)
    if len(literals) == len(call.args):
        return _fold_constant(BUILDERS[call.name](call), literals, call.type)
    return call


def _fold_constant(kernel: Kernel, args: tuple[Literal, ...], type_: pa.DataType) -> Literal:
    (value,) = kernel(*(pa.repeat(scalar(a), 1) for a in args))
    plain = value.value if hasattr(value, "value") else value.as_py()
    return Literal(plain, type_)


def scalar(literal: Literal) -> pa.Scalar:
    """Return a constant as Arrow holds it."""
    return scalar_of(literal.value, literal.type)


def _compile(expr: Expr) -> Callable[[Columns], Datum]:
    match expr:
        case Column(name):
            return itemgetter(name)
        case Cast(value, type_):
            return _apply(build_cast(value.type, type_), (value,))
        case Call(name, args):
            return _apply(BUILDERS[name](expr), args)
        case Literal():
            value = scalar(expr)
            return lambda _: value


def _apply(kernel: Kernel, args: tuple[Expr, ...]) -> Callable[[Columns], Datum]:
    """Compose a kernel with its arguments; one and two arguments need no tuple built."""
    nodes = tuple(_compile(a) for a in args)
    if len(nodes) == 1:
        (only,) = nodes
        return lambda columns: kernel(only(columns))
    if len(nodes) == 2:
        left, right = nodes
        return lambda columns: kernel(left(columns), right(columns))
    return lambda columns: kernel(*(node(columns) for node in nodes))
