"""Rows that replace the one of their key: what a keyed relation's stream of rows means.

    at   row        weight        changes
     1   (7, ada)      +           + (7, ada)
     4   (7, eve)      +           - (7, ada)   + (7, eve)
     9   (7, -)        -           - (7, eve)

All rows of a key come to the same shards. A row of an earlier time than its key's last change is
set aside; one without a time counts from when it arrives.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from windrow.core.time import BEGINNING
from windrow.operators.task import Saved
from windrow.operators.vector import I64
from windrow.plan.catalog import Relation
from windrow.runtime.keys import key_of
from windrow.runtime.shards.ports import TIME, WEIGHT, Port

SPARE = 1024
"""Rows that nobody has any more, beside as many as are in use, before they are dropped."""


@dataclass(slots=True)
class Upserts:
    """The row that each key has now. `rows` holds them and some that are gone.

    Invariants:
      1. `current` has, by key, a place in `rows` and since when;
      2. `gone` has, for other keys, when their row went, until they have one again: a row of before
         may come as long as no query has answered for its time.
    """

    port: Port
    rows: pa.Table = field(init=False)
    current: dict[str, tuple[int, int]] = field(default_factory=dict)
    gone: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rows = self.port.schema.arrow().empty_table()

    def changes(self, table: pa.Table) -> tuple[pa.Table, pa.Table]:
        """Return the changes that rows make, in the order of time, and the rows that come too late.

        Both with `_ts`, `_weight` and the port's columns.
        """
        table = table.take(pa.array(np.argsort(table[TIME].to_numpy(), kind="stable")))
        first = len(self.rows)
        fresh = table.select(self.port.schema.names).cast(self.rows.schema)
        self.rows = pa.concat_tables([self.rows, fresh])
        changes: list[tuple[int, int, int]] = []
        late: list[int] = []
        heads = (table[TIME].to_pylist(), table[WEIGHT].to_pylist(), self._keys(fresh))
        for n, (ts, weight, key) in enumerate(zip(*heads, strict=True)):
            before, since = self.current.get(key) or (-1, self.gone.get(key, BEGINNING))
            if BEGINNING < ts < since:
                late.append(n)
                continue
            self._move(changes, key, (first + n, weight), max(ts, since), before)
        made = self._table(np.array(sorted(changes, key=lambda t: t[0]), np.int64).reshape(-1, 3))
        self._compact()
        return made, table.take(pa.array(late, pa.int64()))

    def _move(
        self,
        changes: list[tuple[int, int, int]],
        key: str,
        row: tuple[int, int],
        at: int,
        before: int,
    ) -> None:
        """Let the row of a key go, and another come if its weight says so."""
        place, weight = row
        if before >= 0:
            changes.append((at, -1, before))
            del self.current[key]
        if weight > 0:
            changes.append((at, 1, place))
            self.current[key] = place, at
            self.gone.pop(key, None)
        elif at > BEGINNING:
            self.gone[key] = at

    def _table(self, changes: I64) -> pa.Table:
        rows = self.rows.take(pa.array(changes[:, 2]))
        columns = {TIME: pa.array(changes[:, 0]), WEIGHT: pa.array(changes[:, 1])}
        return pa.table({**columns, **{n: rows[n] for n in rows.column_names}})

    def _keys(self, rows: pa.Table) -> list[str]:
        relation = self.port.entry
        assert isinstance(relation, Relation), "only rows of relations replace others"
        return list(map(key_of, zip(*(rows[n].to_pylist() for n in relation.key), strict=True)))

    def _compact(self) -> None:
        """Drop rows that nobody has any more, if they are many."""
        if len(self.rows) <= 2 * len(self.current) + SPARE:
            return
        places = [place for place, _ in self.current.values()]
        self.rows = self.rows.take(pa.array(places, pa.int64())).combine_chunks()
        self.current = {key: (n, since) for n, (key, (_, since)) in enumerate(self.current.items())}

    def save(self) -> Saved:
        """Return the rows and since when, and the keys that had one until when."""
        places = pa.array([place for place, _ in self.current.values()], pa.int64())
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.rows.schema) as writer:
            writer.write_table(self.rows.take(places))
        since = np.array([since for _, since in self.current.values()], np.int64)
        until = np.array(list(self.gone.values()), np.int64)
        gone = {"keys": list(self.gone), "until": until}
        return {"rows": sink.getvalue().to_pybytes(), "since": since, "gone": gone}

    def load(self, saved: Saved) -> None:
        """Take over saved rows."""
        self.rows = pa.ipc.open_stream(saved["rows"]).read_all()
        since = saved["since"].tolist()  # type: ignore[attr-defined]
        keys = self._keys(self.rows)
        self.current = {key: (n, at) for n, (key, at) in enumerate(zip(keys, since, strict=True))}
        gone = saved["gone"]
        assert isinstance(gone, dict)
        self.gone = dict(zip(gone["keys"], gone["until"].tolist(), strict=True))

    def check(self) -> None:
        """Assert the invariants."""
        places = [place for place, _ in self.current.values()]
        assert len({*places}) == len(places), "invariant 1: two keys have one row"
        assert all(0 <= place < len(self.rows) for place in places), "invariant 1: a row is missing"
        assert not self.gone.keys() & self.current.keys(), "invariant 2: a key is gone and there"
