"""An experiment: a question, a claim that can fail, factors, an answer checked before the clock.

    for each block of levels:   prepare every contestant
        warm-ups, then repeats:     each contestant by turns  ─► measure ─► answer right?
    medians and spreads  ─► findings  ─► verdict (`verdict.py`)

What else the machine does meets all contestants of a block alike.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import dedent
from typing import ClassVar, Generic, TypeVar

from windrow_lab.contest.measurement import Measurement
from windrow_lab.experiments.library.table import Level, Levels, Table
from windrow_lab.experiments.library.verdict import Finding

CaseT = TypeVar("CaseT")


@dataclass(frozen=True, slots=True)
class Options:
    """What the user chose: the paper's size or a smaller one, and what stands in for defaults."""

    full: bool = False
    repeats: int | None = None
    seed: int | None = None
    trace: str = "lbl"


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture of a figure: `y` over `x`, a line or a set of points for each level of `by`.

    `x` and `y` name a factor or a measure. `label` names what each point is called, for points.
    """

    x: str
    y: str
    by: str
    title: str
    x_label: str
    y_label: str
    log_x: bool = True
    log_y: bool = True
    points: bool = False
    label: str = ""


@dataclass(frozen=True, slots=True)
class Words:
    """An experiment's docstring, taken apart."""

    question: str
    claim: str
    refuted: str
    source: str


class Experiment(ABC, Generic[CaseT]):
    """Base of all experiments; the docstring holds question, Claim, Refuted and Source.

    `turns` names the factor whose levels are contestants: measured by turns in one block; those of
    the factors `together` are in the block as well, where claims compare them, too.
    `full` replaces levels of `factors` at the paper's size. `missing` names levels of the paper
    that windrow cannot run, with the reason. What a paper claims of them is a finding that waits;
    what is measured in their place is a claim of ours, and marked so.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    figures: ClassVar[str]
    factors: ClassVar[Mapping[str, tuple[Level, ...]]]
    full: ClassVar[Mapping[str, tuple[Level, ...]]] = {}
    turns: ClassVar[str]
    together: ClassVar[tuple[str, ...]] = ()
    panels: ClassVar[tuple[Panel, ...]]
    missing: ClassVar[Mapping[str, str]] = {}
    traces: ClassVar[tuple[str, ...]] = ()
    warmups: int = 1
    repeats: int = 5
    seed: int = 7

    def __init__(self, options: Options | None = None) -> None:
        self.options = options or Options()
        self.repeats = self.options.repeats or self.repeats
        self.seed = self.seed if self.options.seed is None else self.options.seed

    @property
    def folder(self) -> str:
        """Return the name of the folder of its results: another trace has one of its own."""
        usual = self.options.trace == Options().trace
        return self.name if usual else f"{self.name}-{self.options.trace}"

    @classmethod
    def words(cls) -> Words:
        """Return question, claim, refutation and source, as the docstring has them."""
        return read_words(cls.__doc__ or "")

    def levels(self) -> dict[str, tuple[Level, ...]]:
        """Return each factor's levels at the chosen size."""
        chosen = dict(self.factors)
        return {**chosen, **self.full} if self.options.full else chosen

    @property
    def set_up(self) -> str:
        """Return what was run, on what, in sentences."""
        return ""

    @abstractmethod
    def prepare(self, levels: Levels) -> CaseT:
        """Return a case ready to be measured: what this does is not timed."""

    @abstractmethod
    def measure(self, case: CaseT) -> Measurement:
        """Run a case once, check its answer, return what was seen."""

    def close(self, case: CaseT) -> None:
        """Let go of what a case holds."""

    @abstractmethod
    def findings(self, table: Table) -> list[Finding]:
        """Return the parts of the claim, each with what the numbers say of it."""


def read_words(doc: str) -> Words:
    """Take a docstring apart: its first line, and the paragraphs that begin with a word.

    >>> read_words('''Is it fast?
    ...
    ...     Claim    yes,
    ...              very.
    ...     Refuted  if not.
    ...     Source   [X 1].
    ...     ''').claim
    'yes, very.'
    """
    first, _, rest = doc.partition("\n")
    found: dict[str, list[str]] = {}
    part: list[str] = []
    for line in dedent(rest).splitlines():
        begun = re.match(r"(Claim|Refuted|Source)\s+(.*)", line)
        if begun:
            part = found.setdefault(begun[1], [])
            part.append(begun[2])
        elif line.startswith(" "):
            part.append(line.strip())
    said = {name: " ".join(lines) for name, lines in found.items()}
    return Words(first.strip(), said["Claim"], said["Refuted"], said["Source"])
