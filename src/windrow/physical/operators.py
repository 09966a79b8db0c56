"""The parameters of each kind of physical operator, and the layout of its state.

An operator's schemas are those of its node and of the nodes that it reads, and not repeated here.
`layout` names what the operator stores, with a version: whoever changes how a state is saved raises
it, so that older checkpoints are refused instead of misread. None: it stores nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar

from windrow.core.schema import Field
from windrow.physical.calls import AccumulatorCall, GroupBy, PlacedCall
from windrow.physical.conditions import Form, JoinCondition, Method, MultiCondition
from windrow.physical.parts import Contribute, PartColumns
from windrow.physical.sources import Crossing, Partials, SourceScan
from windrow.plan.expressions import Expr
from windrow.plan.nodes import Named
from windrow.plan.windows import WindowSpec

Order = tuple[int, ...]
"""Positions of inputs, outermost loop first."""

NOT_IDENTITY = {"identity": False}
"""Metadata of a parameter that may change while the operator runs: no state depends on it."""


@dataclass(frozen=True, slots=True)
class StateLayout:
    """What an operator stores: the name of the layout, and its version."""

    name: str
    version: int = 1


class Op:
    """The parameters of a physical operator."""

    __slots__ = ()
    layout: ClassVar[StateLayout | None] = None


@dataclass(frozen=True, slots=True)
class SourceOp(Op):
    """An input. On shards `crossing` says whom its rows go to, `partials` how they may merge."""

    scan: SourceScan
    crossing: Crossing | None = None
    partials: Partials | None = None


@dataclass(frozen=True, slots=True)
class ExchangeOp(Op):
    """Rows change shards: an edge of the same kind, fed from outside."""

    crossing: Crossing


@dataclass(frozen=True, slots=True)
class FilterOp(Op):
    """σ."""

    predicate: Expr


@dataclass(frozen=True, slots=True)
class ProjectOp(Op):
    """π."""

    columns: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class OwnTimeOp(Op):
    """The ts of each tuple as a column."""

    column: str


@dataclass(frozen=True, slots=True)
class InsertionsOp(Op):
    """The insertions of an unsigned edge, without their ends."""


@dataclass(frozen=True, slots=True)
class UnionOp(Op):
    """UNION ALL."""


@dataclass(frozen=True, slots=True)
class WindowOp(Op):
    """A window over a stream; with `slide`, tuples come and go at its multiples."""

    spec: WindowSpec
    slide: int | None = None
    expiry_column: str | None = None
    layout = StateLayout("window")


class ExpirerKind(Enum):
    """The structure in which tuples wait for their expiration."""

    RING = "ring"  # they expire in the order of arrival
    CALENDAR = "calendar queue"  # by bucket of their ends
    LIST = "plain list"  # all are looked at: the baseline of the papers
    PARTLY_SIGNED = "calendar queue, withdrawals hashed"  # some are retracted before


@dataclass(frozen=True, slots=True)
class ExpireOp(Op):
    """From an unsigned or partly signed edge to a signed one."""

    expirer: ExpirerKind
    layout = StateLayout("expirer")


@dataclass(frozen=True, slots=True)
class RowStoreOp(Op):
    """The rows of a signed edge, stored for another plan that may go on from them."""

    layout = StateLayout("row store")


class DistinctKind(Enum):
    """How DISTINCT is computed."""

    STRICT = "counters"  # signed edge: how many copies each row has
    STORED_INPUT = "stored input"  # the baseline of the papers
    DELTA_STAR = "δ*"  # the output, and of each row the copy that lives longest
    EXPIRING = "δ*, expirations emitted"


@dataclass(frozen=True, slots=True)
class DistinctOp(Op):
    """δ."""

    algorithm: DistinctKind
    layout = StateLayout("distinct")


@dataclass(frozen=True, slots=True)
class FifoJoinOp(Op):
    """⋈ of rows that expire in the order of arrival."""

    condition: JoinCondition
    endless: bool = False
    layout = StateLayout("fifo join")


@dataclass(frozen=True, slots=True)
class ExpiringJoinOp(Op):
    """The same, which emits the expirations of its results."""

    condition: JoinCondition
    layout = StateLayout("expiring join")


@dataclass(frozen=True, slots=True)
class HashJoinOp(Op):
    """⋈ over unsigned edges; `renews`: a right row renews the results of its key (⋉)."""

    condition: JoinCondition
    left: Form
    right: Form
    renews: bool = False
    layout = StateLayout("hash join")


@dataclass(frozen=True, slots=True)
class ExpiringSemiJoinOp(Op):
    """⋉ by keys, which emits the expirations of its results."""

    condition: JoinCondition
    layout = StateLayout("expiring semi-join")


@dataclass(frozen=True, slots=True)
class ZSetJoinOp(Op):
    """⋈ over signed edges."""

    condition: JoinCondition
    layout = StateLayout("Z-set join")


@dataclass(frozen=True, slots=True)
class SemiJoinOp(Op):
    """⋉ over signed edges."""

    condition: JoinCondition
    layout = StateLayout("semi-join")


@dataclass(frozen=True, slots=True)
class AntiJoinOp(Op):
    """▷ over signed edges."""

    condition: JoinCondition
    null_aware: bool
    layout = StateLayout("anti-join")


@dataclass(frozen=True, slots=True)
class PartlySignedAntiJoinOp(Op):
    """▷ by keys of an unsigned left edge: only early ends of results travel."""

    condition: JoinCondition
    form: Form
    layout = StateLayout("partly signed anti-join")


@dataclass(frozen=True, slots=True)
class NrrJoinOp(Op):
    """⋈ with a relation whose updates do not reach back."""

    condition: JoinCondition
    signed: bool
    layout = StateLayout("NRR join")


@dataclass(frozen=True, slots=True)
class MultiJoinOp(Op):
    """⋈ of many unsigned edges, without results between them."""

    condition: MultiCondition
    forms: tuple[Form, ...]
    orders: tuple[Order, ...] = field(metadata=NOT_IDENTITY)
    method: Method
    layout = StateLayout("multi-join")


@dataclass(frozen=True, slots=True)
class MultiZSetJoinOp(Op):
    """⋈ of many signed edges; `rings`: whose rows expire in the order of arrival."""

    condition: MultiCondition
    orders: tuple[Order, ...] = field(metadata=NOT_IDENTITY)
    method: Method
    rings: tuple[bool, ...]
    layout = StateLayout("multi Z-set join")


class WJoinKind(Enum):
    """How a W-join finds rows that match [WJOIN 4]."""

    NESTED = "nested_w"
    HASH = "hash_w"
    MERGE = "merge_w"


@dataclass(frozen=True, slots=True)
class WJoinOp(Op):
    """⋈ of streams within windows of time of each other [WJOIN]."""

    condition: MultiCondition
    orders: tuple[Order, ...] = field(metadata=NOT_IDENTITY)
    algorithm: WJoinKind
    layout = StateLayout("W-join")


@dataclass(frozen=True, slots=True)
class VersionsOp(Op):
    """The versions of a relation, each row with the first that has it and the first without."""

    life: int
    layout = StateLayout("versions")


@dataclass(frozen=True, slots=True)
class StampOp(Op):
    """Tuples with the version that each meets; `versions`: the columns of a row's versions."""

    met: str
    versions: tuple[str, str]
    layout = StateLayout("stamp")


@dataclass(frozen=True, slots=True)
class BagOp(Op):
    """EXCEPT and INTERSECT, each with or without ALL."""

    kind: str
    layout = StateLayout("bag")


@dataclass(frozen=True, slots=True)
class HoldOp(Op):
    """Results that wait for `length`, and are not emitted if they are retracted before."""

    length: int
    layout = StateLayout("hold")


@dataclass(frozen=True, slots=True)
class TopNOp(Op):
    """ORDER BY and LIMIT. `keys`: column, descending, NULLs first."""

    keys: tuple[tuple[str, bool, bool], ...]
    limit: int
    offset: int
    layout = StateLayout("top n")


@dataclass(frozen=True, slots=True)
class RefreshOp(Op):
    """An answer that changes at multiples of `slide` only."""

    slide: int
    restore: bool = False
    layout = StateLayout("refresh")


@dataclass(frozen=True, slots=True)
class NumberOp(Op):
    """A stream with the number of each tuple."""

    column: str
    layout = StateLayout("number")


@dataclass(frozen=True, slots=True)
class SlideInstantsOp(Op):
    """The instants at which a count window slides."""

    column: str
    step: int
    layout = StateLayout("slide instants")


@dataclass(frozen=True, slots=True)
class ProducedOp(Op):
    """Results that travel once, as a stream in the order of their rows."""

    layout = StateLayout("produced")


@dataclass(frozen=True, slots=True)
class IstreamOp(Op):
    """ISTREAM; `ordered`: the rows of an instant are in order."""

    ordered: bool
    layout = StateLayout("istream")


@dataclass(frozen=True, slots=True)
class DstreamOp(Op):
    """DSTREAM; `ordered`: the rows of an instant are in order."""

    ordered: bool
    layout = StateLayout("dstream")


@dataclass(frozen=True, slots=True)
class DelayOp(Op):
    """A stream whose tuples appear at multiples of `slide`."""

    slide: int
    layout = StateLayout("delay")


@dataclass(frozen=True, slots=True)
class RstreamOp(Op):
    """RSTREAM: the whole answer at multiples of `slide`."""

    slide: int
    seen: int | None
    by: int
    layout = StateLayout("rstream")


@dataclass(frozen=True, slots=True)
class RecentAnswersOp(Op):
    """A RANGE over whole answers."""

    slide: int
    width: int
    layout = StateLayout("recent answers")


@dataclass(frozen=True, slots=True)
class GroupByOp(Op):
    """γ; `expirer`: where the rows of an unsigned edge wait for their expiration."""

    group_by: GroupBy
    expirer: ExpirerKind | None = None
    layout = StateLayout("groups")


@dataclass(frozen=True, slots=True)
class ContributeOp(Op):
    """What the changes of an instant add to groups."""

    contribute: Contribute


@dataclass(frozen=True, slots=True)
class AggregationJoinOp(Op):
    """γ over ⋈ as one operator. `computed`: columns over several inputs.

    The other parameters: `operators/join/aggregation/op.py`.
    """

    condition: MultiCondition
    early: tuple[bool, ...]
    keys: tuple[Field, ...]
    folds: tuple[PlacedCall, ...]
    computed: tuple[Named, ...]
    copies: tuple[str | None, ...]
    orders: tuple[Order, ...] = field(metadata=NOT_IDENTITY)
    method: Method
    layout = StateLayout("aggregation join")

    @property
    def calls(self) -> tuple[AccumulatorCall, ...]:
        """The calls, wherever they are folded."""
        return tuple(fold.call for fold in self.folds)


@dataclass(frozen=True, slots=True)
class ContributingJoinOp(Op):
    """The same before an exchange: the results as parts of calls."""

    join: AggregationJoinOp
    parts: tuple[PartColumns, ...]
    layout = StateLayout("aggregation join")


STATELESS = (FilterOp, ProjectOp, OwnTimeOp, InsertionsOp, UnionOp, ContributeOp)
"""Operators that look at one change, or one instant, at a time, and store nothing."""
