"""What state depends on: structural hashes of operators and of queries.

    identity(operator) = hash(operator, parameters, schema, kind of edge, state layout and version,
                              identities of its inputs)

Display text, costs, reasons, where a source is, and orders that may change while a plan runs are
not part of it: fields that are not compared, those marked `NOT_IDENTITY`, and those in `OMITTED`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import Field, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from typing import Any

import pyarrow as pa

from windrow.physical.node import PhysicalNode
from windrow.physical.operators import Op
from windrow.physical.sources import Partials
from windrow.plan.catalog import Relation, Stream
from windrow.plan.expressions import Expr

OMITTED: dict[type, frozenset[str]] = {
    Stream: frozenset({"format", "options", "unread"}),
    Relation: frozenset({"format", "options", "unread"}),
    Partials: frozenset({"leaf"}),
}
"""Fields on which no state depends: where rows come from, and what plans were made of."""

_FIELDS: dict[type[Any], tuple[str, ...]] = {}
"""The names of the fields that identity sees, by class: filled on demand."""


def identities(nodes: Iterable[PhysicalNode]) -> tuple[str, ...]:
    """Return the identity of each node of a plan, which come in an order with inputs first."""
    found: dict[int, str] = {}
    for node in nodes:
        found[id(node)] = digest(_facts(node, [found[id(below)] for below in node.inputs]))
    return tuple(found.values())


def _facts(node: PhysicalNode, inputs: list[str]) -> list[object]:
    layout, kind = node.op.layout, node.kind
    return [
        plain(node.op),
        plain(node.schema),
        None if kind is None else kind.value,
        node.partly_signed,
        None if layout is None else [layout.name, layout.version],
        inputs,
    ]


def digest(facts: object) -> str:
    """Return a short hash of what JSON has."""
    text = json.dumps(facts, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def computed_name(expr: Expr) -> str:
    """Return the name of a column that an operator computes for itself.

    It follows from the structure of its expression: names are part of what state depends on, and
    how an expression is printed is not.
    """
    return f"#{digest(plain(expr))}"


def form_of(op: Op) -> tuple[object, ...]:
    """Return how an operator does its work, whatever its columns: its kind, choices and flags.

    Two operators that compute the same have states that fit each other if they are of one form. An
    operator inside another has a form, too.
    """
    given = [getattr(op, name) for name in _identity_fields(type(op))]
    inner = (form_of(value) for value in given if isinstance(value, Op))
    return type(op), *(value for value in given if _is_choice(value)), *inner


def _is_choice(value: object) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_choice, value))
    return value is None or isinstance(value, Enum | bool)


def plain(value: Any) -> object:
    """Return what identity sees of a value, as what JSON has."""
    match value:
        case Enum():
            return [type(value).__name__, value.name]
        case None | bool() | int() | str():
            return value
        case float() | Decimal() | bytes() | pa.DataType():
            return [type(value).__name__, str(value)]
        case frozenset():
            return ["set", *map(plain, sorted(value))]
        case tuple():
            return list(map(plain, value))
        case _:
            kind = type(value)
            assert is_dataclass(value), f"{kind.__name__} is no data"
            return [kind.__name__, *(plain(getattr(value, n)) for n in _identity_fields(kind))]


def _identity_fields(kind: type[Any]) -> tuple[str, ...]:
    if kind not in _FIELDS:
        _FIELDS[kind] = tuple(f.name for f in fields(kind) if _is_identity(kind, f))
    return _FIELDS[kind]


def _is_identity(kind: type, field: Field[Any]) -> bool:
    omitted = OMITTED.get(kind, frozenset())
    return field.compare and field.metadata.get("identity", True) and field.name not in omitted
