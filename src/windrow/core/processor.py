"""A processor that works in virtual time: what each piece of work takes is given, not measured.

So delays are a matter of arithmetic: the same on every machine, and tests ask for them exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from math import inf

from windrow.core.errors import BindError
from windrow.core.naming import near, shown
from windrow.core.scheduling import RoundRobin, Scheduler, require_slice

OPERATORS = (
    "Aggregate",
    "AggregationJoin",
    "AntiJoin",
    "Compute",
    "Delay",
    "Distinct",
    "Dstream",
    "Expire",
    "Filter",
    "Fold",
    "Hold",
    "Insertions",
    "Istream",
    "Join",
    "Number",
    "Order",
    "Output",
    "Own",
    "Produced",
    "Project",
    "RecentAnswers",
    "Refresh",
    "Rstream",
    "SemiJoin",
    "SlideInstants",
    "Stamp",
    "Store",
    "TopN",
    "Union",
    "Versions",
    "Window",
    "except",
    "except_all",
    "intersect",
    "intersect_all",
)
"""The first words of operators' names, as EXPLAIN shows them."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What an operator takes, in the unit of the streams' time.

    `entry` for each tuple of either sign that it reads, `message` for a message (as for an entry,
    unless given), `result` for each row that it makes, `expiry` for each row that it lets go by
    itself.
    """

    entry: float
    message: float | None = None
    result: float = 0.0
    expiry: float = 0.0

    def __post_init__(self) -> None:
        message = 0.0 if self.message is None else self.message
        given = (self.entry, message, self.result, self.expiry)
        if not all(isinstance(cost, int | float) and 0 <= cost < inf for cost in given):
            raise BindError(
                f"work takes some time, or none: {shown(self)}",
                detail="A cost is a length of time, in the unit of the streams' time.",
                hint="Give a number from 0.",
            )

    @property
    def of_message(self) -> float:
        """What a message takes."""
        return self.entry if self.message is None else self.message

    @property
    def steady(self) -> bool:
        """Whether every entry takes the same, whatever comes of it."""
        return not (self.result or self.expiry) and self.of_message == self.entry


@dataclass(slots=True)
class Processor:
    """One processor for all operators of a query, in virtual time.

    Tuples come at their own times. `costs` are for operators by the first word of their name in
    EXPLAIN (`OPERATORS`), `other` for the rest. `now`: until when it has
    worked, `busy`: for how long; each query works on a copy, which its stats describe.
    """

    costs: Mapping[str, Costs] = field(default_factory=dict)
    other: Costs = field(default_factory=lambda: Costs(0.0))
    scheduler: Scheduler = field(default_factory=RoundRobin)
    now: float = 0.0
    busy: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.costs, Mapping):
            raise BindError(
                f"costs are given by the names of operators, not as {shown(self.costs)}",
                hint='Give a dict such as {"Join": Costs(3.0)}.',
            )
        for name in self.costs:
            if name not in OPERATORS:
                raise _unknown(name)
        for said in (*self.costs.values(), self.other):
            if not isinstance(said, Costs):
                raise BindError(
                    f"{shown(said)} does not say what work takes",
                    detail="Reading, results and expiries may each take their time.",
                    hint=f"Write Costs({shown(said)}), if that is for each tuple that is read.",
                )
        require_slice(getattr(self.scheduler, "slice", None))

    def costs_of(self, label: str) -> Costs:
        """Return the costs of an operator.

        >>> Processor({"Join": Costs(3.0)}).costs_of("Join hash").entry
        3.0
        """
        return self.costs.get(label.split(maxsplit=1)[0], self.other)

    def copied(self) -> Processor:
        """Return one for a query of its own; refuse a scheduler that cannot be copied."""
        try:
            scheduler = deepcopy(self.scheduler)
        except Exception as error:
            raise BindError(
                f"the scheduler {type(self.scheduler).__name__} cannot be copied",
                detail="Every query works on a copy of the processor, and so of its scheduler; "
                f"copying it raised {type(error).__name__}: {error}.",
                hint="Leave out what cannot be copied, such as a lock or an open file, or give the "
                "class a __deepcopy__.",
            ) from error
        return replace(self, costs=dict(self.costs), scheduler=scheduler)


def _unknown(name: str) -> BindError:
    """Return the error for a name that no operator has, with the near ones offered."""
    first = str(name).split(maxsplit=1)[:1]
    if first and first[0] in OPERATORS:
        hint = f"Write {first[0]}: costs go by the first word of a name."
    else:
        hint = near(str(name), OPERATORS) or "Take names from the second part of q.explain()."
    return BindError(
        f'no operator is called "{name}"',
        detail=f"A processor knows the costs of {', '.join(OPERATORS)}.",
        hint=hint,
    )
