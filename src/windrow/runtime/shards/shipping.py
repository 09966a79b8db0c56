"""Aggregates of the user's own on their way to the shards: as text in the program.

The class goes by value, pickled by who starts the run, so that executors need not have the module
that it stands in; what it imports they must have. State depends on what it does: a changed one is
another program.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import inspect
import pickle
import sys
import textwrap
from dataclasses import dataclass
from types import CodeType

from windrow.core.errors import StateError


@dataclass(frozen=True, slots=True)
class Shipped:
    """An aggregate: its name, its pickled class and types in base64, and a digest of its source."""

    name: str
    code: str
    digest: str

    @classmethod
    def of(cls, name: str, aggregate: type, pickled: bytes) -> Shipped:
        """Return a registered aggregate, which the caller has pickled."""
        return cls(name, base64.b64encode(pickled).decode(), digest_of(aggregate))

    def install(self) -> None:
        """Let queries of this process call it, unless they can already."""
        from windrow.operators.aggregate.user_defined import (  # noqa: PLC0415 - it compiles
            REGISTERED,
            register_aggregate,
        )

        if self.name in REGISTERED:
            return
        try:
            found = pickle.loads(base64.b64decode(self.code))
        except Exception as error:
            raise StateError(
                f'the aggregate "{self.name}" cannot be loaded here',
                detail=f"{type(error).__name__}: {error}. Python is {sys.version.split()[0]}.",
                hint="Install what it imports on every executor, in the Python that has made it.",
            ) from error
        register_aggregate(self.name, found.aggregate, found.arguments, found.result)


def digest_of(aggregate: type) -> str:
    """Return a digest of what a class does: of its source, however it is laid out.

    Where there is no source to be had (a notebook of some sort), of its compiled methods.
    """
    try:
        said = ast.dump(ast.parse(textwrap.dedent(inspect.getsource(aggregate))))
    except (OSError, TypeError, SyntaxError):
        methods = {n: getattr(m, "__code__", None) for n, m in vars(aggregate).items()}
        said = repr([(n, _compiled(code)) for n, code in sorted(methods.items()) if code])
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _compiled(code: CodeType) -> tuple[object, ...]:
    inner = [_compiled(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return code.co_code.hex(), code.co_names, inner
