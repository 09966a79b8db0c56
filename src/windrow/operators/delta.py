"""The unit between operators: a batch of changes in time order.

An edge of a plan is of one of three kinds, fixed when the plan is lowered:

- *unsigned*: `exp` is set. Only insertions travel. Each tuple carries the instant at which it
  expires, and operators that store it drop it then by themselves. Edges of pattern MON, WKS and WK;
  an edge of pattern MON is *append-only*: its tuples never expire.
- *signed*: `exp` is None. Every change travels: `weight` +n inserts n copies of a row, -n retracts
  n copies (None: all +1). Edges of pattern STR, and all edges under `negative`.
- *partly signed*: both are set. An insertion (+1) carries `exp`, as on an unsigned edge; only a
  copy that ends earlier is retracted, by -1 with the same `exp`, at `ts` < `exp`. An operator finds
  the copy by row and `exp`, and drops the others when they expire. Each row is one copy.
  For edges of pattern STR most of whose tuples live to their known end [THESIS 3.5.2].

         ts  exp  weight
          1    6    +        there in [1, 6), unless
          3    6    -        it is retracted: then in [1, 3);
          4    6    +        and inserted again: in [1, 3) and [4, 6); nothing travels at 6
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.core.schema import Schema
from windrow.kernels.rings import count_stillborn
from windrow.operators.vector import I64, Vector

NO_TIMES: I64 = np.empty(0, np.int64)


@dataclass(slots=True)
class Delta:
    """Changes in ascending order of `ts`; `columns` by name, in the schema's order."""

    ts: I64
    columns: dict[str, Vector]
    exp: I64 | None = None
    weight: I64 | None = None

    def __len__(self) -> int:
        return len(self.ts)

    @property
    def signed(self) -> bool:
        """Return whether every removal travels, as a negative weight."""
        return self.exp is None

    def weights(self) -> I64:
        """Return the weight of each row, written out."""
        return np.ones(len(self), np.int64) if self.weight is None else self.weight

    def take(self, rows: I64) -> Delta:
        """Return the chosen rows."""
        return Delta(
            self.ts[rows],
            {name: v.take(rows) for name, v in self.columns.items()},
            None if self.exp is None else self.exp[rows],
            None if self.weight is None else self.weight[rows],
        )

    def living(self) -> Delta:
        """Return the rows of an unsigned edge that live for at least an instant."""
        assert self.exp is not None, "only an unsigned edge knows ends"
        if not count_stillborn(self.ts, self.exp):
            return self
        return self.take(np.flatnonzero(self.exp > self.ts))

    def slice(self, start: int, stop: int) -> Delta:
        """Return rows [start, stop) without copying."""
        return Delta(
            self.ts[start:stop],
            {name: v.slice(start, stop) for name, v in self.columns.items()},
            None if self.exp is None else self.exp[start:stop],
            None if self.weight is None else self.weight[start:stop],
        )

    def split(self, clock: int) -> tuple[Delta, Delta]:
        """Return the changes up to and at `clock`, and those after it."""
        if not len(self) or self.ts[-1] <= clock:
            return self, self.slice(len(self), len(self))
        at = int(np.searchsorted(self.ts, clock, side="right"))
        return self.slice(0, at), self.slice(at, len(self))

    def replace_columns(self, columns: dict[str, Vector]) -> Delta:
        """Return the same changes with other columns."""
        return Delta(self.ts, columns, self.exp, self.weight)

    @classmethod
    def empty(cls, schema: Schema, *, signed: bool) -> Delta:
        """Return no changes."""
        columns = {f.name: Vector.empty(f.type) for f in schema}
        return cls(NO_TIMES, columns, None if signed else NO_TIMES)

    @classmethod
    def concat(cls, parts: list[Delta]) -> Delta:
        """Return parts of one edge, already in time order one after the other, as one."""
        if len(parts) > 1:
            parts = [p for p in parts if len(p)] or parts[:1]
        if len(parts) == 1:
            return parts[0]
        first = parts[0]
        weight = None
        if any(p.weight is not None for p in parts):
            weight = np.concatenate([p.weights() for p in parts])
        return cls(
            np.concatenate([p.ts for p in parts]),
            {n: Vector.concat([p.columns[n] for p in parts]) for n in first.columns},
            None
            if first.exp is None
            else np.concatenate([p.exp for p in parts if p.exp is not None]),
            weight,
        )
