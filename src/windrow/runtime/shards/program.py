"""What all shards of a run execute: text, so that it can be sent, kept and compared."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace

from windrow.core.errors import StateError
from windrow.language.parse import parse_script
from windrow.language.statements import CreateRelation, CreateStream, Statement
from windrow.plan.nodes import Query
from windrow.plan.session import Session

FORMAT = 1
"""Raised when the same program would no longer find its way in older state."""


@dataclass(frozen=True, slots=True)
class Program:
    """A script of declarations and queries, which of its queries run, and on how many shards.

    >>> Program.from_json(Program("", ("q",)).to_json())
    Program(script='', queries=('q',), strategy='auto', shards=2)
    """

    script: str
    queries: tuple[str, ...]
    strategy: str = "auto"
    shards: int = 2

    def __post_init__(self) -> None:
        assert self.shards > 0, "at least one shard works"

    def to_json(self) -> str:
        """Return the program as text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Program:
        """Return the program that `to_json` wrote."""
        try:
            read = json.loads(text)
            return cls(read["script"], tuple(read["queries"]), read["strategy"], read["shards"])
        except (ValueError, KeyError, TypeError) as error:
            raise StateError("these bytes are no program of windrow") from error

    def bound(self) -> list[Query]:
        """Return the queries' plans, in order."""
        session = Session()
        session.execute(self.script)
        return [session.query(name) for name in self.queries]

    def plans(self) -> list[str]:
        """Return what state depends on, a query each: not where tuples come from, nor how fast."""
        session = Session()
        for statement in parse_script(self.script):
            session.apply(_without_source(statement), self.script)
        return [repr(session.query(name).root) for name in self.queries]

    @property
    def fingerprint(self) -> str:
        """What state depends on: the plans, not how the script is laid out."""
        facts = json.dumps([FORMAT, self.plans(), self.queries, self.strategy, self.shards])
        return hashlib.sha256(facts.encode()).hexdigest()[:16]


def _without_source(statement: Statement) -> Statement:
    if isinstance(statement, CreateStream | CreateRelation):
        return replace(statement, format=None, options=())
    return statement
