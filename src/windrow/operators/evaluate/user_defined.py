"""Scalar functions written in Python by the user: arrays in, an array out.

    def celsius(fahrenheit):                      # a pyarrow.Array of all rows of a batch
        return pc.divide(pc.subtract(fahrenheit, 32.0), 1.8)

    register_function("celsius", celsius, (pa.float64(),), pa.float64())

A function is called once a batch, not once a row. It must give the same value for the same
arguments: a retraction is computed as its insertion was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow.core.errors import BindError, RunError, WindrowError
from windrow.core.naming import require_text, shown
from windrow.core.types import sql_name
from windrow.operators.evaluate.arrays import Datum, Kernel
from windrow.operators.evaluate.compile import BUILDERS
from windrow.plan.expressions import Call
from windrow.plan.functions import declare_function

Vectorised = Callable[..., Any]
"""Takes a `pyarrow.Array` for each argument and returns as many values: an Arrow or NumPy array,
a pandas Series or a list."""


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A function of the user's, and the types that it takes and gives."""

    function: Vectorised
    arguments: tuple[pa.DataType, ...]
    result: pa.DataType

    def register(self, name: str) -> None:
        """Let queries of this process call it."""
        register_function(name, self.function, self.arguments, self.result)

    @property
    def code(self) -> Vectorised:
        """What is sent to shards, and digested."""
        return self.function


USER_FUNCTIONS: dict[str, UserFunction] = {}
"""The user's functions by name, in lower case."""


def register_function(
    name: str, function: Vectorised, arguments: tuple[pa.DataType, ...], result: pa.DataType
) -> None:
    """Let queries call `name` with arguments of these types."""
    require_text(name, "the name of a function")
    if not callable(function) or isinstance(function, type):
        raise BindError(
            f"a function is something to call, not {shown(function)}",
            hint="Give a function of Arrow arrays, one for each argument.",
        )
    if not isinstance(arguments, tuple | list) or not arguments:
        raise BindError(
            f"the arguments of {name} are a tuple of types, at least one, not {shown(arguments)}",
            hint="Give their types: (pa.int64(),), for example.",
        )
    for type_ in (*arguments, result):
        require_type(name, type_)
    lower = name.lower()
    declare_function(lower, tuple(arguments), result, again=lower in USER_FUNCTIONS)
    USER_FUNCTIONS[lower] = UserFunction(function, tuple(arguments), result)
    BUILDERS[lower] = _build


def require_type(name: str, type_: object) -> None:
    """Refuse what is no type of the language."""
    try:
        sql_name(type_)
    except Exception as error:
        raise BindError(
            f"{name} cannot take or give {shown(type_)}",
            detail="Types are those of columns, as pyarrow has them.",
            hint="For example pa.int64(), pa.float64() or pa.string().",
        ) from error


def _build(call: Call) -> Kernel:
    """Return the kernel of one call: constants become arrays, what comes back is checked."""
    user = USER_FUNCTIONS[call.name]

    def kernel(*datums: Datum) -> pa.Array:
        rows = next(len(d) for d in datums if isinstance(d, pa.Array))
        arrays = (d if isinstance(d, pa.Array) else pa.repeat(d, rows) for d in datums)
        try:
            found = user.function(*arrays)
        except WindrowError:
            raise
        except Exception as error:
            raise RunError(
                f'the function "{call.name}" has failed',
                detail=f"{type(error).__name__}: {error}",
                hint="Let it return None where a value has no result.",
            ) from error
        return _as_array(call, found, rows)

    return kernel


def _as_array(call: Call, found: object, rows: int) -> pa.Array:
    """Return what a function gave as an array of the declared type."""
    try:
        if isinstance(found, pa.ChunkedArray):
            found = found.combine_chunks()
        if isinstance(found, pa.Array):
            made = found if found.type == call.type else found.cast(call.type)
        else:
            made = pa.array(found, call.type, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise RunError(
            f'the function "{call.name}" gave {shown(found)}, which is not {sql_name(call.type)}',
            detail=f"{type(error).__name__}: {error}",
            hint="Let it return an array of the type that it was registered with.",
        ) from error
    if len(made) != rows:
        raise RunError(
            f'the function "{call.name}" gave {len(made)} values for {rows} rows',
            hint="Let it return one value for each row, None for NULL.",
        )
    return made
