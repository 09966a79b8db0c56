"""Small decisions of a query's writer, and what they are about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.generate.expressions import Below, Col, chance, choose, expression
from tests.generate.grammar import Grammar


@dataclass(frozen=True, slots=True)
class Source:
    """One item of FROM: its text, its alias and columns."""

    text: str
    alias: str
    columns: tuple[Col, ...]
    kind: str  # "stream", "query", "relation" or "nrr"


@dataclass(frozen=True, slots=True)
class Ask:
    """What a body must be like.

    `sorts`: those of its columns. `windowable`: its insertions may be windowed, so nothing in it
    replaces or contradicts a result. `internal`: its windows may be INTERNAL. `negation`: it may
    hold one. `named`: columns have the names c1, c2, ... `order`: it may be ordered and cut.
    `aggregated`: it must be. `written`: all its streams have windows, as it is joined or looked
    into. `relations`: it may read nothing but a relation, so that nothing tells its clock.
    """

    sorts: tuple[str, ...] | None = None
    windowable: bool = False
    internal: bool = True
    negation: bool = True
    named: bool = True
    order: bool = True
    aggregated: bool = False
    written: bool = False
    relations: bool = False


@dataclass(slots=True)
class Choices:
    """Draws decisions under a grammar. The first option of each is what it shrinks to."""

    below: Below
    grammar: Grammar
    taken: dict[str, int] = field(default_factory=dict)

    def chance(self, tenths: int) -> bool:
        """Draw True in about `tenths` of ten cases; shrinks to False."""
        return chance(self.below, tenths)

    def wants(self, tenths: int) -> bool:
        """Choose whether to use a construct: mostly so in an eager grammar."""
        return self.chance(8 if self.grammar.eager else tenths)

    def pick(self, options: Sequence[object]) -> str:
        """Draw one of the options, as text."""
        return str(choose(self.below, options))

    def some(self, options: Sequence[str], least: int, most: int) -> list[str]:
        """Draw a few of the options, repeats allowed."""
        count = least + self.below(most - least + 1)
        return [choose(self.below, options) for _ in range(count)]

    def few_more(self) -> int:
        """Draw how many more there are: none, mostly."""
        return choose(self.below, [0, 0, 0, 1, 1, 2])

    def has(self, operator: str) -> bool:
        """Tell whether the grammar has an operator."""
        return operator in self.grammar.operators

    def offered(self, *operators: str) -> list[str]:
        """Those of the operators that the grammar has."""
        return [operator for operator in operators if self.has(operator)]

    def alias(self, name: str) -> str:
        """A name that no other source of the query has: the wanted one, or it with a number."""
        self.taken[name] = self.taken.get(name, 0) + 1
        return name if self.taken[name] == 1 and name != "q" else f"{name}{self.taken[name]}"

    def condition(self, columns: Sequence[Col]) -> str:
        """Draw a condition that can stand between ANDs."""
        text = expression(self.below, columns, "bool", choose(self.below, [0, 0, 1]))
        return f"({text})" if " OR " in text or " AND " in text else text

    def side(self, columns: Sequence[Col], sort: str) -> str:
        """Draw one side of a comparison: a column, or rarely more."""
        found = of_sort(columns, sort)
        if not found or self.chance(1):
            text = expression(self.below, columns, sort)
            return f"({text})" if " " in text else text
        return found[0] if self.chance(6) else self.pick(found)

    def tie(self, left: Sequence[Col], right: Sequence[Col], kind: str) -> str:
        """Draw an equality of two sides ("join"), or another comparison ("theta")."""
        shared = [
            s for s in ("int", "int", "text", "real") if of_sort(left, s) and of_sort(right, s)
        ]
        sort = self.pick(shared or ["int"])
        operator = "=" if kind == "join" else self.pick(["<", "<=", "<>", ">"])
        return f"{self.side(left, sort)} {operator} {self.side(right, sort)}"


def of_sort(columns: Sequence[Col], sort: str) -> list[str]:
    """The texts of the columns of a sort."""
    return [c.text for c in columns if c.sort == sort]


def where(terms: Sequence[str]) -> str:
    """Write a WHERE clause of all terms, if there are any."""
    return f" WHERE {' AND '.join(terms)}" if terms else ""
