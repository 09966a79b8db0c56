"""The queries of Nexmark: DuckDB answers the same, at every instant that is looked at."""

import pyarrow as pa
import pytest

import windrow as wr
from windrow.cli.bench.nexmark.oracle import ANSWERS, Oracle
from windrow.core.errors import InputError
from windrow.generate.nexmark.declarations import declarations
from windrow.generate.nexmark.events import STREAMS, batches, side_input
from windrow.generate.nexmark.queries import NAMES, nexmark_query
from windrow.generate.nexmark.scale import SECOND, Nexmark

SCALE = Nexmark(events=12_000, rate=200)
"""A minute: windows of ten seconds fill and slide."""
DAYS = Nexmark(events=6_000, rate=1, group=40)
"""Some hours, across times of day, out of order."""
INSTANTS = 7
LONG_AUCTIONS = ("q4", "q6", "q9")
"""They remember auctions for 20 seconds: enough from 170 events a second up."""


class World:
    def __init__(self, scale: Nexmark) -> None:
        self.scale = scale
        self.batches = list(batches(scale, 1_700))
        whole = {n: pa.concat_tables(b[n] for b in self.batches) for n in STREAMS}
        self.oracle = Oracle(whole)

    def changes(self, name: str) -> pa.Table:
        with wr.connect() as db:
            db.execute(declarations(self.scale))
            db.push("side_input", side_input())
            db.execute(nexmark_query(name).script)
            told = [db.query(name).changes()]
            for batch in self.batches:
                for stream in db.streams_of(name):
                    db.push(stream, batch[stream])
                    told.append(db.query(name).changes())
            db.drain()
            return pa.concat_tables([*told, db.query(name).changes()])

    def difference(self, name: str, changes: pa.Table) -> str:
        return self.oracle.difference(ANSWERS[name], changes, self.oracle.instants(INSTANTS))


@pytest.fixture(scope="module")
def minute() -> World:
    return World(SCALE)


@pytest.fixture(scope="module")
def hours() -> World:
    return World(DAYS)


@pytest.mark.parametrize("name", NAMES)
def test_duckdb_answers_the_same(minute: World, name: str) -> None:
    changes = minute.changes(name)
    assert len(changes) > 0
    assert minute.difference(name, changes) == ""


@pytest.mark.parametrize("name", [n for n in NAMES if n not in LONG_AUCTIONS])
def test_duckdb_answers_the_same_over_hours_and_out_of_order(hours: World, name: str) -> None:
    assert hours.difference(name, hours.changes(name)) == ""


@pytest.mark.parametrize("name", ["q0", "q5", "q9", "q16"])
def test_a_change_that_is_lost_or_told_twice_is_seen(minute: World, name: str) -> None:
    changes = minute.changes(name)
    assert "rows are missing" in minute.difference(name, changes.slice(1))
    assert "rows are missing" in minute.difference(name, pa.concat_tables([changes] * 2))


def test_every_query_has_a_kind_a_line_and_an_answer() -> None:
    assert set(ANSWERS) == set(NAMES)
    assert {nexmark_query(name).kind for name in NAMES} == {"same", "windowed"}
    assert all(nexmark_query(name).about for name in NAMES)


def test_a_windowed_form_says_what_was_changed() -> None:
    for name in NAMES:
        query = nexmark_query(name)
        assert (query.kind == "windowed") == ("-- Changed: " in query.script), name


def test_an_unknown_query_is_refused() -> None:
    with pytest.raises(InputError, match="no Nexmark query"):
        nexmark_query("q23")


def test_no_auction_outlives_what_the_joins_remember() -> None:
    assert Nexmark().longest_auction < SCALE.longest_auction < 20 * SECOND
