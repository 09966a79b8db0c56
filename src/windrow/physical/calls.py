"""γ: what a GROUP BY computes.

    γ(τ) = { key ∘ (call(group) ...) | group: the tuples of source(τ) with that key }

Without keys there is one group at all times, of all tuples, be there none.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from windrow.core.schema import Field, Schema
from windrow.core.types import BIGINT
from windrow.plan.nodes import AggregateCall

GROUP_COLUMN = "#group"
"""Code of the row's group: it travels with the row, so that leaving needs no look-up."""

EXPIRY_COLUMN = "#expiry"
"""When the row expires, for MIN and MAX."""

IN_ORDER = {"first", "collect_list", "string_agg"}
"""Calls that fold rows whose arguments are NULL as well: their filter says which they leave out."""

DUPLICATES_DO_NOT_MATTER = {"min", "max", "bool_and", "bool_or"}

LINEAR = {"count", "sum", "avg", "var_samp", "var_pop", "stddev_samp", "stddev_pop"}
"""Calls that are read from sums, which n copies of a bag have n times."""


@dataclass(frozen=True, slots=True)
class AccumulatorCall:
    """One aggregate: ``name([DISTINCT] args, parameters) FILTER (WHERE filter)``.

    `args` and `filter` are columns of the input, already evaluated. `parameters` are the
    constants that follow them: the fraction of a quantile, the count of a topk, the letters of an
    order.
    """

    name: str
    args: tuple[Field, ...]
    output: str
    type: pa.DataType
    distinct: bool = False
    filter: str | None = None
    parameters: tuple[float | int | str, ...] = ()
    nullable: bool = True

    @property
    def field(self) -> Field:
        """The column this fills."""
        return Field(self.output, self.type, self.nullable)

    @property
    def extreme(self) -> bool:
        """Return whether the call asks for the least or greatest value."""
        return self.name in {"min", "max"}


def folds_early(call: AccumulatorCall | AggregateCall) -> bool:
    """Return whether partial values of a call make its value over a join's results.

    Of a DISTINCT call they do not, unless duplicates do not matter: the same value may come from
    several entries. A quantile, the most frequent values and what users define need every value.
    """
    if call.name in DUPLICATES_DO_NOT_MATTER:
        return True
    return call.name in LINEAR and not call.distinct


@dataclass(frozen=True, slots=True)
class GroupBy:
    """One row a group: its keys, then its calls."""

    keys: tuple[Field, ...]
    calls: tuple[AccumulatorCall, ...]

    @property
    def schema(self) -> Schema:
        """Keys, then calls."""
        return Schema(self.keys + tuple(call.field for call in self.calls))

    @property
    def carried(self) -> Schema:
        """What must be known of a row when it expires. Its group stands for its keys."""
        kept = [Field(GROUP_COLUMN, BIGINT, nullable=False)] if self.keys else []
        if any(call.extreme for call in self.calls):
            kept.append(Field(EXPIRY_COLUMN, BIGINT, nullable=False))
        return Schema((*kept, *self.read))

    @property
    def read(self) -> tuple[Field, ...]:
        """The arguments and filters of all calls, each once."""
        found = {a.name: a for call in self.calls for a in call.args}
        for call in self.calls:
            if call.filter is not None:
                found.setdefault(call.filter, Field(call.filter, pa.bool_()))
        return tuple(found.values())


@dataclass(frozen=True, slots=True)
class PlacedCall:
    """A call, and where it is folded first.

    `early` is the input whose aggregation set has partial values of it: the call reads columns of
    that input alone, which need not be columns of its entries. None: a *late* call, which reads
    columns of contributions, whatever it computes.
    """

    call: AccumulatorCall
    early: int | None = None
