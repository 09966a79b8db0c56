"""Files that cannot be read, or that have drifted, cost their own rows and nothing else."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import windrow as wr
from tests.postgres import server
from tests.spark import damage
from tests.spark.damage import UNREADABLE, Folder
from windrow.core.errors import BindError, InputError, RunError
from windrow.runtime.spark.database import SparkDatabase
from windrow.runtime.spark.dead import read_dead

pytestmark = pytest.mark.spark

COUNTS = "SELECT k, COUNT(*) AS n, MIN(w) AS w FROM s [UNBOUNDED] GROUP BY k"


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    with server() as url:
        yield url


def opened(spark: SparkSession, place: Path, script: str) -> SparkDatabase:
    db = wr.connect(engine="spark", checkpoint=str(place / "state"), spark=spark)
    db.execute(script)
    return db


def truth(folder: Folder) -> Counter[tuple[Any, ...]]:
    """What DuckDB answers over the rows of the files that can be read."""
    rows = damage.table_of(folder.counted) if folder.counted else None
    if rows is None:
        return Counter()
    return Counter(duckdb.sql("SELECT k, count(*), min(w) FROM rows GROUP BY k").fetchall())


def bag(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


def letters(place: Path, stream: str = "s") -> dict[str, str]:
    """The files among the dead letters, with their reasons."""
    found = read_dead(str(place / "state"), stream).to_pylist()
    files = [(json.loads(row["_row"]).get("file"), row["_reason"]) for row in found]
    return {file.rpartition("/")[2].replace("%20", " ").replace("%C3%A9", "é"): reason
            for file, reason in files if file}  # fmt: skip


@pytest.mark.parametrize("format_", ["parquet", "orc", "csv", "json"])
def test_every_kind_of_damage_costs_its_own_file(
    spark: SparkSession, tmp_path: Path, format_: str
) -> None:
    folder = Folder(tmp_path / "in", format_)
    for n, kind in enumerate(UNREADABLE[format_]):
        folder.add([(n * 10 + 1, n % 3, "a"), (n * 10 + 2, 1, "b")], kind)
        folder.add([(n * 10 + 3, n % 3, "c")])
    reasons = dict(zip(folder.damaged, UNREADABLE[format_].values(), strict=True))
    if format_ in ("csv", "json"):
        torn = folder.add([(900 + n, 1, "b") for n in range(50)], damage.cut, packed=True)
        reasons[torn.name] = "it does not unpack: "
    with opened(spark, tmp_path, folder.declaration() + f"CREATE QUERY q AS {COUNTS};") as db:
        run = db.start("memory")
        run.wait()
        assert bag(db.query("q").answer()) == truth(folder)
        found = letters(tmp_path)
        assert found.keys() == reasons.keys()
        for file, reason in reasons.items():
            assert reason in found[file], file
        progress = run.progress()
        assert progress.unreadable == {"s": len(reasons)}
        assert db.query("q").stats()["unreadable"] == {"s": len(reasons)}


def test_a_restart_at_which_only_drifted_files_are_left_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The files of before are gone: none that is there says what the source holds."""
    folder = Folder(tmp_path / "in", "parquet")
    script = folder.declaration() + f"CREATE QUERY q AS {COUNTS};"
    kept = folder.add([(1, 1, "a"), (2, 2, "b")])

    def run() -> Counter[tuple[Any, ...]]:
        with opened(spark, tmp_path, script) as db:
            assert db.start(f"parquet:{tmp_path}/out").wait()
            return bag(db.query("q").answer())

    expected = Counter({(1, 1, "a"): 1, (2, 1, "b"): 1})
    assert run() == expected
    kept.unlink()
    for n, kind in enumerate((partial(damage.rewritten, k=pa.array(["x"])), damage.garbage)):
        folder.add([(n + 3, 1, "c")], kind)
        assert run() == expected
        assert len(letters(tmp_path)) == n + 1
    folder.add([(50, 1, "d")])
    assert run() == Counter({(1, 2, "a"): 1, (2, 1, "b"): 1})


def sink_of(kind: str, place: Path, postgres: str) -> Any:
    """A sink of each kind, in its own place."""
    return {
        "parquet": f"parquet:{place}/out",
        "json": f"json:{place}/out",
        "duckdb": f"duckdb:{place}/out.duckdb",
        "postgres": postgres,
        "memory": "memory",
    }[kind]


SINKS = ("parquet", "json", "duckdb", "postgres", "memory")


@pytest.mark.parametrize(("n", "kind"), list(enumerate(SINKS)))
def test_a_folder_with_damaged_files_answers_as_its_readable_ones_do(
    spark: SparkSession, tmp_path: Path, postgres: str, n: int, kind: str
) -> None:
    """Random files, of two formats, in many batches, with every sink; DuckDB reads the rest."""
    random = Random(1700 + n)
    formats = random.sample(list(UNREADABLE), 2)
    one, other = (Folder(tmp_path / f, f) for f in formats)
    limit = f", maxFilesPerTrigger '{random.randint(2, 6)}'"
    script = one.declaration("s", limit) + other.declaration("u", limit)
    names = {"q": one, "r": other}
    script += f"CREATE QUERY q AS {COUNTS}; CREATE QUERY r AS {COUNTS.replace('FROM s', 'FROM u')};"
    script = script.replace("QUERY q", f"QUERY q_{kind}").replace("QUERY r", f"QUERY r_{kind}")
    sink = sink_of(kind, tmp_path, postgres)
    with opened(spark, tmp_path, script) as db:
        for _ in range(2):
            one.grow(random, 6, 0.3)
            other.grow(random, 6, 0.3)
            run = db.start(sink)
            run.wait()
            for name, folder in names.items():
                assert bag(db.query(f"{name}_{kind}").answer()) == truth(folder), formats
        counted = {s: len(f.damaged) for s, f in (("s", one), ("u", other)) if f.damaged}
        assert run.progress().unreadable == counted
        assert letters(tmp_path, "s").keys() == one.damaged.keys()


def test_one_damaged_file_among_a_hundred_costs_its_own_rows_in_every_sink(
    spark: SparkSession, tmp_path: Path, postgres: str
) -> None:
    folder = Folder(tmp_path / "in", "parquet")
    for n in range(100):
        folder.add([(n, n % 3, "a"), (n, n % 5, "b")], damage.torn_page if n == 61 else None)
    script = folder.declaration(extra=", maxFilesPerTrigger '50'")
    script += "".join(f"CREATE QUERY hundred_{kind} AS {COUNTS};" for kind in SINKS)
    with opened(spark, tmp_path, script) as db:
        run = db.start({f"hundred_{kind}": sink_of(kind, tmp_path, postgres) for kind in SINKS})
        run.wait()
        for kind in SINKS:
            assert bag(db.query(f"hundred_{kind}").answer()) == truth(folder), kind
        assert run.progress().unreadable == {"s": 1}
        assert run.progress().total_rows == 2 * 99


@pytest.mark.parametrize("kind", [*SINKS, "console", "noop", "function", "spark"])
def test_a_file_that_ends_the_run_is_named_whatever_the_sink(
    spark: SparkSession, tmp_path: Path, postgres: str, kind: str
) -> None:
    """Found by a look (text in k), or only by reading (a torn page)."""
    folder = Folder(tmp_path / "in", "parquet")
    folder.add([(1, 1, "a")])
    damaged = folder.add([(2, 2, "b")], damage.texts)
    name = f"failing_{kind}"
    script = folder.declaration(extra=", on_unreadable 'fail'")
    others: dict[str, Any] = {"console": "console", "noop": "noop", "spark": "spark:noop"}
    sink = others.get(kind) or (
        (lambda table, batch: None) if kind == "function" else sink_of(kind, tmp_path, postgres)
    )
    with opened(spark, tmp_path, script + f"CREATE QUERY {name} AS {COUNTS};") as db:
        with pytest.raises(InputError) as caught:
            db.start(sink).wait()
        error = caught.value
        assert error.message.endswith('0001%20é.parquet, a file of "s", cannot be read')
        assert 'ts column "k"' in error.detail
        assert "BIGINT" in error.detail.upper()
        assert error.detail.endswith(f"{name} would read it.")
        assert error.hint == (
            "Mend the file in place, and start again with the same checkpoint: none of its rows "
            "was used. Or leave on_unreadable 'fail' out: then such files become dead letters."
        )
        assert "Py4J" not in str(error)
        # Mended in place, it is read: none of its rows was used before.
        damage.parquet([(2, 2, "b")], damaged)
        folder.add([(3, 3, "c")], damage.torn_page)
        run = db.start(sink)
        with pytest.raises(InputError, match=r"0002%20é\.parquet") as caught:
            run.wait()
        assert caught.value.detail.endswith(f"{name} would read it.")
        assert not run.progress().unreadable


def test_a_failure_that_is_no_files_names_the_query_and_the_cause(
    spark: SparkSession, tmp_path: Path, postgres: str
) -> None:
    """Spark itself fails in a DataFrame of the user's."""
    folder = Folder(tmp_path / "in", "parquet")
    folder.add([(1, 0, "a")])
    rows = spark.readStream.schema("t BIGINT, k BIGINT, w STRING").parquet(str(folder.path))
    for kind in SINKS:
        with opened(spark, tmp_path / kind, "") as db:
            db.stream("s", rows.selectExpr("t", "1 DIV k AS k", "w"), ts="t")
            db.execute(f"CREATE QUERY broken_{kind} AS {COUNTS};")
            with pytest.raises(RunError) as caught:
                db.start(sink_of(kind, tmp_path, postgres)).wait()
            assert caught.value.message == f"the run of broken_{kind} has failed"
            assert "[DIVIDE_BY_ZERO] Division by zero." in caught.value.detail
            assert "STREAM_FAILED" not in caught.value.detail
            assert "same checkpoint" in caught.value.hint


def test_a_mended_copy_is_read_under_a_new_name_and_is_late_as_any_file(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = Folder(tmp_path / "in", "parquet")
    folder.add([(1, 1, "a")])
    damaged = folder.add([(10, 2, "b"), (11, 2, "b")], damage.cut)
    folder.add([(12, 1, "c")])
    slack = folder.declaration().replace("TIMESTAMP BY t", "TIMESTAMP BY t SLACK 2")
    with opened(spark, tmp_path, slack + f"CREATE QUERY q AS {COUNTS};") as db:
        db.start("memory").wait()
        damage.parquet([(10, 2, "b"), (11, 2, "b")], damaged)  # in place: it is not read again
        db.start("memory").wait()
        assert [row["k"] for row in db.query("q").answer().to_pylist()] == [1]
        folder.add([(9, 2, "b"), (13, 2, "b"), (50, 7, "z")])  # a copy: its first row is late
        run = db.start("memory")
        run.wait()
        found = {row["k"]: row["n"] for row in db.query("q").answer().to_pylist()}
        assert (found[1], found[2]) == (2, 1)
        assert run.progress().late == {"s": 1}
        assert run.progress().unreadable == {"s": 1}


def test_a_missing_column_is_null_where_it_may_be_and_is_counted(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = Folder(tmp_path / "in", "parquet")
    folder.add([(1, 1, "a")])
    for n in (2, 3):
        path = folder.add([(n, 1, "b")])
        damage.renamed(path, ["T", "K", None])
        os.utime(path, (1_700_000_000 + n - 1,) * 2)
    folder.add([(4, 1, "c")])
    script = folder.declaration(extra=", maxFilesPerTrigger '1'")
    script += "CREATE QUERY q AS SELECT w, COUNT(*) AS n FROM s [UNBOUNDED] GROUP BY w;"
    with opened(spark, tmp_path, script) as db:
        run = db.start("memory")
        run.wait()
        assert bag(db.query("q").answer()) == {("a", 1): 1, (None, 2): 1, ("c", 1): 1}
        assert run.progress().missing_columns == {"s": {"w": 2}}
        assert run.progress().unreadable == {}
    strict = folder.declaration(columns="t BIGINT, k BIGINT, w STRING NOT NULL")
    with opened(spark, tmp_path / "strict", strict) as db:
        db.execute("CREATE QUERY q AS SELECT w, COUNT(*) AS n FROM s [UNBOUNDED] GROUP BY w;")
        db.start("memory").wait()
        assert bag(db.query("q").answer()) == {("a", 1): 1, ("c", 1): 1}
        assert set(letters(tmp_path / "strict").values()) == {'it has no column "w"'}


def test_what_a_batch_left_out_stays_out_and_what_it_used_must_not_change(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A batch that is run again has the same rows, whatever became of its files since."""
    folder = Folder(tmp_path / "in", "parquet")
    folder.add([(1, 1, "a")])
    damaged = folder.add([(2, 2, "b")], damage.cut)
    used = folder.add([(3, 3, "c")])
    cut_off: list[int] = []

    def moody(table: pa.Table, batch: int) -> None:
        cut_off.append(len(table))
        if len(cut_off) == 1:
            raise OSError("the shelf is full")

    script = folder.declaration() + f"CREATE QUERY q AS {COUNTS};"
    with opened(spark, tmp_path, script) as db:
        with pytest.raises(RunError, match="the shelf is full") as caught:
            db.start(moody).wait()
        assert caught.value.message == 'the sink of "q" has failed'
        damage.parquet([(2, 2, "b")], damaged)
        whole = used.read_bytes()
        damage.cut(used)
        with pytest.raises(InputError, match="has changed since it was first read") as refused:
            db.start(moody).wait()
        assert "0002" in refused.value.message
        assert "q; without the same rows" in refused.value.detail
        assert "Bring the file back as it was" in refused.value.hint
        used.write_bytes(whole)
        db.start(moody).wait()
        assert cut_off[0] == cut_off[1], "the batch has the same changes, without the mended file"
        assert db.query("q").progress()["unreadable"] == {"s": 1}


def test_a_file_that_is_gone_before_it_is_read_is_a_dead_letter(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = Folder(tmp_path / "in", "parquet")
    folder.add([(1, 1, "a")])
    gone = folder.add([(2, 2, "b")], damage.texts)
    fail = folder.declaration(extra=", on_unreadable 'fail'") + f"CREATE QUERY q AS {COUNTS};"
    with opened(spark, tmp_path, fail) as db, pytest.raises(InputError, match="cannot be read"):
        db.start("noop").wait()
    gone.unlink()
    with opened(spark, tmp_path, fail.replace(", on_unreadable 'fail'", "")) as db:
        run = db.start("noop")
        run.wait()
        assert letters(tmp_path) == {gone.name: "it was removed before it was read"}


def test_an_unknown_word_for_it_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(tmp_path / "in", "json")
    folder.add([(1, 1, "a")])
    script = folder.declaration(extra=", on_unreadable 'ignore'") + f"CREATE QUERY q AS {COUNTS};"
    with opened(spark, tmp_path, script) as db, pytest.raises(InputError) as caught:
        db.start("noop")
    assert "on_unreadable 'ignore' of \"s\" is unknown" in caught.value.message
    assert "'dead_letter', which is the default, or 'fail'" in caught.value.hint


def test_json_keys_of_another_case_are_kept_as_they_were_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    lines = ['{"t": 1, "k": 1}', '{"T": 2, "K": 2}', "{", '{"T": 3, "k": 4, "more": {}}']
    for name in ("json", "text"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a b.json").write_text("\n".join(lines))
    (tmp_path / "json" / "c.json").write_bytes(b"\xff")
    script = "".join(
        f"CREATE STREAM {name} (t BIGINT, k BIGINT) USING {name} "
        f"OPTIONS (path '{tmp_path / name}'{value}) TIMESTAMP BY t;"
        f"CREATE QUERY q_{name} AS SELECT k FROM {name} [RANGE 5];"
        for name, value in (("json", ""), ("text", ", value 'json'"))
    )
    with opened(spark, tmp_path, script) as db:
        db.start("memory").wait()
        assert bag(db.query("q_json").answer()) == bag(db.query("q_text").answer()) == {(1,): 1}
    for name in ("json", "text"):
        found = read_dead(str(tmp_path / "state"), name).to_pylist()
        rows = {row["_row"]: row["_reason"] for row in found if "file" not in row["_row"]}
        assert rows == {
            lines[1]: "t is NULL",
            lines[2]: "it does not parse; t is NULL",
            lines[3]: "t is NULL",
        }, name


def test_columns_of_parts_stay_in_their_source_unless_a_query_reads_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    tags = pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32()))
    table = pa.table({"t": [1], "tags": tags, "part": [{"x": 1}], "k": [7]})
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in" / "0.parquet")
    declared = (
        f"CREATE STREAM s (t BIGINT, tags MAP<STRING, INT>, part STRUCT<x: BIGINT>, k BIGINT) "
        f"USING parquet OPTIONS (path '{tmp_path}/in') TIMESTAMP BY t SLACK 0;"
    )
    with opened(spark, tmp_path, declared) as db:
        frame = spark.readStream.schema(spark.read.parquet(str(tmp_path / "in")).schema)
        db.stream("given", frame.parquet(str(tmp_path / "in")), ts="t", slack="0")
        db.execute(
            "CREATE QUERY a AS SELECT * FROM s [RANGE 5];"
            "CREATE QUERY b AS SELECT k FROM given [RANGE 5];"
        )
        db.start("memory").wait()
        assert bag(db.query("a").answer()) == {(1, 7): 1}
        assert bag(db.query("b").answer()) == {(7,): 1}
        for stream in ("s", "given"):
            with pytest.raises(BindError, match=f'no query can read column "tags" of "{stream}"'):
                db.query(f"SELECT tags FROM {stream} [RANGE 5]")
