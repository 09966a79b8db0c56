"""Streams in the order in which they were written give what they give in the order of time."""

from __future__ import annotations

from collections import Counter

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from tests.reference.shards import ShardSet
from tests.traces import SECOND, Trace, drawn, on_time, zeek

import windrow as wr
from windrow.runtime.shards.ports import TIME
from windrow.runtime.shards.program import Program

pytestmark = pytest.mark.long

HOURS = 24
STRETCH = 900 * SECOND
SLACK = 60
STREAMS = {
    "conn": "ts TIMESTAMP, uid STRING, src STRING, service STRING, bytes BIGINT",
    "http": "ts TIMESTAMP, uid STRING, src STRING, status BIGINT",
}
QUERIES = {
    "load": "SELECT src, COUNT(*) AS n, SUM(bytes) AS bytes FROM conn [RANGE 10 MINUTES]"
    " GROUP BY src",
    "answers": "SELECT c.src, h.status, COUNT(*) AS n FROM conn AS c [RANGE 5 MINUTES],"
    " http AS h [RANGE 5 MINUTES] WHERE c.uid = h.uid GROUP BY c.src, h.status",
    "knocks": "SELECT DISTINCT src FROM conn [RANGE 10 MINUTES] WHERE service = 'ssh' AND"
    " src NOT IN (SELECT src FROM http [RANGE 10 MINUTES])",
    "busiest": "SELECT n, COUNT(*) AS sources FROM (SELECT src, COUNT(*) AS n"
    " FROM conn [RANGE 10 MINUTES] GROUP BY src) AS g GROUP BY n",
}
Net = dict[str, Counter[tuple[object, ...]]]


def declared(slack: int, using: dict[str, str] | None = None) -> str:
    """Return the declarations of both streams."""
    held = f" SLACK {slack} SECONDS" if slack else ""
    return "".join(
        f"CREATE STREAM {name} ({columns}){(using or {}).get(name, '')} TIMESTAMP BY ts{held};\n"
        for name, columns in STREAMS.items()
    )


def traces(hours: int = HOURS) -> dict[str, Trace]:
    """Return both streams as they arrived."""
    who = {"uid": "uid", "src": "id.orig_h"}
    conn = zeek("conn", {**who, "service": "service", "bytes": "orig_bytes"}, hours)
    return {"conn": conn, "http": zeek("http", {**who, "status": "status_code"}, hours)}


def cut(arrived: dict[str, Trace], width: int = STRETCH) -> dict[str, list[pa.Table]]:
    """Return the batches of both streams; the same number of each."""
    batches = {name: trace.batches(width) for name, trace in arrived.items()}
    most = max(map(len, batches.values()))
    return {name: b + [b[0].slice(0, 0)] * (most - len(b)) for name, b in batches.items()}


def expected(batches: dict[str, list[pa.Table]], slack: int) -> tuple[Net, dict[str, pa.Table]]:
    """Return what rows that are in time give in the order of their times; and those that are not.

    Told by the engine in one process, without slack; its answers are checked against DuckDB.
    """
    good, late = {}, {}
    for name, some in batches.items():
        whole, kept = pa.concat_tables(some), np.concatenate(on_time(some, slack * SECOND))
        good[name] = whole.filter(pa.array(kept)).sort_by("ts")
        late[name] = whole.filter(pa.array(~kept))
    with wr.connect(engine="local") as db:
        db.execute(declared(0))
        handles = {name: db.query(text) for name, text in QUERIES.items()}
        for name, table in good.items():
            db.push(name, table)
        db.drain()
        load = handles["load"].answer()
        assert Counter(map(str, load.to_pylist())) == Counter(map(str, alive(good["conn"], good)))
        return {name: net(h.changes()) for name, h in handles.items()}, late


def alive(conn: pa.Table, streams: dict[str, pa.Table]) -> list[dict[str, object]]:
    """Return the load at the end, by plain SQL over the rows that are alive then."""
    end = max(table["ts"][-1].value for table in streams.values())
    rows = conn.append_column("µs", conn["ts"].cast(pa.int64()))
    asked = "SELECT src, count(*) AS n, sum(bytes)::BIGINT AS bytes FROM rows"
    with duckdb.connect() as db:
        db.register("rows", rows)
        found = db.execute(f"{asked} WHERE µs > {end - 600 * SECOND} GROUP BY src").fetchall()
    return [dict(zip(("src", "n", "bytes"), row, strict=True)) for row in found]


def net(*tables: pa.Table) -> Counter[tuple[object, ...]]:
    """Return changes netted per instant."""
    total: Counter[tuple[object, ...]] = Counter()
    for table in tables:
        ts = table["_ts"].cast(pa.int64()).to_pylist()
        rest = table.drop_columns(["_ts", "_sign"]).to_pylist()
        for at, sign, row in zip(ts, table["_sign"].to_pylist(), rest, strict=True):
            total[at, *row.values()] += sign
    return Counter({row: n for row, n in total.items() if n})


def test_a_real_trace_on_shards_tells_what_is_in_time() -> None:
    assert_told(cut(traces(), 2 * STRETCH), SLACK)


@pytest.mark.parametrize("slack", [SLACK, 5])
def test_any_disorder_on_shards_tells_what_is_in_time(slack: int) -> None:
    assert_told(cut(drawn(slack, 6000), 4 * STRETCH), slack)


def assert_told(batches: dict[str, list[pa.Table]], slack: int) -> None:
    """Shards tell what the definition says, and count what is late."""
    truth, late = expected(batches, slack)
    created = "".join(f"CREATE QUERY {name} AS {text};\n" for name, text in QUERIES.items())
    shards = ShardSet(Program(declared(slack) + created, tuple(QUERIES), shards=3), seed=slack)
    found: dict[str, list[pa.Table]] = {name: [] for name in QUERIES}
    buried: dict[str, int] = dict.fromkeys(STREAMS, 0)
    for n in range(len(batches["conn"]) + 1):
        given = {}
        for port in shards.layout.ports:
            if port.entry is not None and n < len(batches["conn"]):
                rows = batches[port.entry.name][n]
                given[port.number] = rows.append_column(TIME, rows["ts"].cast(pa.int64()))
        for table in shards.batch(given, {}, drain=not given):
            names = table.column_names[2:]
            (query,) = [o.query for o in shards.layout.outputs if list(o.schema.names) == names]
            found[query].append(table)
    for shard in shards.shards:
        for name, count in shard.late.items():
            buried[name] += count
    assert buried == {name: len(table) for name, table in late.items()}
    assert buried["conn"], "there are rows that no slack of a minute waits for"
    for name, tables in found.items():
        assert net(*tables) == truth[name], name
