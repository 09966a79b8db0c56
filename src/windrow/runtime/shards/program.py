"""What all shards of a run execute: text, so that it can be sent, kept and compared.

Aggregates and functions of the user's own are part of that text. Their code goes by value, pickled
by who starts the run, so that executors need not have the module that it stands in; what it imports
they must have. State depends on what it does: a changed one is another program.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from windrow.core.errors import StateError
from windrow.language.parse import parse_script
from windrow.language.statements import CreateRelation, CreateStream, Statement
from windrow.optimize.calibration import here
from windrow.optimize.choose_partials import KEYS, RATE
from windrow.optimize.early_costs import EarlyConstants
from windrow.optimize.fold_before_exchange import Folding
from windrow.plan.nodes import Query, Scan, Table, nodes_of
from windrow.plan.session import Session

if TYPE_CHECKING:
    from windrow.physical.plan import PhysicalPlan
    from windrow.runtime.shards.optimized import Forms
import base64
import pickle
import sys

from windrow.runtime.shards.digest import digest_of


@dataclass(frozen=True, slots=True)
class Shipped:
    """An aggregate or a function: its name, its pickled code and types in base64, and a digest."""

    name: str
    code: str
    digest: str

    @classmethod
    def of(cls, name: str, code: Callable[..., object], pickled: bytes) -> Shipped:
        """Return what is registered under a name, which the caller has pickled."""
        return cls(name, base64.b64encode(pickled).decode(), digest_of(code))

    def install(self) -> None:
        """Register it in this process, unless it is registered."""
        from windrow.operators.aggregate.user_defined import REGISTERED  # noqa: PLC0415 - it compiles
        from windrow.operators.evaluate.user_defined import USER_FUNCTIONS  # noqa: PLC0415 - the same

        if self.name in REGISTERED or self.name in USER_FUNCTIONS:
            return
        try:
            found = pickle.loads(base64.b64decode(self.code))
        except Exception as error:
            raise StateError(
                f'"{self.name}" cannot be loaded here',
                detail=f"{type(error).__name__}: {error}. Python is {sys.version.split()[0]}.",
                hint="Install what it imports on every executor, in the Python that has made it.",
            ) from error
        found.register(self.name)


FORMAT = 8
"""Raised with every part that state gets or loses: older state is then refused in words.

``make checkpoints`` then keeps checkpoints of the new format as test fixtures.
"""


Placements = tuple[tuple[str, str, str], ...]
"""Query, names of the inputs that it joins and groups, and which of these it aggregates early."""

Expected = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
"""Of each stream the options that say what to expect of it."""

BEFORE: dict[str, Any] = {"placements": [], "constants": None, "expected": None}
"""What is read where a checkpoint does not say how it was begun: it is refused, but in words."""


@dataclass(frozen=True, slots=True)
class Begun:
    """What a checkpoint was begun with: plans depend on it, and state on plans.

    `placements`: what `auto` has chosen to aggregate early, by the `constants` of a machine and
    what was `expected` of streams. Shards go by the same constants, wherever they are, and what is
    merged, folded or joined in some order by the same expectations; None: by what is at hand.
    """

    placements: Placements
    constants: EarlyConstants | None
    expected: Expected | None

    @classmethod
    def from_plain(cls, read: Mapping[str, Any]) -> Begun:
        """Return what was written as plain values."""
        constants, expected = read["constants"], read["expected"]
        return cls(
            tuple((query, joined, early) for query, joined, early in read["placements"]),
            None if constants is None else EarlyConstants(**constants),
            None
            if expected is None
            else tuple((name, tuple((n, v) for n, v in said)) for name, said in expected),
        )


@dataclass(frozen=True, slots=True)
class Program:
    """A script of declarations and queries, which of its queries run, and on how many shards.

    `aggregates` are those of the user's own that the queries call. `begun`: what choices went by
    when its checkpoint was begun, and go by ever after; None before (`placed`).

    >>> program = Program("", ()).placed()
    >>> Program.from_json(program.to_json()) == program
    True
    """

    script: str
    queries: tuple[str, ...]
    strategy: str = "auto"
    shards: int = 2
    aggregates: tuple[Shipped, ...] = ()
    begun: Begun | None = None

    def __post_init__(self) -> None:
        assert self.shards > 0, "at least one shard works"

    def to_json(self) -> str:
        """Return the program as text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Program:
        """Return the program that `to_json` wrote. Before beginnings were kept, none was early."""
        try:
            read = json.loads(text)
            aggregates = tuple(Shipped(**given) for given in read.get("aggregates", ()))
            head = (read["script"], tuple(read["queries"]), read["strategy"], read["shards"])
            begun = read.get("begun", BEFORE)
            return cls(*head, aggregates, Begun.from_plain(begun) if begun else None)
        except (ValueError, KeyError, TypeError) as error:
            raise StateError("these bytes are no program of windrow") from error

    def bound(self) -> list[Query]:
        """Return the queries' plans, in order."""
        self._install()
        return list(_bound(self))

    def placed(self) -> Program:
        """Return the program with its beginning: the one that it has, or what is best here."""
        if self.begun is not None:
            return self
        self._install()
        return replace(self, begun=_begun(self, here().early))

    def placements_of(self, query: str) -> dict[str, str]:
        """Return what a query aggregates early under `auto`, by the names of what it joins."""
        begun = self.placed().begun
        assert begun is not None, "a program that is placed has begun"
        return {joined: early for name, joined, early in begun.placements if name == query}

    def merged(self) -> list[str]:
        """Return the queries that have tuples merged before they reach a shard."""
        plans = zip(self.queries, self.physical(), strict=True)
        return [name for name, plan in plans if plan.partials]

    def physical(self) -> tuple[PhysicalPlan, ...]:
        """Return the physical plans of the queries, in order."""
        from windrow.runtime.shards.optimized import plans_of  # noqa: PLC0415 - it compiles

        self._install()
        return plans_of(self)

    def plans(self) -> list[str]:
        """Return what state depends on, a query each: not where tuples come from, nor how fast."""
        self._install()
        session = Session()
        for statement in parse_script(self.script):
            session.apply(_without_source(statement), self.script)
        return [repr(session.query(name).root) for name in self.queries]

    def by_stream(self) -> list[str]:
        """Return the relations read whose source is a stream of changes: it decides their ports."""
        nodes = (node for query in self.bound() for node in nodes_of(query.root))
        relations = {node.relation for node in nodes if isinstance(node, Table)}
        return sorted(r.name for r in relations if r.changes_by_stream)

    def joins(self) -> list[str]:
        """Return the form of each join of many inputs: what it stores depends on it."""
        self._install()
        return list(_forms(self).joins)

    def folded(self) -> list[str]:
        """Return the queries of which groups are folded before their rows change shards."""
        self._install()
        return list(_forms(self).folded)

    def folding(self) -> Folding:
        """Return what decides whether groups are folded before their rows change shards."""
        self._install()
        return _folding(self)

    def pace(self) -> int | None:
        """Return how many rows a batch lets go of on a shard, about; None: as many as there are."""
        found = _settings(self)["expiry_pace"]
        return found if isinstance(found, int) else None

    def ticks(self) -> bool:
        """Return whether batches must happen at every trigger, even if nothing arrives."""
        nodes = (node for query in self.bound() for node in nodes_of(query.root))
        streams = {node.stream for node in nodes if isinstance(node, Scan)}
        return self.pace() is not None or any(s.heartbeat is not None for s in streams)

    def _install(self) -> None:
        for aggregate in self.aggregates:
            aggregate.install()

    @property
    def fingerprint(self) -> str:
        """What state depends on: the structure of plans, not their text, costs or reasons."""
        plans = [plan.identity for plan in self.physical()]
        facts = [FORMAT, plans, self.queries, self.strategy, self.shards]
        if self.aggregates:
            facts.append([[a.name, a.digest] for a in self.aggregates])
        if streamed := self.by_stream():
            facts.append({"by stream": streamed})
        if self.ticks():
            facts.append({"ticks": True})
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


@lru_cache(maxsize=16)
def _bound(program: Program) -> tuple[Query, ...]:
    session = _session(program)
    return tuple(session.query(name) for name in program.queries)


@lru_cache(maxsize=16)
def _begun(program: Program, constants: EarlyConstants) -> Begun:
    from windrow.runtime.shards.optimized import begun  # noqa: PLC0415 - it compiles

    return begun(program, Begun((), constants, _expected(program)))


@lru_cache(maxsize=16)
def _folding(program: Program) -> Folding:
    return Folding(str(_settings(program)["partials"]), program.shards)


@lru_cache(maxsize=16)
def _forms(program: Program) -> Forms:
    from windrow.runtime.shards.optimized import forms_of  # noqa: PLC0415 - it compiles

    return forms_of(program)


@lru_cache(maxsize=16)
def _settings(program: Program) -> dict[str, object]:
    return _session(program).settings


def _session(program: Program) -> Session:
    session = Session()
    if program.begun is None or program.begun.expected is None:
        session.execute(program.script)
        return session
    expected = dict(program.begun.expected)
    for statement in parse_script(program.script):
        session.apply(_expecting(statement, expected), program.script)
    return session


def _expected(program: Program) -> Expected:
    streams = (s for s in parse_script(program.script) if isinstance(s, CreateStream))
    return tuple((s.name.lower(), tuple(o for o in s.options if _expects(o))) for s in streams)


def _expecting(
    statement: Statement, expected: Mapping[str, tuple[tuple[str, str], ...]]
) -> Statement:
    """Return a declaration with what was expected of its stream when the checkpoint was begun."""
    if not isinstance(statement, CreateStream) or statement.name.lower() not in expected:
        return statement
    others = tuple(option for option in statement.options if not _expects(option))
    return replace(statement, options=others + expected[statement.name.lower()])


def _expects(option: tuple[str, str]) -> bool:
    return option[0].lower() in (RATE, KEYS)


def _without_source(statement: Statement) -> Statement:
    if isinstance(statement, CreateStream | CreateRelation):
        return replace(statement, format=None, options=())
    return statement
