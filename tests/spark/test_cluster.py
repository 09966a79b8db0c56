"""A query on a real cluster, a Master and two Workers; one of them dies in the middle."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark.cluster import Cluster, wait_for
from windrow.generate.files import write_streams
from windrow.generate.traffic import Traffic, traffic
from windrow.runtime.local.database import Database

pytestmark = pytest.mark.spark

FILES = 8
KILLED_IN = 3
"""The micro-batch in which a Worker dies."""
PATIENCE = 300.0
"""Seconds in which the run must come to that batch, and then to its end."""
LINK = "(ts TIMESTAMP, src STRING, dst STRING, proto STRING, bytes BIGINT)"
QUERIES = """
CREATE QUERY quiet AS
  SELECT DISTINCT l.src FROM link1 AS l [RANGE 10 SECONDS]
  WHERE NOT EXISTS (SELECT * FROM link2 [RANGE 10 SECONDS] WHERE link2.src = l.src);
CREATE QUERY talkers AS
  SELECT dst, COUNT(*) AS n, SUM(bytes) AS bytes FROM link1 [RANGE 10 SECONDS SLIDE 5 SECONDS]
  GROUP BY dst;
"""

Links = dict[str, pa.Table]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def links() -> Links:
    made = traffic(Traffic(rows=100_000, seconds=80, seed=5))
    return {name: made[name] for name in ("link1", "link2")}


def script(links: Links, folder: Path) -> Path:
    """Write the streams' files and the script that reads them, a file a micro-batch."""
    write_streams(folder / "data", links, pieces=FILES)
    declared = [
        f"CREATE STREAM {name} {LINK} USING parquet OPTIONS (path '{folder / 'data' / name}', "
        "maxFilesPerTrigger '1') TIMESTAMP BY ts;\n"
        for name in links
    ]
    path = folder / "cluster.cql"
    path.write_text("".join(declared) + QUERIES)
    return path


def expected(links: Links) -> dict[str, Counter[tuple[object, ...]]]:
    """Return the net changes of each query in the engine of this process."""
    with Database() as db:
        for name in links:
            db.execute(f"CREATE STREAM {name} {LINK} TIMESTAMP BY ts")
        db.execute(QUERIES)
        for name, table in links.items():
            db.push(name, table)
        db.drain()
        return {name: net(db.query(name).changes()) for name in ("quiet", "talkers")}


def net(changes: pa.Table) -> Counter[tuple[object, ...]]:
    """Return how often each row comes at each instant, less how often it goes."""
    found: Counter[tuple[object, ...]] = Counter()
    for ts, sign, *row in zip(*(column.to_pylist() for column in changes.columns), strict=True):
        found[(ts, *row)] += sign
    return Counter({row: n for row, n in found.items() if n})


def in_batch(number: int, checkpoint: Path) -> bool:
    """Tell whether Spark has begun a micro-batch and has not ended it."""
    begun = any(checkpoint.rglob(f"offsets/{number}"))
    return begun and not any(checkpoint.rglob(f"commits/{number}"))


def test_a_worker_that_dies_in_a_batch_costs_a_retry_and_no_answer(
    cluster: Cluster, links: Links, tmp_path: Path
) -> None:
    checkpoint, results = tmp_path / "checkpoint", tmp_path / "results"
    options = (
        "--checkpoint",
        str(checkpoint),
        "--sink",
        f"parquet:{results}",
        "--shards",
        "2",
        "--drain",
    )
    driver = cluster.windrow("run", str(script(links, tmp_path)), *options, "--drain")
    wait_for(
        lambda: in_batch(KILLED_IN, checkpoint) or driver.process.poll() is not None or None,
        f"batch {KILLED_IN}",
        patience=PATIENCE,
    )
    cluster.kill_worker(0)
    assert in_batch(KILLED_IN, checkpoint), "the Worker should have died in the batch"
    assert driver.process.wait(PATIENCE) == 0, driver.log.read_text()
    for name, changes in expected(links).items():
        assert net(pq.read_table(results / name)) == changes, name


def test_the_doctor_looks_at_a_cluster(cluster: Cluster, tmp_path: Path) -> None:
    shared = ("--checkpoint", str(tmp_path / "state"))
    doctor = cluster.driver("doctor", "--cluster", cluster.master, "--json", *shared)
    code = doctor.process.wait(PATIENCE)
    text = doctor.log.read_text()
    found = {f["need"]: f for f in json.loads(text[text.index("[\n") : text.rindex("]") + 1])}
    assert code == 0, text
    assert found["executors"]["found"].startswith("2 cores on ")
    for need in ("cluster", "windrow's source", "pyarrow on executors", "clocks", "checkpoint"):
        assert found[need]["status"] == "ok", found[need]
    assert not any((tmp_path / "state").iterdir()), "what it has left there is removed"
