"""Which group a contribution is for: by the parts of the key that its entries have.

    GROUP BY a.g, b.h       part codes, kept with entries         group

    entries of A  ──►  (g): 0, 1, 2 ...  ──┐
                                           ├──►  (part, part): 0, 1, 2 ...
    entries of B  ──►  (h): 0, 1, 2 ...  ──┘

So the words of keys are hashed once an entry, not once a contribution; with the whole key in one
input, its part is the group. Keys that are computed of several inputs are hashed as they come.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from windrow.core.schema import Field
from windrow.kernels.contributions import (
    combine_parts,
    drop_parts,
    make_events,
    name_parts,
    unnamed,
)
from windrow.kernels.groups import GROUP
from windrow.kernels.hashing import ENTRIES
from windrow.kernels.records import gather_word
from windrow.operators.codec import RowCodec
from windrow.operators.delta import Delta
from windrow.operators.join.aggregation.op import AggregationJoin
from windrow.operators.join.aggregation.walk import ContributionBatch
from windrow.operators.state.bag import encode_sparingly
from windrow.operators.state.key_table import KeyTable, grown, interned_words
from windrow.operators.task import Saved
from windrow.operators.vector import I64, Vector

NO_PARTS: I64 = np.zeros(1, np.int64)


class KeyParts:
    """The keys that are columns of one input: a code for each, and that of each entry.

    Invariant, asserted by `check`: `counts` has the entries of each part, and exactly the parts
    with entries are kept.
    """

    def __init__(self, which: int, fields: tuple[Field, ...]) -> None:
        self.which = which
        self.codec = RowCodec(fields)
        self.table = KeyTable(self.codec.width)
        self.parts: I64 = np.empty(0, np.int64)
        self.counts: I64 = np.zeros(0, np.int64)

    def enter(self, delta: Delta, entries: I64, capacity: int) -> None:
        """Give a part to each new entry of changed rows. O(changes)."""
        known = len(self.parts)
        if capacity > known:
            self.parts = grown(self.parts, capacity)  # type: ignore[assignment]
            self.parts[known:] = -1
        fresh = np.empty(len(entries), np.int64)
        fresh = fresh[: unnamed(entries, self.parts, fresh)]
        if not len(fresh):
            return
        keys = [delta.columns[f.name].take(fresh) for f in self.codec.fields]
        codes = encode_sparingly(self.table, self.codec.words(keys, len(fresh)))
        self.counts = grown(self.counts, self.table.capacity)  # type: ignore[assignment]
        name_parts(entries[fresh], codes, self.parts, self.counts)

    def leave(self, entries: I64) -> None:
        """Forget entries, and the parts that no entry is left of."""
        idle = np.empty(len(entries), np.int64)
        count = drop_parts(entries, self.parts, self.counts, idle)
        self.table.release(idle[:count])

    def columns(self, codes: I64) -> dict[str, Vector]:
        """Return the keys of parts."""
        found = self.codec.columns_at(self.table.words, codes)
        return {f.name: v for f, v in zip(self.codec.fields, found, strict=True)}

    @property
    def nbytes(self) -> int:
        """Exact size of the arrays."""
        return self.table.nbytes + self.parts.nbytes + self.counts.nbytes

    def save(self) -> Saved:
        """Return all that `load` needs."""
        return {
            "table": self.table.save(),
            "parts": self.parts.copy(),
            "counts": self.counts.copy(),
        }

    def load(self, saved: Saved) -> None:
        """Take over saved parts, under their codes."""
        self.table = KeyTable.loaded(cast("Saved", saved["table"]))
        self.parts = cast("I64", saved["parts"]).copy()
        counts = cast("I64", saved["counts"]).copy()
        self.counts = grown(counts, self.table.capacity)  # type: ignore[assignment]

    def live_codes(self) -> list[I64]:
        """Return the interned codes that keys refer to."""
        return interned_words(self.codec.fields, self.table)

    def check(self, entries: I64) -> None:
        """Assert the invariant, given the live entries."""
        self.table.check()
        assert np.array_equal(np.flatnonzero(self.parts >= 0), entries), "an entry has no part"
        counted = np.bincount(self.parts[entries], minlength=len(self.counts))
        assert np.array_equal(counted, self.counts), "a part is miscounted"
        assert np.array_equal(np.flatnonzero(counted), self.table.live()), "a useless part"


class ContributionGroups:
    """Names the groups of contributions.

    keys                         parts    table               group
    none                         -        -                   0
    columns of one input         1        -                   the entry's part
    columns of several inputs    each     of parts            a combination of parts
    computed of contributions    -        of words of keys    the words
    """

    def __init__(self, op: AggregationJoin) -> None:
        self.fields = op.keys
        self.parts = tuple(
            KeyParts(i, own)
            for i, source in enumerate(op.match.inputs)
            if (own := tuple(f for f in op.keys if f.name in source.output))
        )
        self.codec = RowCodec(op.keys)
        self.computed = sum(len(p.codec.fields) for p in self.parts) < len(op.keys)
        self.parts = () if self.computed else self.parts
        self.table = KeyTable(self.codec.width if self.computed else len(self.parts))
        self.named = self.computed or len(self.parts) > 1

    @property
    def used(self) -> int:
        """How many codes of groups were ever used."""
        if self.named:
            return int(self.table.meta[ENTRIES])
        return int(self.parts[0].table.meta[ENTRIES]) if self.parts else 1

    def events(self, part: ContributionBatch, columns: dict[str, Vector], log: I64, ts: I64) -> I64:
        """Return events for contributions, with their groups, weights and times."""
        events = np.empty((5, len(part)), np.int64)
        line, parts = -1, NO_PARTS
        if len(self.parts) == 1:
            line, parts = self.parts[0].which, self.parts[0].parts
        make_events(part.lines, part.start, line, parts, log, ts, events)
        if self.named and len(part):
            events[GROUP] = self.table.encode(self._words(part, columns))
        return events

    def _words(self, part: ContributionBatch, columns: dict[str, Vector]) -> I64:
        if self.computed:
            return self.codec.words([columns[f.name] for f in self.fields], len(part))
        words = np.empty((len(part), len(self.parts)), np.int64)
        for k, keys in enumerate(self.parts):
            combine_parts(part.entries(keys.which), keys.parts, k, words)
        return words

    def keys(self, groups: I64) -> list[Vector]:
        """Return the keys of groups."""
        if self.computed:
            return self.codec.columns_at(self.table.words, groups)
        found: dict[str, Vector] = {}
        for k, keys in enumerate(self.parts):
            codes = groups
            if self.named:
                codes = np.empty(len(groups), np.int64)
                gather_word(self.table.words, k, groups, codes)
            found |= keys.columns(codes)
        return [found[f.name] for f in self.fields]

    def release(self, groups: I64) -> None:
        """Forget groups without results. Parts, which stay as long as entries do, leave later."""
        if self.named:
            self.table.release(groups)

    def live(self) -> I64:
        """Return the codes in use, ascending; a part may be so without results."""
        if self.named:
            return self.table.live()
        return self.parts[0].table.live() if self.parts else np.zeros(1, np.int64)

    @property
    def nbytes(self) -> int:
        """Exact size of the state."""
        return self.table.nbytes + sum(p.nbytes for p in self.parts)

    def save(self) -> Saved:
        """Return all that `load` needs."""
        return {"table": self.table.save(), "parts": [p.save() for p in self.parts]}

    def load(self, saved: Saved) -> None:
        """Take over a saved state, under the same codes."""
        self.table = KeyTable.loaded(cast("Saved", saved["table"]))
        for keys, kept in zip(self.parts, cast("list[Saved]", saved["parts"]), strict=True):
            keys.load(kept)

    def live_codes(self) -> list[I64]:
        """Return the interned codes that keys refer to."""
        found = interned_words(self.fields, self.table) if self.computed else []
        for keys in self.parts:
            found += keys.live_codes()
        return found

    def check(self, entries: list[I64], groups: I64) -> None:
        """Assert the invariants, given live entries of each input and groups with results."""
        for keys in self.parts:
            keys.check(entries[keys.which])
        self.table.check()
        if self.named:
            assert np.array_equal(self.table.live(), groups), "groups and results differ"
        elif self.parts:
            assert np.isin(groups, self.live()).all(), "a group without entries has results"
