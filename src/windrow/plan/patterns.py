"""Update patterns: how the tuples of a node's answer leave it [THESIS 3.2, 3.5.1].

    MON  monotonic            they never expire
    WKS  weakest non-mon.     each lives equally long: first in, first out
    WK   weak non-monotonic   the end of each is known on its arrival, in any order
    STR  strict               the end of some depends on what arrives later

What the engine relies on: below a STR edge nobody needs negative tuples. `pattern_of` labels
an edge by the rules of THESIS 3.5.1, with three corrections, each of
which `test_patterns_are_true` has a witness stream for:

  a. a merge-union of windows of *different* lengths is WK (rule 2 says WKS);
  b. a join with one expiring input is WK (3.3.2 says WKS): a new tuple of the unbounded side
     may join an old one of the window, and expires before results that were made earlier;
  c. a SLIDE that does not divide the window gives WK: lifetimes differ by one slide.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from windrow.plan import nodes
from windrow.plan.windows import PartitionRows, Range, Rows, Since, Unbounded, Until


class PatternKind(Enum):
    """The four patterns, simplest first."""

    MON = "MON"
    WKS = "WKS"
    WK = "WK"
    STR = "STR"


@dataclass(frozen=True, slots=True)
class Pattern:
    """The pattern of an edge, and why. `lifetime` is that of every tuple of a WKS edge."""

    kind: PatternKind
    reason: str
    lifetime: int | None = None

    def __post_init__(self) -> None:
        assert (self.kind is PatternKind.WKS) == (self.lifetime is not None), (
            "exactly a WKS edge has one lifetime"
        )

    @property
    def predictable(self) -> bool:
        """Return whether each tuple's end is known on its arrival: no negative tuples needed."""
        return self.kind is not PatternKind.STR


def monotonic(reason: str) -> Pattern:
    """Return MON with its reason."""
    return Pattern(PatternKind.MON, reason)


def weakest(lifetime: int, reason: str) -> Pattern:
    """Return WKS with its reason."""
    return Pattern(PatternKind.WKS, reason, lifetime)


def weak(reason: str) -> Pattern:
    """Return WK with its reason."""
    return Pattern(PatternKind.WK, reason)


def strict(reason: str) -> Pattern:
    """Return STR with its reason."""
    return Pattern(PatternKind.STR, reason)


def pattern_of(plan: nodes.Plan) -> Pattern:
    """Return the update pattern of the edge that leaves `plan`."""
    match plan:
        case nodes.Scan() | nodes.Numbered() | nodes.SlideInstants():
            return monotonic("a stream only grows")
        case nodes.Produced() | nodes.Istream() | nodes.Dstream() | nodes.Rstream() | nodes.Delay():
            return monotonic("an output stream only grows")
        case nodes.Table(relation) if relation.retroactive:
            return strict("rule 4: a relation may be updated at any time")
        case nodes.Table():
            return strict("its own rows may change; results keep the version that they met")
        case nodes.Window():
            return _window(plan)
        case nodes.Filter(source=source) | nodes.Project(source=source):
            return _unchanged(pattern_of(source), "rule 1: drops or maps tuples, keeps lifetimes")
        case nodes.Exchange(source=source):
            return pattern_of(source)
        case nodes.Versions():
            return strict("a row is in it from one version to another")
        case nodes.Stamped(source=source):
            return _unchanged(pattern_of(source), "rule 1: a version is met once")
        case nodes.NrrJoin(left=left):
            return _unchanged(pattern_of(left), "rule 1: updates of an NRR do not reach back")
        case nodes.Join(left=left, right=right):
            return _join(left, right)
        case nodes.SemiJoin(left=left, right=right):
            return _monotone_pair(left, right, "rule 3: a tuple lasts while some match does")
        case nodes.Intersect(left=left, right=right):
            return _monotone_pair(left, right, "rule 3: a copy lasts while both sides hold it")
        case nodes.UnionAll(inputs=inputs):
            return _union(tuple(pattern_of(p) for p in inputs))
        case nodes.Distinct(source=source):
            return _distinct(pattern_of(source))
        case nodes.AntiJoin() | nodes.Except() | nodes.OuterJoin():
            return strict(f"rule 4: {_retracting(plan)}")
        case nodes.Hold():
            return strict(
                "emitted once it has lasted, at most that much later; may yet be retracted"
            )
        case nodes.Aggregate():
            return strict("rule 4: a later arrival changes the group's value")
        case nodes.TopN() | nodes.RecentAnswers():
            return strict("rule 4: a later arrival pushes a result out")
        case nodes.Refresh():
            return _refresh(plan)


def _retracting(plan: nodes.AntiJoin | nodes.Except | nodes.OuterJoin) -> str:
    if isinstance(plan, nodes.OuterJoin):
        return "a later match retracts a result that NULLs complete"
    return "a later arrival on the right retracts a result"


def _window(window: nodes.Window) -> Pattern:
    match window.spec:
        case Range(width):
            return weakest(width, "time window: every tuple lives equally long")
        case Rows() | PartitionRows():
            return strict("count window: a tuple expires when later ones arrive")
        case Unbounded():
            return monotonic("unbounded window: tuples never expire")
        case Since():
            return monotonic("landmark window: tuples never expire")
        case Until():
            return weak("each result lives as long as its external tuples")


def _unchanged(pattern: Pattern, reason: str) -> Pattern:
    return Pattern(pattern.kind, reason, pattern.lifetime)


def _strictest(patterns: tuple[Pattern, ...]) -> PatternKind:
    kinds = {p.kind for p in patterns}
    return next(k for k in reversed(PatternKind) if k in kinds)


def _join(left: nodes.Plan, right: nodes.Plan) -> Pattern:
    if isinstance(left, nodes.Table) or isinstance(right, nodes.Table):
        return strict("rule 4: an update of the relation reaches back to earlier tuples")
    return _monotone_pair(left, right, "rule 3: a result ends with the first of its tuples")


def _monotone_pair(left: nodes.Plan, right: nodes.Plan, weak_reason: str) -> Pattern:
    """Pattern of a binary operator whose answer only grows with its inputs."""
    match _strictest((pattern_of(left), pattern_of(right))):
        case PatternKind.STR:
            return strict("rule 3: an input is already strict")
        case PatternKind.MON:
            return monotonic("neither input ever loses a tuple")
        case _:
            return weak(weak_reason)


def _union(patterns: tuple[Pattern, ...]) -> Pattern:
    match _strictest(patterns):
        case PatternKind.STR:
            return strict("rule 2: an input is already strict")
        case PatternKind.MON:
            return monotonic("no input ever loses a tuple")
        case _:
            pass
    lifetimes = {p.lifetime for p in patterns}
    lifetime = lifetimes.pop()
    if not lifetimes and lifetime is not None:
        return weakest(lifetime, "rule 2: a merge keeps order, and lifetimes are equal")
    return weak("rule 2: a merge keeps lifetimes, but they differ")


def _distinct(source: Pattern) -> Pattern:
    match source.kind:
        case PatternKind.STR:
            return strict("rule 3: the input is already strict")
        case PatternKind.MON:
            return monotonic("a value seen once stays")
        case _:
            return weak("rule 3: a value is renewed by its youngest duplicate, else ends")


def _refresh(refresh: nodes.Refresh) -> Pattern:
    source = pattern_of(refresh.source)
    match source.kind:
        case PatternKind.WKS:
            assert source.lifetime is not None
            if source.lifetime % refresh.slide == 0:
                return weakest(source.lifetime, "the slide divides the window: equal lifetimes")
            return weak("the slide does not divide the window: lifetimes differ by one slide")
        case PatternKind.WK:
            return weak("a held result still ends at a refresh known on its arrival")
        case _:
            return _unchanged(source, "holding the answer does not change how it leaves")
