"""What DuckDB answers to the queries of Nexmark, at any instant, over the same events.

`b`, `a` and `p` are the bids, auctions and persons up to the instant; `recent(w, d)` the bids of
the last w seconds as of the last multiple of d seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from windrow_lab.generate.nexmark.declarations import TIME

OFFERS = """a JOIN b ON a.id = b.auction AND b.dateTime BETWEEN a.dateTime AND a.expires"""
BANDS = ("price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000")
DAY = "strftime(dateTime, '%Y-%m-%d')"
WHOLE_BID = "auction, bidder, price, channel, url, dateTime, extra"
NEWEST = "ORDER BY dateTime DESC, place DESC"
PLACES = 4
"""Digits after the point that must agree in averages and products."""


def banded(what: str) -> str:
    """Return an aggregate over all prices, and over each band of them."""
    return ", ".join([what, *(f"{what} FILTER (WHERE {band})" for band in BANDS)])


COUNTS = f"{banded('count(*)')}, {banded('count(DISTINCT bidder)')}, " + banded(
    "count(DISTINCT auction)"
)

ANSWERS: Mapping[str, str] = {
    "q0": "SELECT auction, bidder, price, dateTime, extra FROM b",
    "q1": "SELECT auction, bidder, 0.908 * price, dateTime, extra FROM b",
    "q2": "SELECT auction, price FROM b WHERE auction % 123 = 0",
    "q3": "SELECT name, city, state, a.id FROM a JOIN p ON a.seller = p.id "
    "WHERE category = 10 AND state IN ('OR', 'ID', 'CA')",
    "q4": "SELECT category, avg(final) FROM (SELECT a.id, category, max(price) AS final "
    f"FROM {OFFERS} GROUP BY ALL) GROUP BY category",
    "q5": "SELECT auction, count(*) AS num FROM recent(10, 2) GROUP BY auction "
    "QUALIFY rank() OVER (ORDER BY num DESC) = 1",
    "q6": "SELECT seller, avg(final) FROM (SELECT a.id, seller, max(price) AS final FROM "
    f"(SELECT * FROM a QUALIFY row_number() OVER (PARTITION BY seller {NEWEST}) <= 10) "
    f"AS {OFFERS} GROUP BY ALL) GROUP BY seller",
    "q7": "SELECT auction, price, bidder, dateTime, extra FROM recent(10, 10) "
    "QUALIFY rank() OVER (ORDER BY price DESC) = 1",
    "q8": "SELECT DISTINCT p.id, name FROM p JOIN a ON p.id = a.seller "
    "WHERE is_recent(p.dateTime, 10, 10) AND is_recent(a.dateTime, 10, 10)",
    "q9": "SELECT a.id, itemName, seller, category, expires, bidder, price, b.dateTime "
    f"FROM {OFFERS} QUALIFY rank() OVER (PARTITION BY a.id ORDER BY price DESC) = 1",
    "q10": f"SELECT auction, bidder, price, dateTime, extra, {DAY}, strftime(dateTime, '%H:%M') "
    "FROM b",
    "q11": "SELECT bidder, count(*) FROM b WHERE "
    "dateTime > now_at() - to_seconds(10) GROUP BY bidder",
    "q12": "SELECT bidder, count(*) FROM recent(10, 10) GROUP BY bidder",
    "q13": "SELECT auction, bidder, price, dateTime, auction % 10000 FROM b",
    "q14": "SELECT auction, bidder, 0.908 * price AS euro, CASE WHEN hour(dateTime) "
    "BETWEEN 8 AND 18 THEN 'dayTime' WHEN hour(dateTime) IN (7, 19) THEN 'otherTime' "
    "ELSE 'nightTime' END, dateTime, extra, len(regexp_replace(extra, '[^c]', '', 'g')) "
    "FROM b WHERE euro > 1000000 AND euro < 50000000",
    "q15": f"SELECT {DAY} AS day, {COUNTS} FROM b GROUP BY day",
    "q16": f"SELECT channel, {DAY} AS day, left(max(dateTime::TIME)::VARCHAR, 5), {COUNTS} "
    "FROM b GROUP BY channel, day",
    "q17": f"SELECT auction, {DAY} AS day, {banded('count(*)')}, min(price), max(price), "
    "avg(price), sum(price) FROM b GROUP BY auction, day",
    "q18": f"SELECT {WHOLE_BID} FROM b "
    f"QUALIFY row_number() OVER (PARTITION BY bidder, auction {NEWEST}) = 1",
    "q19": f"SELECT {WHOLE_BID} FROM b WHERE dateTime > now_at() - to_seconds(10) "
    f"ORDER BY price DESC, {WHOLE_BID} LIMIT 10",
    "q20": "SELECT b.auction, bidder, price, channel, url, b.dateTime, b.extra, itemName, "
    "description, initialBid, reserve, a.dateTime, expires, seller, category, a.extra "
    "FROM b JOIN a ON b.auction = a.id WHERE category = 10",
    "q21": "SELECT auction, bidder, price, channel, coalesce(nullif(list_position("
    "['Apple', 'Google', 'Facebook', 'Baidu'], channel), 0) - 1, "
    "try_cast(regexp_extract(url, 'channel_id=([0-9]+)', 1) AS INTEGER))::VARCHAR AS number "
    "FROM b WHERE number IS NOT NULL",
    "q22": "SELECT auction, bidder, price, channel, regexp_extract(url, 'com/([a-z]+)/', 1), "
    "regexp_extract(url, 'com/[a-z]+/([a-z]+)/', 1), regexp_extract(url, '([a-z]+)/item', 1) "
    "FROM b",
}
"""In DuckDB's SQL, written apart from the CQL: other functions, other forms."""

SETUP = """
SET VARIABLE now = 0::BIGINT;
CREATE MACRO now_at() AS make_timestamp(getvariable('now')::BIGINT);
CREATE MACRO refreshed(d) AS
  make_timestamp(getvariable('now')::BIGINT // (d * 1000000) * (d * 1000000));
CREATE MACRO is_recent(t, w, d) AS t <= refreshed(d) AND t > refreshed(d) - to_seconds(w);
CREATE MACRO recent(w, d) AS TABLE SELECT * FROM bid WHERE is_recent(dateTime, w, d);
CREATE VIEW p AS SELECT * FROM person WHERE dateTime <= now_at();
CREATE VIEW a AS SELECT * FROM auction WHERE dateTime <= now_at();
CREATE VIEW b AS SELECT * FROM bid WHERE dateTime <= now_at();
"""


@dataclass(slots=True)
class Oracle:
    """DuckDB over all events. `place` is the order in which they came."""

    events: Mapping[str, pa.Table]
    _db: Any = field(init=False)

    def __post_init__(self) -> None:
        self._db = duckdb.connect()
        for name, table in self.events.items():
            self._load(name, in_utc(table).append_column("place", pa.array(np.arange(len(table)))))
        self._db.execute(SETUP)

    def _load(self, name: str, table: pa.Table) -> None:
        self._db.register("loaded", table)
        self._db.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM loaded")
        self._db.unregister("loaded")

    def instants(self, count: int) -> list[int]:
        """Return so many instants in µs, evenly spread; the last is that of the last event."""
        times = [t[TIME].cast(pa.int64()).to_numpy() for t in self.events.values() if len(t)]
        first, last = min(t.min() for t in times), max(t.max() for t in times)
        return [int(first + (last - first) * n // count) for n in range(1, count + 1)]

    def difference(self, answer: str, changes: pa.Table, instants: Sequence[int]) -> str:
        """Add up the changes to each instant and compare all rows with those of an SQL text.

        Empty if all are equal.
        """
        self._load("changes", in_utc(changes))
        for at in instants:
            self._db.execute(f"SET VARIABLE now = {at}::BIGINT")
            missing, extra = self._compared(answer, changes.schema)
            if missing or extra:
                return f"{missing:,} rows are missing and {extra:,} wrong at {at} µs"
        return ""

    def _compared(self, answer: str, schema: pa.Schema) -> tuple[int, int]:
        """Return how many distinct rows, with their number, only one side has: theirs, ours."""
        columns = schema.names[2:]  # after _ts and _sign
        names = ", ".join(f"c{n}" for n in range(len(columns)))
        same = ", ".join(comparable(schema.field(c).type, f"c{n}") for n, c in enumerate(columns))
        ours = ", ".join(f'"{c}" AS c{n}' for n, c in enumerate(columns))
        (row,) = self._db.execute(f"""
            WITH want AS MATERIALIZED (
              SELECT {same}, count(*)::HUGEINT AS n FROM ({answer}) AS w({names}) GROUP BY ALL
            ), emitted AS (SELECT _sign, {ours} FROM changes WHERE _ts <= now_at()),
            got AS MATERIALIZED (
              SELECT {same}, sum(_sign)::HUGEINT AS n FROM emitted GROUP BY ALL HAVING n <> 0
            )
            SELECT (SELECT count(*) FROM (FROM want EXCEPT FROM got)),
                   (SELECT count(*) FROM (FROM got EXCEPT FROM want))
        """).fetchall()
        missing, extra = map(int, row)
        return missing, extra

    def close(self) -> None:
        """Let go of the events."""
        self._db.close()


def comparable(kind: pa.DataType, column: str) -> str:
    """Return a column as it is compared: fractions to some digits, numbers of any width alike."""
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return f"round({column}::DOUBLE, {PLACES}) AS {column}"
    return f"{column}::HUGEINT AS {column}" if pa.types.is_integer(kind) else column


def in_utc(table: pa.Table) -> pa.Table:
    """Return a table whose times have no zone: DuckDB's would need an extension."""
    naive = pa.timestamp("us")
    fields = [f.with_type(naive) if pa.types.is_timestamp(f.type) else f for f in table.schema]
    return table.cast(pa.schema(fields))
