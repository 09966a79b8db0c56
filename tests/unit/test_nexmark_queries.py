"""The queries of Nexmark: DuckDB answers the same, at every instant that is looked at."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from click.testing import CliRunner

import windrow as wr
from windrow.cli.main import windrow
from windrow.core.errors import InputError
from windrow_lab.generate.nexmark.declarations import declarations
from windrow_lab.generate.nexmark.events import STREAMS, batches, side_input
from windrow_lab.generate.nexmark.scale import SECOND, STORED_FOR, Nexmark, forgetting
from windrow_lab.nexmark.oracle import ANSWERS, Oracle
from windrow_lab.nexmark.queries import NAMES, nexmark_query

pytestmark = pytest.mark.long

SCALE = Nexmark(events=12_000, rate=200)
"""A minute: windows of ten seconds fill and slide."""
DAYS = Nexmark(events=6_000, rate=1, group=40)
"""Some hours, across times of day, out of order."""
INSTANTS = 7
LONG_AUCTIONS = ("q4", "q6", "q9")
"""They store auctions for 20 seconds: enough from 170 events a second up."""


class World:
    def __init__(self, scale: Nexmark) -> None:
        self.scale = scale
        self.batches = list(batches(scale, 1_700))
        whole = {n: pa.concat_tables(b[n] for b in self.batches) for n in STREAMS}
        self.oracle = Oracle(whole)

    def changes(self, name: str, side: pa.Table | None = None) -> pa.Table:
        with wr.connect() as db:
            db.execute(declarations(self.scale))
            db.push("side_input", side_input() if side is None else side)
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


def test_q13_looks_bids_up_by_key_and_tells_the_value(minute: World) -> None:
    """In the table that is shipped both are the same number; here no value is a key."""
    key = side_input()["key"]
    other = pa.table({"key": key, "value": pc.subtract(30_000, key)})
    changes = minute.changes("q13", other)
    answer = "SELECT auction, bidder, price, dateTime, 30000 - auction % 10000 FROM b"
    assert minute.oracle.difference(answer, changes, minute.oracle.instants(INSTANTS)) == ""
    assert minute.difference("q13", changes) != ""


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


def test_what_the_joins_store_is_what_is_said() -> None:
    for name in NAMES:
        spans = re.findall(r"DWINDOW\(a, b\) = (\d+) SECONDS", nexmark_query(name).script)
        assert spans == ([str(STORED_FOR // SECOND)] if name in LONG_AUCTIONS else []), name
    assert Nexmark().longest_auction < SCALE.longest_auction < STORED_FOR


@pytest.mark.parametrize("name", LONG_AUCTIONS)
def test_it_is_said_where_auctions_outlive_what_the_joins_store(
    hours: World, minute: World, name: str
) -> None:
    assert "store them for 20" in forgetting(hours.scale)
    assert name in forgetting(hours.scale)
    assert hours.difference(name, hours.changes(name)) != ""
    assert forgetting(minute.scale) == ""


@pytest.mark.parametrize(("rate", "warns"), [(160, True), (170, False)])
def test_generate_warns_of_auctions_that_run_too_long(
    tmp_path: Path, rate: int, warns: bool
) -> None:
    args = ["generate", "nexmark", "--out", str(tmp_path), "--events", "200", "--files", "1"]
    done = CliRunner().invoke(windrow, [*args, "--rate", str(rate)])
    assert done.exit_code == 0, done.output
    assert ("warning: auctions run for up to 21 seconds" in done.stderr) == warns
    script = (tmp_path / "streams.cql").read_text()
    assert script.startswith("-- Note: auctions run") == warns
    with wr.connect() as db:
        note = script[: script.index("CREATE")]
        db.execute(note + declarations(Nexmark(rate=rate)) + nexmark_query("q4").script)
