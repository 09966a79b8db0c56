"""What a user's class or function does, in a digest: another one may not go on with its state.

    class ─► its bases ─► methods, attributes ─► constants, defaults, closures
                                   └─► what its modules have under the names in the code

Methods are taken as compiled, so comments, blanks and places do not matter, and nothing is read
from files. It is followed through the modules that the class and its bases stand in; what these
import is known by its name. Values are those of when the digest is made.
"""

from __future__ import annotations

import dis
import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from types import CellType, CodeType, FunctionType, MethodType, ModuleType

UNSAID = {
    "__annotations__",
    "__dict__",
    "__doc__",
    "__firstlineno__",
    "__module__",
    "__qualname__",
    "__static_attributes__",
    "__weakref__",
}
"""What Python notes of a class, beside what it does."""

LOOKUPS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}


def digest_of(code: Callable[..., object]) -> str:
    """Return a digest of what a class or a function does; the same in every process of a Python."""
    bases = code.__mro__ if isinstance(code, type) else ()
    modules = {c.__module__ for c in bases if not _is_standard(c)}
    said = _Description(frozenset(modules | {code.__module__})).of(code)
    return hashlib.sha256(repr(said).encode()).hexdigest()[:16]


def _is_standard(found: type) -> bool:
    return found.__module__.partition(".")[0] in sys.stdlib_module_names


class _Description:
    """Describes objects by nested tuples of text. One that was met before is its number."""

    def __init__(self, modules: frozenset[str]) -> None:
        self.modules = modules
        self.met: dict[int, int] = {}

    def of(self, thing: object) -> object:
        """Return the description of one object."""
        match thing:
            case None | bool() | int() | float() | complex() | str() | bytes():
                return type(thing).__name__, repr(thing)
            case tuple():
                return type(thing).__name__, *map(self.of, thing)
            case set() | frozenset():
                return type(thing).__name__, *sorted(repr(self.of(each)) for each in thing)
            case CodeType():
                return self._code(thing)
            case CellType():
                return self._cell(thing)
        if id(thing) in self.met:
            return "again", self.met[id(thing)]
        self.met[id(thing)] = len(self.met)
        return self._met_first(thing)

    def _met_first(self, thing: object) -> object:
        match thing:
            case list():
                return "list", *map(self.of, thing)
            case dict():
                return "dict", *((self.of(k), self.of(v)) for k, v in thing.items())
            case type():
                return self._class(thing)
            case FunctionType():
                return self._function(thing)
            case ModuleType():
                return "module", thing.__name__
        parts = tuple(_parts(thing))
        if parts:
            return type(thing).__name__, *map(self.of, parts)
        return self._object(thing)

    def _class(self, found: type) -> object:
        if found.__module__ not in self.modules:
            return "class", found.__module__, found.__qualname__
        bases = tuple(self.of(base) for base in found.__mro__[1:-1])
        return "class", found.__name__, bases, self._named(vars(found))

    def _named(self, values: Mapping[str, object]) -> object:
        return tuple((name, self.of(values[name])) for name in sorted({*values} - UNSAID))

    def _function(self, function: FunctionType) -> object:
        if function.__globals__.get("__name__", "builtins") not in self.modules:
            return "function", function.__module__, function.__qualname__
        given = (function.__defaults__, function.__kwdefaults__, function.__closure__)
        space = function.__globals__
        used = {name: space[name] for name in _names(function.__code__) if name in space}
        return "function", self.of(function.__code__), *map(self.of, given), self._named(used)

    def _code(self, code: CodeType) -> object:
        takes = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        does = (code.co_code.hex(), code.co_exceptiontable.hex())
        return takes, names, does, self.of(code.co_consts)

    def _cell(self, cell: CellType) -> object:
        try:
            held = cell.cell_contents
        except ValueError:  # not yet filled
            return "empty"
        return self.of(held)

    def _object(self, thing: object) -> object:
        """Describe an object: the attributes if its class is in `modules`, else its repr."""
        kind = type(thing)
        if kind.__module__ in self.modules and hasattr(thing, "__dict__"):
            return "object", self.of(kind), self._named(vars(thing))
        said = repr(thing)
        if said.startswith("<") or " at 0x" in said:  # an address is another in each process
            said = f"{getattr(thing, '__module__', '')} {getattr(thing, '__name__', '')}"
        return "object", kind.__module__, kind.__qualname__, said


def _parts(thing: object) -> Iterator[object]:
    """Yield what a wrapper of functions consists of; nothing if it is none."""
    match thing:
        case staticmethod() | classmethod():
            yield thing.__func__
        case property():
            yield from (thing.fget, thing.fset, thing.fdel)
        case cached_property():
            yield thing.func
        case partial():
            yield from (thing.func, thing.args, thing.keywords)
        case MethodType():
            yield from (thing.__func__, thing.__self__)
        case _ if hasattr(thing, "__wrapped__"):
            yield thing.__wrapped__


def _names(code: CodeType) -> set[str]:
    """Return the names that code, and the code in it, looks up in its module.

    `co_names` has those of attributes too: they would bring in things that only bear their names.
    """
    own = {str(i.argval) for i in dis.get_instructions(code) if i.opname in LOOKUPS}
    inner = (_names(each) for each in code.co_consts if isinstance(each, CodeType))
    return own.union(*inner)
