"""Relations that change before and after queries are registered, with times and without.

relations.md: "A new query sees a relation as it is." A query of relations alone is kept as any
other is. A change behind the clock of a query that reads the relation is late, as a tuple is
(issue: "count it and show it as late rows are shown").
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pyarrow as pa
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from tests.generate.catalog import DECLARATIONS, NRR, RELATION, STREAMS, bind
from tests.generate.effort import examples
from tests.generate.streams import KEYS, NUMBERS, TEXTS
from tests.properties.test_engine_matches_oracle import STRATEGIES
from tests.reference.drive import net_at, read, stream_table
from tests.reference.histories import Change, RelationHistory, Row, StreamHistory, World, same_rows
from tests.reference.oracle import Oracle

from windrow.core.time import BEGINNING
from windrow.plan.functions.moments import FIRST_MOMENT
from windrow.plan.nodes import Query, Scan, Table, nodes_of
from windrow.runtime.local.database import Database
from windrow.runtime.local.handle import QueryHandle

OF_RELATIONS = (
    "SELECT COUNT(*) AS c FROM r",
    "SELECT k, w FROM r",
    "SELECT k, COUNT(*) AS c, SUM(w) AS t FROM r GROUP BY k",
    "SELECT DISTINCT s FROM r",
    "SELECT r.k, e.w FROM r, r AS e WHERE r.k = e.k",
    "SELECT k, w FROM r ORDER BY w, k LIMIT 2",
    "SELECT k FROM r EXCEPT SELECT w FROM r",
    "SELECT k FROM r WHERE NOT EXISTS (SELECT * FROM r AS e WHERE e.w = r.k)",
    "ISTREAM(SELECT k, w FROM r)",
)
OF_STREAMS = (
    "SELECT a.id, r.w FROM a [RANGE 6], r WHERE a.k = r.k",
    "SELECT a.id, r.w, n.s FROM a [ROWS 2], r, n WHERE a.k = r.k AND a.k = n.k",
    "SELECT a.id, n.w FROM a [RANGE 9], n WHERE a.k = n.k",
    "SELECT k, v FROM b [RANGE 4] UNION ALL SELECT k, w FROM r",
    "SELECT a.id FROM a [RANGE 6] WHERE NOT EXISTS (SELECT * FROM r WHERE r.k = a.k)",
    "SELECT COUNT(*) AS c FROM a [RANGE 6 SLIDE 3], r WHERE a.k = r.k",
    "SELECT a.id, b.id FROM a [RANGE 6], b [RANGE 6], r WHERE a.k = b.k AND a.k = r.k",
)
ROWS = st.tuples(*map(st.sampled_from, (KEYS, NUMBERS, TEXTS)))
DECLARED = [line for line in DECLARATIONS.split("\n") if "STREAM" not in line]


@dataclass
class Known:
    """A relation as the model has it: when each change takes effect, and for whom."""

    changes: list[tuple[int | None, int, int, Row]] = field(default_factory=list)
    late: int = 0
    passed: int = BEGINNING

    def copies(self, row: Row) -> int:
        return sum(sign for *_, sign, r in self.changes if r == row)


@dataclass
class Standing:
    """A registered query, and what the definition says that it has seen."""

    handle: QueryHandle
    query: Query
    begins: int | None
    relations: dict[str, list[Change]]
    streams: dict[str, list[Row]]
    seen: list[Change] = field(default_factory=list)

    @property
    def reads(self) -> set[str]:
        nodes = nodes_of(self.query.root)
        return {
            n.relation.name if isinstance(n, Table) else n.stream.name  # type: ignore[union-attr]
            for n in nodes
            if isinstance(n, Scan | Table)
        }

    def oracle(self, until: int | None) -> Oracle:
        world = World(
            {s: StreamHistory(self.streams.get(s, [])) for s in STREAMS},
            {r: RelationHistory(self.relations.get(r, [])) for r in (RELATION, NRR)},
        )
        return Oracle(self.query, world, until=until, begins=self.begins)


class Story:
    """A database and the model of it, side by side."""

    def __init__(self, *, streams: bool) -> None:
        self.db = Database()
        self.db.execute(DECLARATIONS if streams else "".join(DECLARED))
        self.streams = dict.fromkeys(STREAMS, BEGINNING) if streams else {}
        self.known = {RELATION: Known(), NRR: Known()}
        self.newest = dict.fromkeys((RELATION, NRR), BEGINNING)
        self.standing: list[Standing] = []
        self.done: list[Standing] = []

    # ------------------------------------------------------------------ the model

    def clock(self, reads: set[str]) -> int:
        """semantics.md 4: the least of its streams; of relations alone, the newest of all."""
        own = [self.streams[s] for s in self.streams if s in reads]
        if own:
            return min(own)
        known = list(self.streams.values()) or [self.newest[r] for r in reads]
        return max(FIRST_MOMENT, *known)

    def answered(self, one: Standing) -> int:
        clock = self.clock(one.reads)
        begun = one.begins is not None or any(
            ts > BEGINNING
            for name, changes in one.relations.items()
            if name == RELATION
            for ts, _, _ in changes
            if ts <= clock
        )
        return clock if begun or clock > FIRST_MOMENT else BEGINNING

    def register(self, text: str, strategy: str) -> None:
        query = bind(text)
        one = Standing(self.db.query(text, strategy=strategy), query, None, {}, {})
        clock = self.clock(one.reads)
        for name in one.reads & self.known.keys():
            for ts, pushed, sign, row in self.known[name].changes:
                at = pushed if ts is None else ts
                if at <= clock and clock > BEGINNING and name == RELATION:
                    one.begins = clock
                at = BEGINNING if at <= clock else at
                one.relations.setdefault(name, []).append((at, sign, row))
        self.standing.append(one)
        self.look(one)

    def change(self, name: str, ts: int | None, sign: int, row: Row) -> None:
        known = self.known[name]
        readers = [one for one in self.standing if name in one.reads]
        reached = max([known.passed, *map(self.answered, readers)])
        now = max(self.streams.values() or self.newest.values())
        times = [pushed if t is None else t for t, pushed, _, r in known.changes if r == row]
        if sign < 0 and (known.copies(row) < 1 or (now if ts is None else ts) < max(times)):
            return  # deletions of what is not there, or not yet, are tested elsewhere
        met = {row[0] for one in readers for rows in one.streams.values() for row in rows}
        if name == NRR and (now if ts is None else ts) in met:
            return  # it does not reach tuples of its instant that were answered before it
        pushed = {"k": [row[0]], "w": [row[1]], "s": [row[2]], "_sign": [sign]}
        if ts is not None:
            pushed["_ts"] = [ts]
        types = {"k": pa.int64(), "w": pa.int64(), "s": pa.string()}
        self.db.push(
            name, pa.table({n: pa.array(v, types.get(n, pa.int64())) for n, v in pushed.items()})
        )
        if ts is not None and ts < reached:
            known.late += 1
            return
        known.changes.append((ts, now, sign, row))
        self.newest[name] = max(self.newest[name], now if ts is None else ts)
        for one in readers:
            alone = not any(s in one.reads for s in self.streams)
            at = now if ts is None else ts
            if ts is None and alone:
                at = max(now, self.clock(one.reads))
            one.relations.setdefault(name, []).append((at, sign, row))

    def arrive(self, name: str, gap: int, values: Row) -> None:
        ts = max(self.streams[name], -5) + gap
        row = (ts, ts, *values)
        self.streams[name] = ts
        self.db.push(name, stream_table([row]))
        for one in self.standing:
            if name in one.reads:
                one.streams.setdefault(name, []).append(row)

    def advance(self, gap: int) -> None:
        at = max(-5, *self.streams.values()) + gap
        self.streams = dict.fromkeys(self.streams, at)
        self.db.advance(at)

    def drop(self, which: int) -> None:
        if self.standing:
            one = self.standing.pop(which % len(self.standing))
            self.look(one)
            for name in one.reads & self.known.keys():
                known = self.known[name]
                known.passed = max(known.passed, self.answered(one))
            self.db.execute(f"DROP QUERY {one.handle.name}")

    # ------------------------------------------------------------------ what is checked

    def look(self, one: Standing) -> None:
        """The answer is what has been emitted, and is right; so is every instant up to now."""
        one.seen += read(one.handle.changes())
        streams = one.query.text.startswith("ISTREAM")  # it waits until an instant is over
        clock = self.clock(one.reads) - streams
        oracle = one.oracle(clock)
        known = [at for at in oracle.instants() if BEGINNING < at <= clock]
        if not known or clock == BEGINNING:
            assert one.seen == []
            return
        truth = oracle.answers(known)
        for at, mine in zip(known, net_at(one.seen, known), strict=True):
            assert same_rows(mine, truth[at]), f"{one.query.text} at {at}: {mine}, not {truth[at]}"
        if not streams:
            answer = Counter(map(tuple, (r.values() for r in one.handle.answer().to_pylist())))
            assert same_rows(answer, truth[known[-1]]), f"{one.query.text}: shows {answer}"


ACTIONS = ("change", "untimed", "register", "arrive", "advance", "drop", "change", "look")


@given(st.data())
@examples(8)
def test_queries_see_relations_as_they_are(data: st.DataObject) -> None:
    tell(data)


@pytest.mark.long
@given(st.data())
@examples(120)
def test_so_it_is_in_many_stories(data: st.DataObject) -> None:
    tell(data)


def tell(data: st.DataObject) -> None:
    """Let things happen at random, and look at all answers meanwhile."""
    story = Story(streams=data.draw(st.booleans()))
    texts = (*OF_RELATIONS, *OF_STREAMS) if story.streams else OF_RELATIONS
    for _ in range(data.draw(st.integers(2, 14))):
        action = data.draw(st.sampled_from(ACTIONS))
        match action:
            case "change" | "untimed":
                name = data.draw(st.sampled_from([RELATION, RELATION, NRR]))
                ts = None if action == "untimed" else data.draw(st.integers(-4, 25))
                rows = [r for *_, r in story.known[name].changes]
                sign = data.draw(st.sampled_from([1, 1, -1])) if rows else 1
                row = data.draw(st.sampled_from(rows) if sign < 0 else ROWS)
                story.change(name, ts, sign, row)
            case "register":
                text = data.draw(st.sampled_from(texts))
                story.register(text, data.draw(st.sampled_from(STRATEGIES)))
            case "arrive" if story.streams:
                values = (data.draw(st.sampled_from(KEYS)), 1, "a", 0.5, 7)
                name = data.draw(st.sampled_from(["a", "b"]))
                story.arrive(name, data.draw(st.integers(0, 4)), values)
            case "advance" if story.streams:
                story.advance(data.draw(st.integers(0, 4)))
            case "drop":
                story.drop(data.draw(st.integers(0, 3)))
            case "look":
                for one in story.standing:
                    story.look(one)
        note(action)
    for one in story.standing:
        story.look(one)
    for name, known in story.known.items():
        assert len(story.db.late(name)) == known.late
