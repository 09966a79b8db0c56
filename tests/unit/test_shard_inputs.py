"""What shards make of late tuples that several queries read, and of relations without a stream."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from tests.generate.effort import examples
from tests.generate.queries import queries
from tests.reference.shards import ShardedDrive, ShardSet, program_of

import windrow as wr
from windrow.core.time import BEGINNING
from windrow.plan.catalog import Stream
from windrow.plan.nodes import Route
from windrow.runtime.shards.layout import layout_of
from windrow.runtime.shards.program import Program

STREAMS = """
CREATE STREAM a (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts;
CREATE STREAM b (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts;
"""
OWNERS = "CREATE RELATION owners (k BIGINT, owner STRING);"
BY_OWNER = "SELECT owner, COUNT(*) AS n FROM owners GROUP BY owner"


def tuples(*times: int) -> pa.Table:
    seconds = pa.array([t * 1_000_000 for t in times], pa.int64())
    return pa.table({"_ts": seconds, "k": pa.array(times, pa.int64())})


def dealt(shards: ShardSet, rows: dict[str, pa.Table]) -> dict[int, pa.Table]:
    ports = [p for p in shards.layout.ports if p.entry is not None and p.entry.name in rows]
    return {p.number: rows[p.entry.name] for p in ports if p.entry is not None}


@given(queries())
@examples(50)
def test_no_stream_goes_to_all_shards(text: str) -> None:
    """So no late tuple is counted, or kept, by more than one."""
    for port in layout_of(program_of(text, ShardedDrive())).ports:
        assert not (isinstance(port.entry, Stream) and port.route is Route.ALL), text


def test_late_tuples_that_several_queries_read_are_counted_once() -> None:
    several = """
    CREATE QUERY pairs AS SELECT a.k, b.k AS l FROM a [RANGE 10 SECONDS], b [RANGE 10 SECONDS];
    CREATE QUERY both AS SELECT a.k FROM a [RANGE 10 SECONDS] JOIN b [RANGE 9 SECONDS] ON a.k = b.k;
    CREATE QUERY few AS SELECT k, COUNT(*) AS n FROM a [RANGE 10 SECONDS] WHERE k < 3 GROUP BY k;
    """
    shards = ShardSet(Program(STREAMS + several, ("pairs", "both", "few"), shards=3))
    shards.batch(dealt(shards, {"a": tuples(20), "b": tuples(20)}), {})
    shards.batch(dealt(shards, {"a": tuples(5, 21), "b": tuples(6, 7, 22)}), {})
    late = Counter({"a": 0, "b": 0})
    for shard in shards.shards:
        late.update(shard.late)
    assert late == {"a": 1, "b": 2}


def changes_of_owners(*rows: tuple[int, int, str]) -> pa.Table:
    """Changes at seconds: a row comes, or by a negative key goes."""
    return pa.table(
        {
            "_ts": pa.array([t * 1_000_000 for t, *_ in rows], pa.int64()),
            "_sign": pa.array([1 if k > 0 else -1 for _, k, _ in rows], pa.int64()),
            "k": pa.array([abs(k) for _, k, _ in rows], pa.int64()),
            "owner": pa.array([owner for *_, owner in rows], pa.string()),
        }
    )


BATCHES = [
    (changes_of_owners((1, 1, "ada"), (3, 2, "bob")), 4),
    (changes_of_owners((5, 3, "ada"), (9, -1, "ada")), 7),
    (changes_of_owners((12, 4, "eve")), 8),
]
"""Changes, and how far a stream has come after them; the last ones lie ahead of it at the end."""


@pytest.mark.parametrize("with_stream", [True, False])
@pytest.mark.parametrize("shards", [1, 3])
def test_a_query_of_relations_alone_tells_the_same_on_shards(
    shards: int, *, with_stream: bool
) -> None:
    """With a stream it goes with the stream; alone, with the newest change."""
    expected = told_here(with_stream=with_stream)
    script = f"{OWNERS}CREATE QUERY q AS {BY_OWNER};"
    names: tuple[str, ...] = ("q",)
    if with_stream:
        script += f"{STREAMS}CREATE QUERY other AS SELECT k AS x FROM a [RANGE 1 SECOND];"
        names = ("q", "other")
    there = ShardSet(Program(script, names, shards=shards))
    found = Counter()
    for changes, reached in BATCHES:
        weighed = changes.rename_columns(["_ts", "_weight", "k", "owner"])
        rows = {"owners": weighed, "a": tuples(reached)}
        found += counted(there.batch(dealt(there, rows), {}))
    found += counted(there.batch({}, {}, drain=True))
    assert found == expected
    assert max(ts for ts, *_ in found) == (5_000_000 if with_stream else 12_000_000)


@pytest.mark.parametrize("with_stream", [True, False])
@pytest.mark.parametrize("shards", [1, 3])
def test_rows_without_times_are_shown_when_they_are_heard_of(
    shards: int, *, with_stream: bool
) -> None:
    """Also by a query of relations alone, before any time is known; and they are never late."""
    names = ("q", "other") if with_stream else ("q",)
    other = f"{STREAMS}CREATE QUERY other AS SELECT k AS x FROM a [RANGE 1 SECOND];"
    script = f"{OWNERS}CREATE QUERY q AS {BY_OWNER};" + (other if with_stream else "")
    there = ShardSet(Program(script, names, shards=shards))
    found = Counter()
    for owner in ("ada", "bob", "ada"):
        rows = changes_of_owners((0, 1, owner)).rename_columns(["_ts", "_weight", "k", "owner"])
        untimed = rows.set_column(0, "_ts", pa.array([BEGINNING], pa.int64()))
        found += counted(there.batch(dealt(there, {"owners": untimed}), {}))
        there.restart()
    shown = Counter()
    for (_, sign, *row), copies in found.items():
        shown[tuple(row)] += sign * copies
    assert {row: n for row, n in shown.items() if n} == {("ada", 2): 1, ("bob", 1): 1}
    assert not any(sum(s.late.values()) for s in there.shards)


@pytest.mark.parametrize("shards", [1, 3])
def test_changes_of_relations_behind_the_clock_are_late_on_shards(shards: int) -> None:
    script = (
        OWNERS
        + STREAMS
        + """
    CREATE QUERY q AS SELECT a.k, owner FROM a [RANGE 60 SECONDS] JOIN owners ON a.k = owners.k;
    """
    )
    there = ShardSet(Program(script, ("q",), shards=shards))
    found = Counter()
    for reached, changes in (
        (10, [(3, 10, "ada")]),
        (12, [(9, 10, "late"), (10, 10, "bob"), (8, -10, "ada")]),
        (14, [(12, 10, "joe")]),
    ):
        rows = changes_of_owners(*changes).rename_columns(["_ts", "_weight", "k", "owner"])
        found += counted(there.batch(dealt(there, {"owners": rows, "a": tuples(reached)}), {}))
        there.restart()
    assert {owner for *_, owner in found} == {"ada", "bob", "joe"}
    assert all(sign > 0 for _, sign, *_ in found)
    assert sum(s.late["owners"] for s in there.shards) == 2


KEYED = """
CREATE STREAM a (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts;
CREATE RELATION hosts (k BIGINT PRIMARY KEY, owner STRING){using};
CREATE NON RETROACTIVE RELATION prices (k BIGINT PRIMARY KEY, price BIGINT){using};
"""
BY_KEY = {
    "owned": "SELECT a.k, owner FROM a [RANGE 6 SECONDS] JOIN hosts ON a.k = hosts.k",
    "paid": "SELECT a.k, price FROM a [RANGE 6 SECONDS], prices WHERE a.k = prices.k",
    "owners": "SELECT owner FROM hosts",
}
UPSERTS = [
    {"hosts": [(1, 1, "ada", 1), (1, 2, "bob", 1)], "prices": [(1, 1, 5, 1)], "a": (2, 3)},
    {"hosts": [(4, 1, "eve", 1), (5, 1, "joe", 1), (4, 3, "ann", 1)], "a": (1, 6)},
    {"hosts": [(7, 2, None, -1), (3, 1, "zoe", 1)], "prices": [(8, 1, 6, 1)], "a": (1, 8)},
    {"hosts": [(9, 2, "bob", 1), (9, 1, None, -1)], "a": (1, 11)},
]
"""Rows of (second, key, value, sign); tuples of keys 1, 2, ... and their time. Zoe is too late."""


def upserted(rows: list[tuple[int, int, object, int]], value: str) -> pa.Table:
    columns = list(zip(*rows, strict=True))
    return pa.table(
        {
            "_ts": pa.array([t * 1_000_000 for t in columns[0]], pa.int64()),
            "_weight": pa.array(columns[3], pa.int64()),
            "k": pa.array(columns[1], pa.int64()),
            value: pa.array(columns[2], pa.string() if value == "owner" else pa.int64()),
        }
    )


def keyed_batches() -> list[dict[str, pa.Table]]:
    made = []
    for batch in UPSERTS:
        most, last = batch["a"]  # type: ignore[misc]
        ts = pa.array([last * 1_000_000] * most, pa.int64())
        keys = pa.array(range(1, most + 1), pa.int64())
        moments = ts.cast(pa.timestamp("us", tz="UTC"))
        tables = {"a": pa.table({"_ts": ts, "ts": moments, "k": keys})}
        for name, value in (("hosts", "owner"), ("prices", "price")):
            if name in batch:
                tables[name] = upserted(batch[name], value)  # type: ignore[arg-type]
        made.append(tables)
    return made


@pytest.mark.parametrize("query", BY_KEY)
@pytest.mark.parametrize("shards", [1, 3])
def test_a_row_replaces_the_one_of_its_key_on_shards(query: str, shards: int) -> None:
    using = " USING parquet OPTIONS (path 'x', updates 'stream')"
    script = KEYED.format(using=using) + f"CREATE QUERY q AS {BY_KEY[query]};"
    there = ShardSet(Program(script, ("q",), shards=shards))
    assert [p.upserts for p in there.layout.ports if p.carries] == [query != "owners"]
    found: list[pa.Table] = []
    for batch in keyed_batches():
        found += there.batch(dealt(there, batch), {})
        there.restart()
    found += there.batch({}, {}, drain=True)
    if query != "owners":
        assert netted(found) == netted([told_by_key(query)])
    assert sum(s.late.get("hosts", 0) for s in there.shards) == ("hosts" in BY_KEY[query])


def told_by_key(query: str) -> pa.Table:
    with wr.connect() as db:
        db.execute(KEYED.format(using=""))
        handle = db.query(BY_KEY[query])
        for batch in keyed_batches():
            for name in ("hosts", "prices", "a"):
                if name in batch:
                    times = batch[name]["_ts"].cast(pa.timestamp("us", tz="UTC"))
                    rows = batch[name].set_column(0, "_ts", times)
                    names = [{"_weight": "_sign"}.get(n, n) for n in rows.column_names]
                    rows = rows.rename_columns(names)
                    db.push(name, rows.drop_columns("_ts") if name == "a" else rows)
        db.drain()
        return handle.changes()


def netted(tables: list[pa.Table]) -> Counter[tuple[object, ...]]:
    total: Counter[tuple[object, ...]] = Counter()
    for table in tables:
        for row in table.to_pylist():
            sign = row.pop("_sign")
            total[tuple(map(str, row.values()))] += sign
    return Counter({row: n for row, n in total.items() if n})


def told_here(*, with_stream: bool) -> Counter[tuple[object, ...]]:
    with wr.connect() as db:
        db.execute(OWNERS + (STREAMS if with_stream else ""))
        query = db.query(BY_OWNER)
        for changes, reached in BATCHES:
            moments = changes["_ts"].cast(pa.timestamp("us", tz="UTC"))
            db.push("owners", changes.set_column(0, "_ts", moments))
            if with_stream:
                db.push("a", [{"ts": reached * 1_000_000, "k": reached}])
                db.advance(reached * 1_000_000, stream="a")
        db.drain()
        return counted([query.changes()])


def counted(tables: list[pa.Table]) -> Counter[tuple[object, ...]]:
    """Return changes of owners as a bag of rows."""
    ours = [t for t in tables if "owner" in t.column_names]
    return Counter(
        (ts, sign, *row.values())
        for t in ours
        for ts, sign, row in zip(
            t["_ts"].cast(pa.int64()).to_pylist(),
            t["_sign"].to_pylist(),
            t.drop_columns(["_ts", "_sign"]).to_pylist(),
            strict=True,
        )
    )
