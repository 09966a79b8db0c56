"""Plans as JSON, and back: frozen dataclasses, enums, tuples, expressions, types and schemas.

A document is a list of objects in which each refers to earlier ones by number, so that what two
nodes share is shared again after reading. Values that JSON has stand for themselves; the others are
objects with one key:

    {"r": 7}              object 7 of the document
    {"t": [..]}           a tuple            {"s": [..]}     a frozenset
    {"m": [[k, v], ..]}   a dict             {"e": "Form.FIFO"}
    {"a": "int64"}        an Arrow type      {"d": "1.50"}   a decimal
    {"f": "inf"}          a float without a JSON literal     {"b": ".."}     bytes, as base64

Only classes of the layers that plans are made of are read: a document cannot name others. A user's
own aggregate is a name in a call, and is found by it where the plan is opened.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from importlib import import_module
from typing import Any

import pyarrow as pa

from windrow.core.errors import StateError
from windrow.physical.plan import PhysicalPlan

LAYERS = ("core", "plan", "physical", "optimize")
"""Where classes may come from that a document names."""

VERSION = 1


def plan_to_json(plan: PhysicalPlan) -> str:
    """Return a plan as text."""
    return to_json(plan)


def plan_from_json(text: str) -> PhysicalPlan:
    """Return the plan that `plan_to_json` wrote. Raises `StateError` if the text is none."""
    plan = from_json(text)
    if not isinstance(plan, PhysicalPlan):
        raise StateError("this text is no physical plan", detail="It has something else in it.")
    return plan


def to_json(value: object) -> str:
    """Return a value of plans as text."""
    writer = _PlanWriter()
    root = writer.write(value)
    return json.dumps({"version": VERSION, "objects": writer.objects, "root": root})


def from_json(text: str) -> object:
    """Return the value that `to_json` wrote."""
    try:
        document = json.loads(text)
        if document["version"] != VERSION:
            raise StateError(
                f"this plan was written as version {document['version']}",
                detail=f"This windrow reads version {VERSION}.",
            )
        reader = _PlanReader()
        for entry in document["objects"]:
            reader.read_object(entry)
        return reader.read(document["root"])
    except (ValueError, KeyError, TypeError, AttributeError, ImportError, IndexError) as error:
        raise StateError("this text is no physical plan", detail=str(error)) from error


class _PlanWriter:
    """Writes objects inputs first; each once, however often it is referred to."""

    def __init__(self) -> None:
        self.objects: list[list[Any]] = []
        self.known: dict[int, int] = {}
        self.alive: list[object] = []  # so that no `id` is used twice

    def write(self, value: Any) -> Any:
        match value:
            case Enum():
                return {"e": f"{_name(type(value))}.{value.name}"}
            case None | bool() | int() | str():
                return value
            case float():
                return value if math.isfinite(value) else {"f": str(value)}
            case tuple():
                assert type(value) is tuple, f"{type(value).__name__} is no plain tuple"
                return {"t": [self.write(item) for item in value]}
            case frozenset():
                return {"s": [self.write(item) for item in sorted(value)]}
            case dict():
                return {"m": [[self.write(k), self.write(v)] for k, v in value.items()]}
            case pa.DataType():
                return {"a": type_name(value)}
            case Decimal():
                return {"d": str(value)}
            case bytes():
                return {"b": base64.b64encode(value).decode()}
            case _:
                return {"r": self._object(value)}

    def _object(self, value: Any) -> int:
        """Write an object after all that it refers to; return its number.

        Without recursion: a condition may have hundreds of terms, one inside the other.
        """
        waiting = [value]
        while waiting:
            top = waiting[-1]
            inside = [] if id(top) in self.known else _objects_inside(top)
            unknown = [each for each in inside if id(each) not in self.known]
            if unknown:
                waiting += reversed(unknown)
                continue
            waiting.pop()
            if id(top) not in self.known:
                entry = [_name(type(top))]
                entry += [self.write(getattr(top, f.name)) for f in fields(top) if f.init]
                self.known[id(top)] = len(self.objects)
                self.alive.append(top)
                self.objects.append(entry)
        return self.known[id(value)]


def _objects_inside(value: Any) -> list[Any]:
    """Return the objects that an object's fields hold, by themselves or in containers."""
    assert is_dataclass(value), f"{type(value).__name__} is no data"
    held = [getattr(value, f.name) for f in fields(value) if f.init]
    found = []
    while held:
        match held.pop():
            case tuple() | frozenset() as items:
                held += items
            case dict() as items:
                held += [*items.keys(), *items.values()]
            case Enum():
                pass
            case item if is_dataclass(item):
                found.append(item)
    return found[::-1]


class _PlanReader:
    """Reads objects in the order in which they were written."""

    def __init__(self) -> None:
        self.objects: list[object] = []
        self.classes: dict[str, type[Any]] = {}
        self.kinds: dict[str, Callable[[Any], object]] = {
            "r": self.objects.__getitem__,
            "t": lambda items: tuple(map(self.read, items)),
            "s": lambda items: frozenset(map(self.read, items)),
            "m": lambda items: {self.read(k): self.read(v) for k, v in items},
            "e": self._member,
            "a": type_of_name,
            "d": Decimal,
            "f": float,
            "b": base64.b64decode,
        }

    def read_object(self, entry: list[Any]) -> None:
        name, *values = entry
        kind = self._class(name)
        names = [f.name for f in fields(kind) if f.init]
        given = dict(zip(names, map(self.read, values), strict=True))
        self.objects.append(kind(**given))

    def read(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        ((kind, given),) = value.items()
        return self.kinds[kind](given)

    def _member(self, text: str) -> object:
        name, _, member = text.rpartition(".")
        return self._class(name)[member]

    def _class(self, name: str) -> type[Any]:
        if name not in self.classes:
            module, _, kind = name.partition(":")
            if module.partition(".")[0] not in LAYERS:
                msg = f"{name} is no class of plans"
                raise ValueError(msg)
            self.classes[name] = getattr(import_module(f"windrow.{module}"), kind)
        return self.classes[name]


def _name(kind: type) -> str:
    """Return where a class of plans is, below the package."""
    package, _, module = kind.__module__.partition(".")
    assert package == "windrow", f"{kind.__name__} is no class of plans"
    return f"{module}:{kind.__qualname__}"


def type_name(type_: pa.DataType) -> str:
    """Return an Arrow type as text."""
    text = str(type_)
    try:
        plain = pa.type_for_alias(text) == type_
    except ValueError:
        plain = False
    if plain:
        return text
    return "=" + base64.b64encode(pa.schema([("", type_)]).serialize()).decode()


def type_of_name(text: str) -> pa.DataType:
    """Return the Arrow type that `type_name` wrote."""
    if not text.startswith("="):
        return pa.type_for_alias(text)
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text[1:]))).field(0).type
