"""Which operators of two physical plans are the same, and which of these are of the same form."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from windrow.operators.dataflow import Stage
from windrow.operators.expire import ExpireTask
from windrow.operators.handover.contents import differs_in_istream
from windrow.operators.handover.places import RelationPlace, places_of
from windrow.operators.join import NrrJoinTask
from windrow.operators.join.aggregation.task import AggregationJoinTask
from windrow.operators.row_store import RowStoreTask
from windrow.operators.stateless import Stateless
from windrow.operators.streams import ProducedTask
from windrow.operators.task import Task


@dataclass(slots=True)
class PlanMatching:
    """Two plans side by side.

    `same` maps stages of the new plan to those of the old one that do the same; `kept` are those
    of them whose state fits as it is: the form is the same, and so is what the state depends on. A
    signed input is made of changes alone. The ends that came with an unsigned input may
    differ between plans, unless all below it is kept. An NRR does not read its left input's ends.
    An aggregation join that is not kept is filled from the tuples below it, which must then travel.
    """

    old: list[Stage]
    new: list[Stage]
    old_places: list[RelationPlace] = field(init=False)
    new_places: list[RelationPlace] = field(init=False)
    same: dict[int, int] = field(default_factory=dict)
    kept: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.old_places, self.new_places = places_of(self.old), places_of(self.new)
        for i, stage in enumerate(self.new):
            if not has_state(stage):
                continue
            found = next((j for j in range(len(self.old)) if self._alike(i, j)), None)
            if found is not None:
                self.same[i] = found
                if self._fits(i, found):
                    self.kept[i] = found
        emptied = folded_below(self.new, self.kept.keys())
        known = folded_below(self.old, self.kept.values())
        self.kept = {i: j for i, j in self.kept.items() if i not in emptied and j not in known}

    def _alike(self, i: int, j: int) -> bool:
        new, old = self.new[i], self.old[j]
        return (
            new.label == old.label
            and j not in self.same.values()
            and self.new_places[i] == self.old_places[j]
            and [self.new_places[k] for k in new.inputs] == [self.old_places[k] for k in old.inputs]
        )

    def _fits(self, i: int, j: int) -> bool:
        new, old = self.new[i], self.old[j]
        pairs = list(zip(new.inputs, old.inputs, strict=True))
        return (
            type(new.task) is type(old.task)
            and new.form == old.form
            and new.schema.names == old.schema.names
            and all(_like(self.new[a], self.old[b]) for a, b in pairs)
            and (_reads_no_ends(new.task) or all(map(self._stays, new.inputs)))
        )

    def _stays(self, i: int) -> bool:
        """Return whether the changes of an edge are those that the new plan would have emitted."""
        stage = self.new[i]
        if stage.edge_kind == (True, False):
            return True
        return (i in self.kept or not has_state(stage)) and all(map(self._stays, stage.inputs))

    @property
    def istream_differs(self) -> bool:
        """Return whether ISTREAM at the root is made from insertions by just one of the plans."""
        return differs_in_istream(self.old[-1], self.new[-1])

    @property
    def identical(self) -> bool:
        """Return whether both plans are of one form, stage by stage."""
        return len(self.old) == len(self.new) and all(
            self.kept.get(i) == i if has_state(stage) else self.old[i].label == stage.label
            for i, stage in enumerate(self.new)
        )


def folded_below(stages: list[Stage], kept: Collection[int]) -> set[int]:
    """Return what holds the tuples of aggregation joins, but for those that are kept."""
    joins = [s for i, s in enumerate(stages) if i not in kept]
    waiting = [i for s in joins if isinstance(s.task, AggregationJoinTask) for i in s.inputs]
    found = set()
    for first in waiting:
        at = first
        while isinstance(stages[at].task, Stateless) and len(stages[at].inputs) == 1:
            (at,) = stages[at].inputs
        if isinstance(stages[at].task, ExpireTask | RowStoreTask):
            found.add(at)
    return found


def _reads_no_ends(task: Task | None) -> bool:
    """Return whether a task does not mind with which ends its input has travelled."""
    return isinstance(task, NrrJoinTask | ProducedTask)


def has_state(stage: Stage) -> bool:
    """Return whether a stage has state."""
    return stage.task is not None and not isinstance(stage.task, Stateless)


def _like(a: Stage, b: Stage) -> bool:
    return a.schema.names == b.schema.names and a.edge_kind == b.edge_kind
