"""Random cases for the papers' oracle: queries, worlds, and what happens to the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from tests.generate.papers_queries import NRR, RELATION, STREAMS, Choices, QueryWriter
from tests.papers.script import (
    FAILING,
    Action,
    Advance,
    Case,
    Drop,
    Look,
    Push,
    Register,
    Reoptimize,
    Report,
    Restart,
    Timed,
    Update,
)
from tests.reference.papers.description import (
    Agg,
    Block,
    Col,
    Item,
    Query,
    Stream,
    Table,
    Window,
    is_stream,
    sources_of,
)
from tests.reference.papers.values import Row

STRATEGIES = ("upa", "auto", "negative", "direct")
GAPS = (0, 0, 0, 0, 1, 1, 1, 2, 3, 5)
KEYS = (1, 1, 1, 2, 2, None)
VALUES = (1, 1, 0, 2, None)
LATE = 3
"""The value of rows that may be late: no other row has it, so that none is deleted in its place."""

Event = tuple[int, int, str, int, Row]
"""(ts, order inside the instant, name, sign, row)."""


def random_case(
    seed: int, features: frozenset[str] = frozenset(), without: frozenset[str] = frozenset()
) -> Case:
    """Return the case that a seed makes; it has all of the features, if that can be."""
    case = None
    for attempt in range(60):
        choices = Choices(Random(f"{seed}/{attempt}"), features, without)
        case = _case(choices)
        if features <= case.features:
            break
    assert case is not None
    return case


def _case(choices: Choices) -> Case:
    rng = choices.rng
    count = rng.choice((2, 3)) if choices.use("many queries", 0.15) else 1
    queries = tuple(QueryWriter(choices).query() for _ in range(count))
    raises = None
    if count > 1 and choices.use("failing aggregate", 0.25):
        place, raises = rng.randrange(count), rng.choice((1, 2, 3))
        queries = (*queries[:place], failing_query(rng), *queries[place:])
    keyed = choices.use("keyed", 0.15)
    script, until = ScriptWriter(choices, queries, keyed=keyed).script()
    strategies = tuple(rng.choice(STRATEGIES) for _ in queries)
    for strategy in strategies:
        choices.note(strategy)
    return Case(queries, strategies, script, until, keyed, raises, frozenset(choices.used))


def calls_failing(query: Query) -> bool:
    """Whether a query's own aggregate may raise, so that its answer is unknown from then on."""
    body = query.body
    calls = (i.expr for i in body.items) if isinstance(body, Block) else ()
    return any(isinstance(call, Agg) and call.function == FAILING for call in calls)


def failing_query(rng: Random) -> Query:
    """A query whose aggregate, the user's own, raises once: others must not suffer from it."""
    source = Stream(rng.choice(STREAMS), "u", Window("range", 5))
    return Query(Block((source,), (Item(Agg(FAILING, Col("u", "k")), "c1"),)))


@dataclass(slots=True)
class ScriptWriter:
    """Writes what happens: events in time order, cut into pushes, with queries between them."""

    choices: Choices
    queries: Sequence[Query]
    keyed: bool
    rows: dict[str, list[Row]] = field(default_factory=dict)
    reached: int | None = None

    @property
    def rng(self) -> Random:
        return self.choices.rng

    def script(self) -> tuple[tuple[Action, ...], int]:
        """All actions, and the last instant."""
        names = {
            s.name
            for query in self.queries
            for s in sources_of(query.body)
            if isinstance(s, Stream | Table)
        }
        first = [self._static(name) for name in (NRR, RELATION) if name in names]
        start = self.rng.choice((0, 0, 0, 3, -4))
        events = self._events(names, start)
        batches = self._batches(events)
        actions: list[Action] = []
        places = self._places(len(batches))
        for number in range(len(batches) + 1):
            if number == 0:
                early = [a for a in first if a and self.rng.random() < 0.6]
                actions += early
                actions += self._between(number, places)
                actions += [a for a in first if a and a not in early]
            else:
                actions += self._between(number, places)
            if number < len(batches):
                actions += self._batch(batches[number])
        last = max([start, *(e[0] for e in events)])
        until = last + self.rng.choice((0, 1, 3, 6, 12))
        return tuple(actions), until

    # ------------------------------------------------------------------ events

    def _static(self, name: str) -> Update | None:
        """Rows that are there before every instant."""
        if not self.choices.use("static rows", 0.5):
            return None
        changes: list[Timed] = []
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            changes += [(None, sign, row) for sign, row in self._change(name, "insert")]
        return Update(name, tuple(changes)) if changes else None

    def _events(self, names: set[str], start: int) -> list[Event]:
        streams = [name for name in STREAMS if name in names]
        events: list[Event] = []
        for name in streams:
            now = start + self.rng.choice((0, 0, 1, 2))
            for _ in range(self.rng.choice((0, 1, 2, 3, 3, 4, 5, 6))):
                now += 20 if self.choices.use("gap", 0.01) else self.rng.choice(GAPS)
                events.append((now, 2, name, 1, self._tuple(now)))
        both = {NRR, RELATION} <= names  # tuples first, then the NRR, then the relation, mostly
        for order, name in ((0, NRR), (1, RELATION)):
            if name in names and self.choices.use("timed changes", 0.95 if both else 0.7):
                first = ((1, 2, 3), (3, 4, 6))[order] if both else (0, 0, 1, 3)
                now = start + self.rng.choice((-1, *first))
                for _ in range(self.rng.choice((1, 1, 2, 3, 4))):
                    now += self.rng.choice(GAPS)
                    kind = self.rng.choice(("insert", "insert", "delete", "update"))
                    events += [(now, order, name, s, row) for s, row in self._change(name, kind)]
        self.rng.shuffle(streams)
        place = {name: i for i, name in enumerate(streams)}
        return sorted(events, key=lambda e: (e[0], e[1], place.get(e[2], 0) if self.keyed else 0))

    def _tuple(self, ts: int) -> Row:
        return ts, self.rng.choice(KEYS), self.rng.choice(VALUES)

    def _change(self, name: str, kind: str) -> list[tuple[int, Row]]:
        """Signs and rows of an insertion, a deletion or an update."""
        rows = self.rows.setdefault(name, [])
        made: list[tuple[int, Row]] = []
        if kind != "insert" and rows:
            gone = rows.pop(self.rng.randrange(len(rows)))
            made.append((-1, gone))
        if kind != "delete":
            key = self.rng.choice((1, 2)) if self.keyed else self.rng.choice(KEYS)
            row: Row = (key, self.rng.choice(VALUES))
            if self.keyed:
                rows[:] = [r for r in rows if r[0] != key]
            rows.append(row)
            made.append((1, row))
        return made

    def _batches(self, events: list[Event]) -> list[list[Event]]:
        """Cut events anywhere but before a relation's change whose instant has been reached."""
        share = self.rng.choice((0.1, 0.4, 1.0))
        batches: list[list[Event]] = []
        for i, event in enumerate(events):
            free = i > 0 and (event[1] == 2 or event[0] > events[i - 1][0])
            if not batches or (free and self.rng.random() < share):
                batches.append([])
            batches[-1].append(event)
        return batches

    def _batch(self, batch: list[Event]) -> list[Action]:
        """Push a batch, relations first; then perhaps a heartbeat."""
        actions: list[Action] = []
        for name in (NRR, RELATION):
            changes = tuple((ts, sign, row) for ts, _, n, sign, row in batch if n == name)
            if changes:
                earliest = min((e[0] for e in batch if e[1] == 2), default=None)
                actions += self._update(name, changes, earliest)
        order = [name for name in STREAMS if any(e[2] == name for e in batch)]
        self.rng.shuffle(order)
        for name in order:
            actions.append(Push(name, tuple(e[4] for e in batch if e[2] == name)))
        self.reached = batch[-1][0]
        actions += self._late_change(self.reached)
        if self.choices.use("heartbeat", 0.5):
            stream = self.rng.choice(STREAMS) if self.rng.random() < 0.2 else None
            actions.append(Advance(self.reached, stream))
        return actions

    def _update(self, name: str, changes: tuple[Timed, ...], earliest: int | None) -> list[Action]:
        """Changes with their times, or, if all are of one instant, made when it is reached."""
        [first, *others] = sorted({ts for ts, _, _ in changes if ts is not None})
        reachable = name == RELATION and not others and (earliest is None or earliest >= first)
        if reachable and self.choices.use("untimed changes", 0.25):
            return [Advance(first), Update(name, tuple((None, s, row) for _, s, row in changes))]
        return [Update(name, changes)]

    def _late_change(self, reached: int) -> list[Action]:
        """A row of a relation whose time may be behind the query's clock; rows there stay."""
        alone = len(self.queries) == 1 and "late registration" not in self.choices.used
        if self.keyed or not alone or not self._reads_relation():
            return []
        if not self.choices.use("late change", 0.08):
            return []
        row: Row = (self.rng.choice(KEYS), LATE)
        return [Update(RELATION, ((reached - self.rng.choice((1, 1, 2, 4)), 1, row),))]

    def _reads_relation(self) -> bool:
        sources = (s for query in self.queries for s in sources_of(query.body))
        return any(isinstance(s, Table) and s.retroactive for s in sources)

    # ------------------------------------------------------------------ what queries do

    def _places(self, batches: int) -> dict[int, list[Action]]:
        """Where queries are registered, looked at, restarted, reported and dropped."""
        places: dict[int, list[Action]] = {}
        for number, query in enumerate(self.queries):
            born, ends = 0, batches
            if batches > 1 and self.choices.use("late registration", 0.12):
                born = self.rng.randrange(1, batches)
            dropped = len(self.queries) > 1 and born < batches and self.choices.use("drop", 0.15)
            if dropped:
                ends = self.rng.randint(born + 1, batches)
            places.setdefault(born, []).append(Register(number))
            for action in self._of_query(number, query):
                at = born if isinstance(action, Report) else self.rng.randint(born, ends)
                places.setdefault(at, []).append(action)
            if dropped:
                places.setdefault(ends, []).append(Drop(number))
        return places

    def _of_query(self, number: int, query: Query) -> list[Action]:
        """What happens to one query while it stands."""
        actions: list[Action] = []
        view, use = not is_stream(query), self.choices.use
        if calls_failing(query):
            return actions
        if view and use("look", 0.35):
            actions.append(Look(number))
        if view and use("failing report", 0.06):
            actions.append(Report(number, self.rng.choice((1, 2, 3)), self.rng.choice((1, 1, 2))))
        elif use("restart", 0.15):
            actions.append(Restart(number))
        elif use("reoptimize", 0.15):
            strategy = self.rng.choice((None, *STRATEGIES))
            actions.append(Reoptimize(number, strategy))
        return actions

    def _between(self, number: int, places: dict[int, list[Action]]) -> list[Action]:
        return places.get(number, [])
