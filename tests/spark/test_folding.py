"""Groups of a join on Spark: folded by each shard before their rows meet, exact to the last bit;
and tuples that the join treats alike, merged before they are moved.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import windrow as wr
from tests.spark.running import Net, add, nonzero, program_of
from windrow.core.errors import SemanticError
from windrow.generate.files import write_piece
from windrow.runtime.spark.run import Run

pytestmark = pytest.mark.spark

MOMENT = pa.timestamp("us", tz="UTC")
SECOND = 1_000_000
VALUES = (0.1, 0.2, 1e16, -1e16, 1e-300, 1.7e308, -1.7e308, 3.5, None)
WINDOWS = "a [RANGE 20 SECONDS SLIDE 5 SECONDS], b [RANGE 20 SECONDS SLIDE 5 SECONDS]"
QUERIES = {
    "groups": f"SELECT a.src, COUNT(*) AS n, SUM(b.v) AS s, AVG(a.v) AS m, SUM(b.k) AS t "
    f"FROM {WINDOWS} WHERE a.k = b.k GROUP BY a.src",
    "total": f"SELECT COUNT(b.v) AS n, SUM(a.v) AS s FROM {WINDOWS} WHERE a.k = b.k",
    "merged": f"SELECT a.src, COUNT(*) AS n, SUM(b.k) AS s, AVG(a.k) AS m, COUNT(b.src) AS c "
    f"FROM {WINDOWS} WHERE a.j = b.j GROUP BY a.src",
}
"""The last joins by another column, so that nobody needs its tuples as they are."""


def write_minutes(folder: Path, seed: int, rows: int = 120) -> list[pa.Table]:
    """Write two files of a minute each; return them."""
    rng = random.Random(seed)
    tables = []
    for minute in range(2):
        ts = sorted((minute * 60 * SECOND) + rng.randrange(60 * SECOND) for _ in range(rows))
        table = pa.table(
            {
                "ts": pa.array(ts, MOMENT),
                "k": [rng.randrange(9) for _ in ts],
                "j": [rng.randrange(3) for _ in ts],
                "src": [rng.choice(("x", "y", "z", None)) for _ in ts],
                "v": pa.array([rng.choice(VALUES) for _ in ts], pa.float64()),
            }
        )
        write_piece(folder / f"{minute}.parquet", table, minute + 1)
        tables.append(table)
    return tables


def declared(where: Path) -> str:
    return "".join(
        f"CREATE STREAM {name} (ts TIMESTAMP, k BIGINT, j BIGINT, src STRING, v DOUBLE) "
        f"USING parquet OPTIONS (path '{where}/{name}', maxFilesPerTrigger '1') TIMESTAMP BY ts;"
        for name in "ab"
    )


SETTINGS = "SET partials = 'on'; SET early_aggregation = '{a,b}';"


def on_spark(spark: SparkSession, where: Path) -> Net:
    """Return what the queries told, run to the end of their input."""
    place = where / "run"
    with wr.connect("spark", spark=spark, checkpoint=str(place / "state")) as db:
        db.execute(SETTINGS + declared(where))
        for name, text in QUERIES.items():
            db.query(text, name=name)
        db.start(f"parquet:{place}/out", drain=True).wait()
    found: Net = {name: Counter() for name in QUERIES}
    for name in QUERIES:
        add(found[name], pq.read_table(place / "out" / name))
    return nonzero(found)


def in_process(where: Path, pushes: list[tuple[str, pa.Table]]) -> Net:
    """Return the same of the in-process engine."""
    found: Net = {name: Counter() for name in QUERIES}
    with wr.connect(engine="local") as db:
        db.execute(declared(where))
        standing = {name: db.query(text) for name, text in QUERIES.items()}
        for name, rows in pushes:
            db.push(name, rows)
        db.drain()
        for name, query in standing.items():
            add(found[name], query.changes())
    return nonzero(found)


def test_groups_of_a_join_are_those_of_one_process(spark: SparkSession, tmp_path: Path) -> None:
    tables = {name: write_minutes(tmp_path / name, seed) for seed, name in enumerate("ab")}
    program = program_of(SETTINGS + declared(tmp_path), QUERIES)
    assert program.folded() == list(QUERIES)
    assert program.merged() == ["merged"]
    wanted = in_process(
        tmp_path, [(name, tables[name][minute]) for minute in range(2) for name in "ab"]
    )
    got = on_spark(spark, tmp_path)
    for name in QUERIES:
        assert len(wanted[name]) > 20
        assert got[name] == wanted[name], name


GROUPED = (
    "SELECT a.src, COUNT(*) AS n, SUM(b.k) AS t FROM a [RANGE 20 SECONDS{0}], "
    "b [RANGE 20 SECONDS{0}] WHERE a.k = b.k GROUP BY a.src"
)


def run_on(spark: SparkSession, where: Path, script: str, text: str) -> tuple[Counter[object], Run]:
    """Run a query to the end of its input, from where it was; return all that it has told."""
    with wr.connect("spark", spark=spark, checkpoint=str(where / "state")) as db:
        db.execute(script)
        db.query(text, name="q")
        run = db.start(f"parquet:{where}/out", drain=True)
        run.wait()
    found: Net = {"q": Counter()}
    add(found["q"], pq.read_table(where / "out" / "q"))
    return Counter(nonzero(found)["q"]), run


def expecting(where: Path, rate: int, keys: int) -> str:
    options = f"expect_rate '{rate}', expect_keys '{keys}', maxFilesPerTrigger"
    return declared(where).replace("maxFilesPerTrigger", options)


@pytest.mark.parametrize("slide", ["", " SLIDE 5 SECONDS"])
def test_a_run_goes_on_with_what_it_aggregated_early_whatever_is_declared_by_then(
    spark: SparkSession, tmp_path: Path, slide: str
) -> None:
    tables = {name: write_minutes(tmp_path / name, seed) for seed, name in enumerate("ab")}
    told = []
    for early in ("auto", "none"):
        where, sets = tmp_path / early, f"SET early_aggregation = '{early}';"
        for minute, expected in enumerate(((1000, 20), (1, 100_000))):
            for name in "ab":
                piece = tables[name][minute]
                write_piece(where / name / f"{minute}.parquet", piece, minute + 1)
            script = sets + expecting(where, *expected)
            found, run = run_on(spark, where, script, GROUPED.format(slide))
            forms = run.job.program.joins()
            assert forms == (["entries of 2, early {a,b}"] if early == "auto" else [])
        told.append(found)
    assert len(told[0]) > 20
    assert told[0] == told[1]


def test_shards_change_what_they_aggregate_early_while_they_run(
    spark: SparkSession, tmp_path: Path
) -> None:
    tables = {n: write_minutes(tmp_path / n, seed, rows=3_000) for seed, n in enumerate("ab")}
    text = GROUPED.format(" SLIDE 5 SECONDS")
    found, run = run_on(spark, tmp_path / "run", declared(tmp_path), text)
    operators = run.stats("q")["operators"]
    changed = [op for op in operators if op.get("placements_changed")]  # type: ignore[attr-defined]
    assert [op["early_aggregation"] for op in changed] == ["{a,b}"]
    with wr.connect(engine="local") as db:
        db.execute(declared(tmp_path))
        q = db.query(text)
        for minute in range(2):
            for name in "ab":
                db.push(name, tables[name][minute])
        db.drain()
        wanted: Net = {"q": Counter()}
        add(wanted["q"], q.changes())
    assert found == nonzero(wanted)["q"]


def test_names_that_no_input_has_are_refused_when_a_query_is_registered(tmp_path: Path) -> None:
    """No session is started for it."""
    with wr.connect("spark") as db:
        db.execute(declared(tmp_path))
        for text in (next(iter(QUERIES.values())), "SELECT k FROM a [RANGE 5 SECONDS]"):
            with pytest.raises(SemanticError, match=r"early_aggregation = \{c\} names"):
                db.query(text, name="q", early_aggregation="{c}")
        q = db.query("SELECT k FROM a [RANGE 5 SECONDS]", name="q")
        assert "Window" in q.explain()
