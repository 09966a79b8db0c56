"""Which group a contribution is for: by the parts of the key that its entries have.

    GROUP BY a.g, b.h       part codes, kept with entries         group

    entries of A  ──►  (g): 0, 1, 2 ...  ──┐
                                           ├──►  (part, part): 0, 1, 2 ...
    entries of B  ──►  (h): 0, 1, 2 ...  ──┘

So the words of keys are hashed once an entry, not once a contribution; with the whole key in one
input, its part is the group. Keys that are computed of several inputs are hashed as they come.
"""

from __future__ import annotations

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
from windrow.kernels.records import gather_word
from windrow.operators.codec import RowCodec
from windrow.operators.delta import Delta
from windrow.operators.join.aggregation.op import AggregationJoin
from windrow.operators.join.aggregation.walk import ContributionBatch
from windrow.operators.state.bag import encode_sparingly
from windrow.operators.state.fields import ArrayField, NestedField, State
from windrow.operators.state.key_table import KeyTable, TableField, grown
from windrow.operators.vector import I64, Vector

NO_PARTS: I64 = np.zeros(1, np.int64)


class KeyParts(State):
    """The keys that are columns of one input: a code for each, and that of each entry.

    Invariant, asserted by `check`: `counts` has the entries of each part, and exactly the parts
    with entries are kept.
    """

    state_fields = (
        TableField("table", fields="codec.fields"),
        ArrayField("parts"),
        ArrayField("counts", length="table.entries", room="table.capacity"),
    )

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
        # Most changes are about entries that have a part already.
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

    def check_live(self, entries: I64) -> None:
        """Assert the invariant, given the live entries."""
        assert np.array_equal(np.flatnonzero(self.parts >= 0), entries), "an entry has no part"
        counted = np.bincount(self.parts[entries], minlength=len(self.counts))
        assert np.array_equal(counted, self.counts), "a part is miscounted"
        assert np.array_equal(np.flatnonzero(counted), self.table.live()), "a useless part"


class ContributionGroups(State):
    """Names the groups of contributions.

    keys                         parts    table               group
    none                         -        -                   0
    columns of one input         1        -                   the entry's part
    columns of several inputs    each     of parts            a combination of parts
    computed of contributions    -        of words of keys    the words
    """

    state_fields = (TableField("table", fields="words_of"), NestedField("parts"))

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
        self.words_of = self.fields if self.computed else ()
        self.named = self.computed or len(self.parts) > 1

    @property
    def used(self) -> int:
        """How many codes of groups were ever used."""
        if self.named:
            return self.table.entries
        return self.parts[0].table.entries if self.parts else 1

    def events(self, part: ContributionBatch, columns: dict[str, Vector], log: I64, ts: I64) -> I64:
        """Return events for contributions, with their groups, weights and times."""
        events = np.empty((5, len(part)), np.int64)
        line, parts = -1, NO_PARTS
        # The part is the group: no second table, and no hashing a contribution.
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

    def check_live(self, entries: list[I64], groups: I64) -> None:
        """Assert the invariants, given live entries of each input and groups with results."""
        for keys in self.parts:
            keys.check_live(entries[keys.which])
        if self.named:
            assert np.array_equal(self.table.live(), groups), "groups and results differ"
        elif self.parts:
            assert np.isin(groups, self.live()).all(), "a group without entries has results"
