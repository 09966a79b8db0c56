"""The join of many unsigned inputs in one operator."""

from __future__ import annotations

from typing import cast

import numpy as np

from windrow.core.time import BEGINNING
from windrow.kernels.multi_rows import BASE, HEAD, KEEP, MASK, TAIL, pass_tails, take_out
from windrow.operators.delta import Delta
from windrow.operators.join.match import times_of
from windrow.operators.join.multi.arrivals import Arrivals
from windrow.operators.join.multi.held import HeldRows
from windrow.operators.join.multi.keep import keep_until, waits
from windrow.operators.join.multi.layout import RowLayout
from windrow.operators.join.multi.loops import FEW, Loops, LoopStatistics, sliced
from windrow.operators.join.multi.match import MultiMatch, Order, equality_codec
from windrow.operators.join.multi.results import GatheredResults
from windrow.operators.join.multi.rows import MultiJoinRows
from windrow.operators.state.key_table import KeyTable, interned_words
from windrow.operators.state.row_columns import interned_codes, load_columns, save_columns
from windrow.operators.task import Counters, Saved
from windrow.operators.vector import I64, Vector, is_interned
from windrow.physical.conditions import Form, Method


class MultiJoin:
    """S₁ ⋈ ... ⋈ Sₙ at work: unsigned inputs → unsigned.  ts = max, exp = min.

        arrival of Sᵢ ──► rows of orders[i][1] ──► rows of orders[i][2] ──► ...  results

    Each arrival meets the rows alive of all other inputs, one loop inside the other; nothing is
    stored but the inputs' own rows. Costs O(arrivals + rows looked at + departures) a step.
    Orders can be changed at any time, at no cost: an index on each class of each input is always
    kept, with as many buckets as there are values (bucket allocation for fast streams [MULTI 5.2]
    is what growing tables do).

    `orders[i]` begins with i, unless new tuples are to stay where their input stands: the loops
    then begin with all rows of the first [MULTI 3.3]. `expire_every`: how far time goes on before
    rows that have expired are let go of, 1 for at once, None for once in some arrivals and at the
    end of a step; no result is made of them in the meantime.
    """

    def __init__(
        self,
        match: MultiMatch,
        forms: tuple[Form, ...],
        orders: tuple[Order, ...],
        method: Method = Method.HASH,
        *,
        expire_every: int | None = None,
    ) -> None:
        self.match, self.expire_every = match, expire_every
        self.counters = Counters()
        self.layout = RowLayout(match)
        self.rows = MultiJoinRows(self.layout, tuple(f is Form.FIFO for f in forms))
        self.loops = Loops(self.rows, method, expire_every, orders)
        self.inputs = [HeldRows(i, f) for i, f in zip(match.inputs, forms, strict=True)]
        self.waits = [waits(match, i) for i in range(len(self.inputs))]
        self.seen = [0] * len(self.inputs)
        self.expire_at = BEGINNING
        self.fan_out = 0.0  # results an arrival of the last step
        self.nothing = Delta.empty(match.output, signed=False)

    def reorder(self, orders: tuple[Order, ...]) -> None:
        """Follow other orders from now on. Costs nothing that grows with the windows."""
        self.loops.reorder(orders)

    @property
    def orders(self) -> tuple[Order, ...]:
        """The orders that are followed."""
        return self.loops.orders

    def begin(self, start: int) -> Delta | None:
        """Nothing is there before any tuple is."""

    def step(self, inputs: tuple[Delta, ...], clock: int) -> Delta:
        """Join the arrivals with what is alive, then forget what has expired by `clock`."""
        born = []
        for i, delta in enumerate(inputs):
            self.counters.tuples_in += len(delta)
            self.seen[i] += len(delta)
            born.append(self.layout.joinable(i, delta).living())
            self.inputs[i].payload.admit(born[i].columns)
        total = sum(len(d) for d in born)
        before, payloads = self.state_rows() + total, tuple(h.payload for h in self.inputs)
        results = GatheredResults(self.match, payloads, int(1.1 * self.fan_out * total))
        for deltas, until in sliced(born, clock):
            if any(len(d) for d in deltas):
                self.loops.run(self._entered(deltas), results, self.counters)
            self._expire(until)
        self.counters.expiries += before - self.state_rows()
        self.counters.tuples_out += results.made
        if total >= FEW:  # what few arrivals find says little of the next step's
            self.fan_out = results.made / total
        return results.delta() if results.made else self.nothing

    def _entered(self, deltas: list[Delta]) -> Arrivals:
        """Store new rows; return what the loops read of them."""
        rows, layout = self.rows, self.layout
        counts = [len(d) for d in deltas]
        needed = [h.needed(c, self._spread(i)) for i, (h, c) in enumerate(self._with(counts))]
        arrivals = Arrivals.of(counts, layout.most_ports, layout.most_values)
        for i, capacity in enumerate(rows.reserve(needed)):
            shape, held, delta = rows.shapes[i], self.inputs[i], deltas[i]
            held.resize(capacity, int(shape[TAIL]), int(shape[HEAD]))
            if not len(delta):
                continue
            part = arrivals.part(i)
            exp = cast("I64", delta.exp)
            values = layout.value_words(i, delta)
            keep = keep_until(exp, dict(zip(layout.values[i], values, strict=True)), self.waits[i])
            numbers = held.add(delta, int(shape[HEAD]))
            if not held.ring:
                shape[HEAD] = held.top
            held.schedule(numbers, keep)
            arrivals.ts[part], arrivals.last[part] = delta.ts, exp
            arrivals.keep[part], arrivals.numbers[part] = keep, numbers
            for p, codes in enumerate(rows.encode(i, layout.key_words(i, delta))):
                arrivals.codes[p, part] = codes
            for v, words in enumerate(values):
                arrivals.values[v, part] = words
        rows.reserve_codes()
        return arrivals

    def _with(self, counts: list[int]) -> list[tuple[HeldRows, int]]:
        return list(zip(self.inputs, counts, strict=True))

    def _spread(self, which: int) -> int:
        shape = self.rows.shapes[which]
        return int(shape[HEAD] - shape[TAIL])

    def _expire(self, clock: int) -> None:
        """Forget what has expired by `clock`, and the codes that no row is left of."""
        rows, gone = self.rows, self.loops.gone
        rows.reserve_dead(0)
        if clock >= self.expire_at:
            self.expire_at = clock + (self.expire_every or 1)
            gone = pass_tails(clock, rows.state, gone)
            for i, held in enumerate(self.inputs):
                base = rows.shapes[i, BASE]
                numbers = held.ended(clock, rows.rows[base : base + held.top, KEEP])
                if len(numbers):
                    gone = take_out(numbers, i, rows.state, gone)
                    held.release(numbers)
        self.loops.settle(gone)

    def statistics(self) -> LoopStatistics:
        """Return what is known of the inputs."""
        return self.loops.statistics(self.seen, list(self.live()))

    def live(self) -> tuple[int, ...]:
        """Return how many rows of each input are stored."""
        return tuple(self._live(i) for i in range(len(self.inputs)))

    def _live(self, which: int) -> int:
        return self._spread(which) - self.inputs[which].frees

    def state_rows(self) -> int:
        """Return how many rows of all inputs are stored."""
        return sum(self.live())

    def state_bytes(self) -> int:
        """Return the exact size of rows, chains, codes and columns."""
        return self.rows.nbytes + sum(h.nbytes for h in self.inputs)

    def save(self) -> Saved:
        """Return the state for `load`."""
        return {
            "tables": [t.save() for t in self.rows.tables],
            "inputs": [self._saved(i) for i in range(len(self.inputs))],
            "expire_at": self.expire_at,
            "group": self.loops.group,
            "seen": list(self.seen),
            "orders": [list(o) for o in self.loops.orders],
        }

    def _saved(self, which: int) -> Saved:
        rows, numbers = self.rows, self.rows.taken(which)
        slots = rows.at(which, numbers)
        if not self.inputs[which].ring:
            age = np.argsort(rows.born[slots], kind="stable")
            numbers, slots = numbers[age], slots[age]
        places = numbers & rows.shapes[which, MASK]
        return {
            "tail": int(rows.shapes[which, TAIL]),
            "words": rows.rows[slots, : self.layout.width],
            "born": rows.born[slots],
            "payload": save_columns(self.inputs[which].payload.take(places)),
        }

    def load(self, saved: Saved) -> None:
        """Take over a saved state: rows are chained anew, oldest first."""
        tables = cast("list[Saved]", saved["tables"])
        self.rows.tables = [KeyTable.loaded(t) for t in tables]
        self.rows.reserve_codes()
        parts = cast("list[Saved]", saved["inputs"])
        sizes = [len(cast("I64", p["born"])) for p in parts]
        capacities = self.rows.reserve(sizes)
        for i, part in enumerate(parts):
            self._load(i, part, capacities[i])
        self.expire_at = cast("int", saved["expire_at"])
        self.loops.group = cast("int", saved["group"])
        self.seen = list(cast("list[int]", saved["seen"]))
        if "orders" in saved:  # states from before orders were saved go on in the plan's
            orders = cast("list[list[int]]", saved["orders"])
            self.loops.reorder(tuple(map(tuple, orders)))

    def _load(self, which: int, saved: Saved, capacity: int) -> None:
        rows, held, shape = self.rows, self.inputs[which], self.rows.shapes[which]
        words, born = cast("I64", saved["words"]), cast("I64", saved["born"])
        tail = cast("int", saved["tail"])
        columns = load_columns(held.payload.fields, cast("Saved", saved["payload"]))
        held.resize(capacity, 0, 0)
        held.payload.admit(columns)
        numbers = held.add(Delta(born, columns), tail)
        shape[TAIL], shape[HEAD] = tail, tail + len(born)
        slots = rows.at(which, numbers)
        rows.rows[slots, : self.layout.width] = words
        rows.born[slots] = born
        rows.link(which, numbers)
        held.schedule(numbers, words[:, KEEP].copy())

    def held(self, clock: int) -> tuple[Delta, ...]:
        """See `handover.Holding`."""
        return tuple(self._held(i, clock) for i in range(len(self.inputs)))

    def _held(self, which: int, clock: int) -> Delta:
        rows, layout, source = self.rows, self.layout, self.match.inputs[which]
        numbers = rows.taken(which)
        stored = rows.rows[rows.at(which, numbers)]
        columns: dict[str, Vector] = {}
        for c, codec in zip(layout.ports[which], layout.codecs[which], strict=True):
            words = rows.tables[c].words[stored[:, layout.code(which, c)]]
            names = self.match.equalities[c].columns[which]
            columns |= dict(zip(names, codec.columns(words), strict=True))
        for name in layout.values[which]:
            words = stored[:, layout.value(which, name)]
            columns[name] = layout.value_column(which, name, words)
        places = numbers & rows.shapes[which, MASK]
        columns |= self.inputs[which].payload.take(places)
        times = [b.band.left for b in self.match.bands if b.first == which]
        times += [b.band.right for b in self.match.bands if b.second == which]
        ordered = {n: columns[n] for n in source.schema.names if n in columns}
        ts = times_of(ordered, times, len(numbers), clock)
        return Delta(ts, ordered, stored[:, layout.exp].copy())

    def live_codes(self) -> list[I64]:
        """Return the interned codes that keys and rows refer to."""
        found: list[I64] = []
        for e, table in zip(self.match.equalities, self.rows.tables, strict=True):
            at = e.inputs[0]
            codec = equality_codec(e, self.match.inputs[at].schema, at)
            found += interned_words(codec.fields, table)
        for i, held in enumerate(self.inputs):
            numbers = self.rows.taken(i)
            places = numbers & self.rows.shapes[i, MASK]
            found += interned_codes(held.payload.fields, held.payload.take(places))
            slots = self.rows.at(i, numbers)
            for name in self.layout.values[i]:
                if is_interned(held.source.schema[name].type):
                    found.append(self.rows.rows[slots, self.layout.value(i, name)].copy())
        return found

    def check(self) -> None:
        """Assert the invariants of the state."""
        self.rows.check()
        for i, held in enumerate(self.inputs):
            held.check()
            assert len(self.rows.taken(i)) == self._live(i), "a row is lost"
