"""Two spellings of a query: TPC-H's Q17 and Q19 as printed, and as somebody writes them by hand.

Only what the two read, made from a seed: 30 lineitems a part, brands, containers, sizes, ship modes
and instructions as TPC-H draws them. `part` is a relation in Q17, so that it joins last, and a
stream in Q19.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from time import perf_counter

import duckdb
import numpy as np
import pyarrow as pa

import windrow
from windrow_lab.bench.data import MILLISECOND, SEED, START, Tables
from windrow_lab.contest.report import Bar, verdict_of
from windrow_lab.contest.turns import by_turns, fastest

BAR = 1 / 1.5
"""The printed form takes at most 1.5 times as long."""
LINEITEMS = 60_000
PER_PART = 30
BATCH = 10_000
TOLERANCE = 1e-9

LINEITEM = (
    "CREATE STREAM lineitem (ts TIMESTAMP, partkey BIGINT, quantity DOUBLE, extendedprice DOUBLE, "
    "discount DOUBLE, shipinstruct STRING, shipmode STRING) TIMESTAMP BY ts"
)
PART = "(ts TIMESTAMP, partkey BIGINT, brand STRING, size BIGINT, container STRING)"
PART_RELATION = f"CREATE RELATION part {PART}"
PART_STREAM = f"CREATE STREAM part {PART} TIMESTAMP BY ts"

INSTRUCTIONS = ("DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN")
MODES = ("REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB", "AIR REG")
SIZES = ("SM", "LG", "MED", "JUMBO", "WRAP")
KINDS = ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM")

ALIVE = "lineitem [RANGE {window} MILLISECONDS]"


@dataclass(frozen=True, slots=True)
class Spelling:
    """A query in two forms, and how `part` is declared."""

    name: str
    part: str
    printed: str
    by_hand: str


@dataclass(frozen=True, slots=True)
class FormRun:
    """The seconds that one form took, and its answer."""

    seconds: float
    answer: float


Q17 = (
    f"SELECT SUM(l.extendedprice) / 7.0 AS x FROM {ALIVE} AS l, {{part}} AS p, "
    f"(SELECT partkey, 0.2 * AVG(quantity) AS q FROM {ALIVE} GROUP BY partkey) AS a "
    "WHERE p.partkey = l.partkey AND {tie} AND p.brand = 'Brand#23' "
    "AND p.container = 'MED BOX' AND l.quantity < a.q"
)
BRANCHES = (
    ("Brand#12", ("SM CASE", "SM BOX", "SM PACK", "SM PKG"), 1, 5),
    ("Brand#23", ("MED BAG", "MED BOX", "MED PKG", "MED PACK"), 10, 10),
    ("Brand#34", ("LG CASE", "LG BOX", "LG PACK", "LG PKG"), 20, 15),
)
SHARED = "{key} AND l.shipmode IN ('AIR', 'AIR REG') AND l.shipinstruct = 'DELIVER IN PERSON'"


def branch(brand: str, containers: tuple[str, ...], least: int, size: int) -> str:
    """Return what one branch of Q19 says beside what all say."""
    listed = ", ".join(f"'{c}'" for c in containers)
    return (
        f"p.brand = '{brand}' AND p.container IN ({listed}) AND l.quantity >= {least} "
        f"AND l.quantity <= {least + 10} AND p.size BETWEEN 1 AND {size}"
    )


Q19 = (
    f"SELECT SUM(l.extendedprice * (1 - l.discount)) AS x FROM {ALIVE} AS l, {{part}} AS p "
    "WHERE {condition}"
)
KEYS = ("p.partkey = l.partkey", "l.partkey = p.partkey", "p.partkey = l.partkey")


def spellings() -> tuple[Spelling, ...]:
    """Return both queries in both forms."""
    printed = " OR ".join(
        f"({SHARED.format(key=key)} AND {branch(*b)})"
        for key, b in zip(KEYS, BRANCHES, strict=True)
    )
    alternatives = " OR ".join(f"({branch(*b)})" for b in BRANCHES)
    factored = f"{SHARED.format(key=KEYS[0])} AND ({alternatives})"
    tied = "l.partkey = a.partkey AND p.partkey = a.partkey"
    return (
        Spelling(
            "tpch_q17",
            PART_RELATION,
            Q17.replace("{tie}", "p.partkey = a.partkey"),
            Q17.replace("{tie}", tied),
        ),
        Spelling(
            "tpch_q19",
            PART_STREAM,
            Q19.replace("{condition}", printed),
            Q19.replace("{condition}", factored),
        ),
    )


def tables(rows: int, seed: int = SEED) -> Tables:
    """Return lineitems, one a millisecond, and their parts, which are there before."""
    random = np.random.default_rng(seed)
    parts = max(1, rows // PER_PART)

    def chosen(texts: tuple[str, ...], count: int) -> pa.Array:
        return pa.array(texts).take(pa.array(random.integers(0, len(texts), count)))

    brands = tuple(f"Brand#{m}{n}" for m in range(1, 6) for n in range(1, 6))
    containers = tuple(f"{size} {kind}" for size in SIZES for kind in KINDS)
    quantity = random.integers(1, 51, rows).astype(np.float64)
    lineitem = {
        "ts": moments(np.arange(rows)),
        "partkey": random.integers(0, parts, rows),
        "quantity": quantity,
        "extendedprice": quantity * random.integers(900, 2_000, rows),
        "discount": random.integers(0, 11, rows) / 100,
        "shipinstruct": chosen(INSTRUCTIONS, rows),
        "shipmode": chosen(MODES, rows),
    }
    part = {
        "ts": moments(np.zeros(parts, np.int64)),
        "partkey": np.arange(parts),
        "brand": chosen(brands, parts),
        "size": random.integers(1, 51, parts),
        "container": chosen(containers, parts),
    }
    return {"lineitem": pa.table(lineitem), "part": pa.table(part)}


def moments(milliseconds: np.ndarray) -> pa.Array:
    """Return times, counted from the start."""
    return pa.array(START + milliseconds * MILLISECOND).view(pa.timestamp("us", "UTC"))


def measure(share: float, repeats: int) -> list[Bar]:
    """Check both forms, then compare their best times."""
    data = tables(max(600, round(LINEITEMS * share)))
    warm = tables(600)
    return [bar_of(spelling, data, warm, repeats) for spelling in spellings()]


def bar_of(spelling: Spelling, data: Tables, warm: Tables, repeats: int) -> Bar:
    """Return the bar of one query: how many times faster the form by hand is, turned over."""
    forms = spelling.printed, spelling.by_hand
    for text in forms:
        run(spelling, text, warm)
    turns = by_turns([partial(run, spelling, text, data) for text in forms], repeats)
    wanted = in_duckdb(spelling, data)
    answers = {one.answer for turn in turns for one in turn}
    wrong = [a for a in answers if abs(a - wanted) > TOLERANCE * max(1.0, abs(wanted))]
    printed, by_hand = (one.seconds for one in fastest(turns))
    rows = len(data["lineitem"])
    return Bar(
        spelling.name,
        by_hand / printed,
        BAR,
        printed,
        rows / printed,
        verdict_of(f"{wrong[0]!r} instead of {wanted!r}" if wrong else ""),
        {},
        {"against": f"written by hand {by_hand:.3f} s", "rows": rows},
    )


def window_of(data: Tables) -> int:
    """Return the window in ms: a third of the lineitems."""
    return max(1, len(data["lineitem"]) // 3)


def run(spelling: Spelling, text: str, data: Tables) -> FormRun:
    """Run one form of a query over all tables."""
    is_stream = spelling.part == PART_STREAM
    sql = text.format(window=window_of(data), part="part [UNBOUNDED]" if is_stream else "part")
    with windrow.connect() as db:
        db.execute(LINEITEM)
        db.execute(spelling.part)
        query = db.query(sql)
        start = perf_counter()
        db.push("part", data["part"])
        for low in range(0, len(data["lineitem"]), BATCH):
            piece = data["lineitem"].slice(low, BATCH)
            db.push("lineitem", piece)
            if is_stream:  # its watermark holds the query back
                db.advance(piece["ts"][-1].as_py())
            query.changes()
        answer = query.answer()["x"][0].as_py()
        return FormRun(perf_counter() - start, 0.0 if answer is None else float(answer))


def in_duckdb(spelling: Spelling, data: Tables) -> float:
    """Return DuckDB's answer of the printed text over the lineitems that are alive at the end."""
    alive = data["lineitem"].slice(len(data["lineitem"]) - window_of(data))
    sql = spelling.printed.replace(ALIVE, "lineitem").format(part="part")
    with duckdb.connect() as connection:
        connection.register("lineitem", alive)
        connection.register("part", data["part"])
        found = connection.sql(sql).fetchall()[0][0]
    return 0.0 if found is None else float(found)
