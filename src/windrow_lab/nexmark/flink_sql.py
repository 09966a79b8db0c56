"""The queries of Nexmark as Flink SQL says them: the originals, on event time.

Windows begin a millisecond late, so that ``[start, end)`` holds the tuples of windrow's
``(start, end]``; `_end` is a window's end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from windrow_lab.generate.nexmark.declarations import COLUMNS, TIME
from windrow_lab.generate.nexmark.events import SIDE_INPUT
from windrow_lab.nexmark.oracle import BANDS
from windrow_lab.peers.forms import flink

SETTINGS = flink.SETTINGS | {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "2 s",
    "table.exec.mini-batch.size": "50000",
}
"""As the Flink suite of Nexmark sets them: small batches; distinct counts in two steps anyway."""

TICK = flink.seconds(1)
TUMBLE = f"TABLE(TUMBLE(TABLE {{}}, DESCRIPTOR(ts), INTERVAL '10' SECOND, {TICK}))"
HOP = f"TABLE(HOP(TABLE bid, DESCRIPTOR(ts), INTERVAL '2' SECOND, INTERVAL '10' SECOND, {TICK}))"
SESSION = "TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
WINDOW = "window_start, window_end"
SAME_WINDOW = "x.window_start = y.window_start AND x.window_end = y.window_end"
END = "CAST({}window_end AS STRING) AS `_end`"
OFFERS = "auction AS a JOIN bid AS b ON a.id = b.auction WHERE b.dateTime BETWEEN a.dateTime "
OFFERS += "AND a.expires"
DAY = "DATE_FORMAT(ts, 'yyyy-MM-dd')"
BID = "auction, bidder, price, dateTime, extra"
WHOLE_BID = "auction, bidder, price, channel, url, dateTime, extra"
NUMBER = "REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2)"


def banded(what: str, name: str) -> str:
    """Return an aggregate over all prices, and over each band of them."""
    parts = (f"{what} FILTER (WHERE {band}) AS {name}{n}" for n, band in enumerate(BANDS, 1))
    return ", ".join([f"{what} AS {name}", *parts])


COUNTS = ", ".join(
    [
        banded("COUNT(*)", "bids"),
        banded("COUNT(DISTINCT bidder)", "bidders"),
        banded("COUNT(DISTINCT auction)", "auctions"),
    ]
)

PLAIN: Mapping[str, str] = {
    "q0": f"SELECT {BID} FROM bid",
    "q1": "SELECT auction, bidder, 0.908 * price AS price, dateTime, extra FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0",
    "q3": "SELECT p.name, p.city, p.state, a.id FROM auction AS a JOIN person AS p "
    "ON a.seller = p.id WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')",
    "q4": "SELECT category, AVG(CAST(final AS DOUBLE)) AS price FROM (SELECT a.id, a.category, "
    f"MAX(b.price) AS final FROM {OFFERS} GROUP BY a.id, a.category) GROUP BY category",
    "q5": f"WITH counts AS (SELECT auction, COUNT(*) AS num, {WINDOW} FROM {HOP} "
    f"GROUP BY auction, {WINDOW}) SELECT {END.format('x.')}, x.auction, x.num FROM counts AS x "
    f"JOIN (SELECT MAX(num) AS most, {WINDOW} FROM counts GROUP BY {WINDOW}) AS y "
    f"ON {SAME_WINDOW} AND x.num = y.most",
    "q7": f"SELECT {END.format('x.')}, x.auction, x.price, x.bidder, x.dateTime, x.extra "
    f"FROM (SELECT * FROM {TUMBLE.format('bid')}) AS x JOIN (SELECT MAX(price) AS most, {WINDOW} "
    f"FROM {TUMBLE.format('bid')} GROUP BY {WINDOW}) AS y ON {SAME_WINDOW} AND x.price = y.most",
    "q8": f"SELECT {END.format('x.')}, x.id, x.name FROM (SELECT id, name, {WINDOW} "
    f"FROM {TUMBLE.format('person')} GROUP BY id, name, {WINDOW}) AS x JOIN (SELECT seller, "
    f"{WINDOW} FROM {TUMBLE.format('auction')} GROUP BY seller, {WINDOW}) AS y "
    f"ON {SAME_WINDOW} AND x.id = y.seller",
    "q9": "SELECT id, itemName, seller, category, expires, bidder, price, bidTime FROM "
    "(SELECT a.id, a.itemName, a.seller, a.category, a.expires, b.bidder, b.price, "
    "b.dateTime AS bidTime, ROW_NUMBER() OVER (PARTITION BY a.id ORDER BY b.price DESC, "
    f"b.dateTime ASC) AS place FROM {OFFERS}) WHERE place = 1",
    "q10": f"SELECT {BID}, {DAY} AS `day`, DATE_FORMAT(ts, 'HH:mm') AS `minute` FROM bid",
    "q11": f"SELECT bidder, COUNT(*) AS bids FROM {SESSION} GROUP BY bidder, {WINDOW}",
    "q12": f"SELECT {END.format('')}, bidder, COUNT(*) AS bids FROM {TUMBLE.format('bid')} "
    f"GROUP BY bidder, {WINDOW}",
    "q13": "SELECT b.auction, b.bidder, b.price, b.dateTime, s.`value` FROM bid AS b "
    "JOIN side_input AS s ON MOD(b.auction, 10000) = s.`key`",
    "q14": "SELECT auction, bidder, 0.908 * price AS price, CASE WHEN HOUR(ts) >= 8 AND "
    "HOUR(ts) <= 18 THEN 'dayTime' WHEN HOUR(ts) <= 6 OR HOUR(ts) >= 20 THEN 'nightTime' "
    "ELSE 'otherTime' END AS bidTimeType, dateTime, extra, "
    "CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'c', '')) AS c_counts FROM bid "
    "WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000",
    "q15": f"SELECT {DAY} AS `day`, {COUNTS} FROM bid GROUP BY {DAY}",
    "q16": f"SELECT channel, {DAY} AS `day`, MAX(DATE_FORMAT(ts, 'HH:mm')) AS `minute`, {COUNTS} "
    f"FROM bid GROUP BY channel, {DAY}",
    "q17": f"SELECT auction, {DAY} AS `day`, {banded('COUNT(*)', 'bids')}, MIN(price) AS low, "
    "MAX(price) AS high, AVG(CAST(price AS DOUBLE)) AS average, SUM(price) AS total "
    f"FROM bid GROUP BY auction, {DAY}",
    "q18": f"SELECT {WHOLE_BID} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction "
    "ORDER BY ts DESC) AS place FROM bid) WHERE place = 1",
    "q19": f"SELECT {WHOLE_BID} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction "
    "ORDER BY price DESC) AS place FROM bid) WHERE place <= 10",
    "q20": "SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.dateTime, b.extra, "
    "a.itemName, a.description, a.initialBid, a.reserve, a.dateTime AS opened, a.expires, "
    "a.seller, a.category, a.extra AS auctionExtra FROM bid AS b JOIN auction AS a "
    "ON b.auction = a.id WHERE a.category = 10",
    "q21": "SELECT auction, bidder, price, channel, CASE LOWER(channel) WHEN 'apple' THEN '0' "
    "WHEN 'google' THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3' "
    f"ELSE {NUMBER} END AS channel_id FROM bid WHERE {NUMBER} IS NOT NULL "
    "OR LOWER(channel) IN ('apple', 'google', 'facebook', 'baidu')",
    "q22": "SELECT auction, bidder, price, channel, SPLIT_INDEX(url, '/', 3) AS dir1, "
    "SPLIT_INDEX(url, '/', 4) AS dir2, SPLIT_INDEX(url, '/', 5) AS dir3 FROM bid",
}

SELECTS = {name: text.replace(TIME, f"`{TIME}`") for name, text in PLAIN.items()}
"""With the name in quotes that is a word of Flink's."""

CANNOT: Mapping[str, str] = {
    "q6": "OVER takes no rows that are retracted, as leading prices are",
}

ORIGINALS: Mapping[str, str] = {
    "q11": "SELECT bidder, count(*) FROM (SELECT bidder, sum(fresh) OVER (PARTITION BY bidder "
    "ORDER BY dateTime, place) AS session FROM (SELECT *, coalesce(dateTime - lag(dateTime) OVER "
    "(PARTITION BY bidder ORDER BY dateTime, place) > to_seconds(10), true)::INT AS fresh FROM b)) "
    "GROUP BY bidder, session",
    "q19": f"SELECT {WHOLE_BID} FROM b "
    "QUALIFY row_number() OVER (PARTITION BY auction ORDER BY price DESC) <= 10",
}
"""What DuckDB answers to originals that differ from windrow's windowed forms."""

SLIDES = {"q5": 2, "q7": 10, "q8": 10, "q12": 10}
"""Seconds for which the rows of a window are the answer."""


def columns_of(stream: str, text: str) -> list[str]:
    """Return the columns of a stream that a query names; its time is always among them.

    >>> columns_of("bid", SELECTS["q2"])
    ['auction', 'price', 'dateTime']
    """
    names = [column.split()[0] for column in COLUMNS[stream].split(", ")]
    return [n for n in names if n == TIME or re.search(rf"\b{n}\b", text)]


def reads(text: str) -> list[str]:
    """Return the streams and relations that a query names as tables.

    >>> reads(SELECTS["q13"])
    ['bid', 'side_input']
    """
    named = re.findall(r"(?:FROM|JOIN|TABLE) (\w+)\b(?!\()", text)
    return [name for name in COLUMNS if name in named]


def table(name: str, columns: list[str], folder: Path) -> str:
    """Return the statement that creates a table over CSV files, each in order of time."""
    types = dict(column.split() for column in COLUMNS[name].split(", "))
    fields = [f"`{c}` {types[c].replace('TIMESTAMP', 'BIGINT')}" for c in columns]
    if name != SIDE_INPUT:
        fields += [f"ts AS TO_TIMESTAMP_LTZ(`{TIME}`, 3)", f"WATERMARK FOR ts AS ts - {TICK}"]
    files = f"'connector' = 'filesystem', 'path' = '{folder}', 'format' = 'csv'"
    return f"CREATE TABLE {name} ({', '.join(fields)}) WITH ({files})"
