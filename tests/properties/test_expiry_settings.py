"""Under all settings of expiry the net changelog is one, and it shows when they say."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from tests.generate.catalog import DECLARATIONS
from tests.generate.effort import examples
from tests.generate.queries import queries
from tests.generate.streams import random_world, worlds_of
from tests.properties.test_engine_matches_oracle import STRATEGIES, assert_same, drives
from tests.properties.test_handover_is_invisible import FORMS, MEASURED
from tests.properties.test_negation_forms import WINDOWS
from tests.reference.drive import Drive, events, push_events, read, switch
from tests.reference.histories import Row, World

from windrow.core.time import BEGINNING
from windrow.operators.queued import Costs, LongestQueue, OldestFirst, Processor, RoundRobin, queue
from windrow.runtime.local.database import Database
from windrow.runtime.local.query import RunningQuery

pytestmark = pytest.mark.long

TIMELY = (
    (("expiry", "negative"),),
    (("expiry", "negative"), ("join_messages", "on")),
    (("expiry", "piggyback"),),
)
"""Settings under which an expiry shows at once."""

WAITING = (
    (("expiry", "input_triggered"),),
    (("expiry", "input_triggered"), ("punctuation", 3)),
)
"""Settings under which it waits for a tuple."""

SETTINGS = TIMELY + WAITING

Event = tuple[int, str, int, Row]
"""When, to what, with which sign, and the row."""


def settings_of(text: str) -> st.SearchStrategy[tuple[tuple[str, object], ...]]:
    """Any settings for a query; a bare number is no punctuation where no stream says of what."""
    db = Database()
    db.execute(DECLARATIONS)
    reads_streams = db.running(db.query(text).name).streams
    return st.sampled_from(SETTINGS if reads_streams else (*TIMELY, WAITING[0]))


@given(st.data())
@examples(90)
def test_every_setting_is_right_at_every_instant_in_the_end(data: st.DataObject) -> None:
    text = data.draw(queries())
    world = data.draw(worlds_of(text))
    plan = data.draw(drives(world))
    settings = data.draw(settings_of(text))
    plan = replace(plan, settings=settings, strategy="auto")
    note(f"{text}\n{plan}")
    assert_same(text, world, plan)


@st.composite
def happenings(draw: st.DrawFn, worlds: st.SearchStrategy[World]) -> list[Event]:
    """All that happens in a world, within an instant in any order, but for one stream's tuples."""
    found: list[Event] = []
    for _, same in groupby(events(draw(worlds)), key=lambda event: event[0]):
        happened = list(same)
        order = draw(st.permutations([name for _, name, _, _ in happened]))
        left = {name: iter([e for e in happened if e[1] == name]) for name in set(order)}
        found += [next(left[name]) for name in order]
    return found


def shown_step_by_step(
    text: str, happened: list[Event], plan: Drive, processor: Processor | None = None
) -> list[Counter[tuple[int, Row]]]:
    """Return what has been told after each event and after each tick without one, net.

    The plan's switches are after so many events.
    """
    db = Database(processor)
    db.execute(DECLARATIONS)
    query = db.query(text, strategy=plan.strategy, **dict(plan.settings))
    told: Counter[tuple[int, Row]] = Counter()
    shown = []

    def look() -> None:
        for ts, sign, row in read(query.changes()):
            told[ts, row] += sign
        db.running(query.name).check()
        shown.append(Counter({change: n for change, n in told.items() if n}))

    for i, event in enumerate(happened):
        push_events(db, [event], plan)
        look()
        for _, strategy, statistics in (s for s in plan.switches if s[0] == i):
            switch(db, query.name, strategy, statistics)
        later = happened[i + 1][0] if i + 1 < len(happened) else event[0] + 25
        if event[0] > BEGINNING and later > event[0] + 1:
            db.advance(later - 1)
            look()
    db.drain()
    look()
    return shown


@given(st.data())
@examples(60)
def test_timely_settings_show_what_a_batch_shows_and_when(data: st.DataObject) -> None:
    text, happened = data.draw(of_queries())
    settings = data.draw(st.sampled_from(TIMELY))
    note(f"{text}\n{settings}")
    strategy = "negative" if settings == TIMELY[0] else "auto"  # another plan may lag an instant
    truth = shown_step_by_step(text, happened, Drive(strategy))
    assert shown_step_by_step(text, happened, Drive("auto", settings=settings)) == truth


@given(st.data())
@examples(40)
def test_input_triggered_tells_the_same_changes_later(data: st.DataObject) -> None:
    text, happened = data.draw(of_queries())
    settings = data.draw(settings_of(text).filter(lambda found: found in WAITING))
    note(f"{text}\n{settings}")
    truth = shown_step_by_step(text, happened, Drive("auto"))
    mine = shown_step_by_step(text, happened, Drive("auto", settings=settings))
    assert mine[-1] == truth[-1]


@st.composite
def processors(draw: st.DrawFn) -> Processor:
    """A processor on which work takes some time, or none."""
    scheduler = draw(st.sampled_from((RoundRobin, LongestQueue, OldestFirst)))
    costs = Costs(
        entry=draw(st.sampled_from((0.0, 0.3, 2.0))),
        result=draw(st.sampled_from((0.0, 1.0))),
        expiry=draw(st.sampled_from((0.0, 0.5))),
    )
    return Processor(other=costs, scheduler=scheduler(draw(st.integers(1, 5))))


@given(st.data())
@examples(40)
def test_a_processor_changes_when_changes_show_and_not_which(data: st.DataObject) -> None:
    text, happened = data.draw(of_queries())
    settings = data.draw(st.one_of(settings_of(text), st.just(())))
    processor = data.draw(processors())
    note(f"{text}\n{settings}\n{processor}")
    truth = shown_step_by_step(text, happened, Drive("auto"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queue, "MANY", data.draw(st.sampled_from((1, queue.MANY))))
        mine = shown_step_by_step(text, happened, Drive("auto", settings=settings), processor)
    assert mine[-1] == truth[-1]


VERSIONED = (
    "SELECT a.v, n.w FROM a [{w1}], n WHERE a.k = n.k",
    "SELECT a.v, b.v, n.w FROM a [{w1}], b [{w2}], n WHERE a.k = b.k AND b.k <= n.k",
    "SELECT z.k, n.w FROM (SELECT DISTINCT k FROM a [{w1}]) AS z, n WHERE z.k <= n.k",
    "SELECT z.k, z.c, n.w FROM (SELECT k, COUNT(*) AS c FROM a [{w1}] GROUP BY k) AS z, n "
    "WHERE z.k <= n.k",
    "SELECT z.k, n.w FROM (SELECT DISTINCT r.k FROM r) AS z, n WHERE z.k <= n.k",
    "SELECT z.k, SUM(n.w) FROM (SELECT k FROM a [{w1}] UNION ALL SELECT k FROM b [{w2}]) AS z, n "
    "WHERE z.k <= n.k GROUP BY z.k",
)


@st.composite
def versioned(draw: st.DrawFn) -> tuple[str, list[Event]]:
    """A query of an NRR, and a world in which that changes often."""
    spans = {name: draw(st.sampled_from(WINDOWS)) for name in ("w1", "w2")}
    text = draw(st.sampled_from(VERSIONED)).format(**spans)
    names = [name for name in ("a", "b", "r", "n") if f" {name}" in text]
    dense = st.integers(0, 999).map(lambda seed: random_world(seed, rows=8, names=names))
    return text, draw(happenings(dense))


@st.composite
def of_queries(draw: st.DrawFn) -> tuple[str, list[Event]]:
    """Any query, and any world of what it reads."""
    text = draw(queries())
    return text, draw(happenings(worlds_of(text)))


@given(st.data())
@examples(60)
def test_what_meets_a_version_is_the_same_under_every_setting(data: st.DataObject) -> None:
    """A change of an NRR reaches none of its instant's rows that came before it, if any waits."""
    text, happened = data.draw(versioned())
    settings = data.draw(st.one_of(settings_of(text), st.just(())))
    processor = data.draw(st.none() | processors())
    note(f"{text}\n{settings}\n{processor}")
    truth = shown_step_by_step(text, happened, Drive("auto"))
    mine = shown_step_by_step(text, happened, Drive("auto", settings=settings), processor)
    assert mine[-1] == truth[-1]


@given(st.data())
@examples(60)
def test_a_processor_that_takes_no_time_shows_what_a_batch_shows_and_when(
    data: st.DataObject,
) -> None:
    """Also after an NRR has changed at an instant that rows have come to."""
    text, happened = data.draw(st.one_of(versioned(), of_queries()))
    note(text)
    truth = shown_step_by_step(text, happened, Drive("auto"))
    assert shown_step_by_step(text, happened, Drive("auto"), Processor()) == truth


@st.composite
def switching(draw: st.DrawFn, setting: tuple[tuple[str, object], ...], world: World) -> Drive:
    """A drive under an expiry with switches to strategies that go with it."""
    fitting = {TIMELY[0]: ("auto", "negative"), (): STRATEGIES}
    strategies = fitting.get(setting, ("auto", "upa", "direct"))
    switches = st.tuples(st.integers(0, 6), st.sampled_from(strategies), st.sampled_from(MEASURED))
    drawn = draw(st.lists(switches, min_size=1, max_size=4))
    plan = replace(draw(drives(world)), settings=setting, strategy="auto")
    return replace(plan, switches=tuple(drawn))


@st.composite
def forms_and_queries(draw: st.DrawFn) -> str:
    """A query whose plans differ, or any."""
    spans = {name: draw(st.sampled_from(WINDOWS)) for name in ("w1", "w2", "w3")}
    form = st.sampled_from(FORMS).map(lambda text: text.format(**spans))
    return draw(st.one_of(form, queries()))


@given(st.data())
@examples(60)
def test_a_switch_is_invisible_under_every_setting(data: st.DataObject) -> None:
    text = data.draw(forms_and_queries())
    world = data.draw(worlds_of(text))
    plan = data.draw(switching(data.draw(settings_of(text)), world))
    note(f"{text}\n{plan}")
    assert_same(text, world, plan)


@given(st.data())
@examples(60)
def test_timely_settings_are_timely_after_a_switch(data: st.DataObject) -> None:
    """Edges announce what operators have taken over, to the tick.

    So it is on a processor that takes no time, from any strategy to any other.
    """
    text = data.draw(forms_and_queries())
    world = data.draw(worlds_of(text))
    settings = data.draw(st.sampled_from((*TIMELY, ())))
    processor = None if settings else Processor()
    plan = data.draw(switching(settings, world))
    note(f"{text}\n{plan}")
    plain = replace(plan, settings=())
    if settings == TIMELY[0]:
        signed = tuple((at, "negative", statistics) for at, _, statistics in plan.switches)
        plain = replace(plain, strategy="negative", switches=signed)
    truth = shown_step_by_step(text, events(world), plain)
    assert shown_step_by_step(text, events(world), plan, processor) == truth


@given(st.data())
@examples(60)
def test_after_a_switch_as_many_messages_travel_as_in_a_query_without_one(
    data: st.DataObject,
) -> None:
    """As soon as all that was alive then has ended."""
    text = data.draw(forms_and_queries())
    world = data.draw(worlds_of(text))
    settings = data.draw(st.sampled_from(TIMELY))
    happened = events(world)
    at = data.draw(st.integers(0, max(0, len(happened) - 1)))
    note(f"{text}\n{settings}\nswitched after {at}")
    plan = Drive("auto", settings=settings)
    told = [messages_after(text, happened, plan, at, switches=s) for s in (False, True)]
    assert told[0] == told[1]


def messages_after(
    text: str, happened: list[Event], plan: Drive, at: int, *, switches: bool
) -> list[object]:
    """Return what operators are told after each event, from when all that is alive at one is not.

    After that event the plan is made anew, of the same form.
    """
    db = Database()
    db.execute(DECLARATIONS)
    query = db.query(text, strategy=plan.strategy, **dict(plan.settings))
    counted, alive = [], BEGINNING
    for i, event in enumerate(happened):
        push_events(db, [event], plan)
        running = db.running(query.name)
        if i == at:
            alive = last_end(running)
            if switches:
                switch(db, query.name, running.strategy, running.statistics)
        if i > at and running.clock > alive:
            counted.append(messages_told(running))
    told = [counts - counted[0] for counts in counted]
    return [n.tolist() for n in told]


def last_end(running: RunningQuery) -> int:
    """Return when the last row that edges have told of ends; FOREVER is no end."""
    assert running.pipeline is not None
    waiting = [table.ends for table in running.pipeline.announced.values()]
    return max((int(ends[-1]) for ends in waiting if len(ends)), default=running.clock)


def messages_told(running: RunningQuery) -> np.ndarray:
    """Return how many messages were put in each queue, read or dropped."""
    assert running.pipeline is not None
    counts = [q.counts for q in running.pipeline.queues.values()]
    return np.array([c.messages + c.purged for c in counts], np.int64)
