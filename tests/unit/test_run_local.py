"""`windrow run --engine local`: files in, changes out, and what is refused."""

import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import windrow as wr
from windrow.cli.main import windrow

START = datetime(2026, 1, 1, tzinfo=UTC)
DECLARED = "(ts TIMESTAMP, k BIGINT)"
QUERIES = """
CREATE QUERY counts AS SELECT k, COUNT(*) AS n FROM a [RANGE 10 SECONDS] GROUP BY k;
SELECT a.k, b.ts FROM a [RANGE 5 SECONDS] JOIN b [RANGE 5 SECONDS] ON a.k = b.k;
"""


def rows(seed: int) -> list[dict[str, object]]:
    return [{"ts": START + timedelta(seconds=i // 3), "k": i * seed % 5} for i in range(90)]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "a").mkdir()
    types = pa.schema([("ts", pa.timestamp("us", tz="UTC")), ("k", pa.int64())])
    for part in range(3):
        table = pa.Table.from_pylist(rows(2)[part * 30 : part * 30 + 30], types)
        pq.write_table(table, tmp_path / "a" / f"{part}.parquet")
    lines = [f"{row['ts'].isoformat()},{row['k']}\n" for row in rows(3)]  # type: ignore[attr-defined]
    (tmp_path / "b.csv").write_text("".join(lines))
    path = tmp_path / "two.cql"
    path.write_text(
        f"CREATE STREAM a {DECLARED} USING parquet OPTIONS (path '{tmp_path}/a') TIMESTAMP BY ts;"
        f"CREATE STREAM b {DECLARED} USING csv OPTIONS (path '{tmp_path}/b.csv') TIMESTAMP BY ts;"
        f"{QUERIES}"
    )
    return path


def run(*words: object) -> str:
    done = CliRunner().invoke(windrow, ["run", *map(str, words)], catch_exceptions=False)
    return done.output


def test_the_files_of_all_streams_are_read_in_step(script: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert "done: 180 rows" in run(script, "--engine", "local", "--sink", f"parquet:{out}")
    with wr.connect() as db:
        db.execute(f"CREATE STREAM a {DECLARED}; CREATE STREAM b {DECLARED};")
        counts = db.query("SELECT k, COUNT(*) AS n FROM a [RANGE 10 SECONDS] GROUP BY k")
        db.push("a", rows(2))
        db.push("b", rows(3))
        db.drain()
        wanted = counts.changes().num_rows
    told = duckdb.sql(f"SELECT count(*) FROM '{out}/counts/*.parquet'").fetchall()
    assert told == [(wanted,)]
    assert list((out / "query_2").iterdir())


def test_one_query_can_be_chosen_with_a_sink_of_its_own(script: Path, tmp_path: Path) -> None:
    sink = f"counts=duckdb:{tmp_path}/out.duckdb"
    run(script, "--engine", "local", "--query", "counts", "--sink", sink)
    with duckdb.connect(str(tmp_path / "out.duckdb")) as db:
        tables = db.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    assert sorted(tables) == [("_windrow_runs",), ("counts",)]


@pytest.mark.parametrize(
    ("text", "words", "message"),
    [
        ("CREATE STREAM s (ts BIGINT);", [], "the script has no query"),
        ("CREATE STREAM s (ts BIGINT); SELECT * FROM s [NOW];", [], "no files to read"),
        ("CREATE STREAM s (ts BIGINT); SELECT * FROM s [NOW];", ["--query", "x"], "no query"),
        ("CREATE STREAM s (ts BIGINT); SELECT * FROM s [NOW];", ["--sink", "x=noop"], "no query"),
        ("CREATE STREAM s (ts BIGINT); SELECT * FROM s [NOW];", ["--sink", "spark:csv"], "Spark"),
    ],
)
def test_what_cannot_run_is_refused(
    text: str, words: list[str], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "refused.cql"
    path.write_text(text)
    assert message in run(path, "--engine", "local", *words)


def test_a_damaged_file_costs_its_own_rows(script: Path, tmp_path: Path) -> None:
    (tmp_path / "a" / "1.parquet").write_bytes(b"garbage" * 20)
    (tmp_path / "a" / "3.parquet").write_bytes(b"")
    shown = run(script, "--engine", "local", "--sink", "noop")
    assert "done: 150 rows, 2 files could not be read" in shown
    assert f'left out: {tmp_path}/a/1.parquet, a file of "a": Parquet magic bytes' in shown
    assert "3.parquet" in shown
    strict = script.read_text().replace("a')", "a', on_unreadable 'fail')", 1)
    script.write_text(strict)
    shown = run(script, "--engine", "local", "--sink", "noop")
    assert f'error: {tmp_path}/a/1.parquet, a file of "a", cannot be read' in shown
    assert "detail: Parquet magic bytes not found in footer." in shown
    assert "hint: Mend it and run the script again; or leave on_unreadable 'fail' out" in shown


def test_an_interrupt_in_what_c_has_called_ends_with_130(script: Path) -> None:
    """As where a library is being imported. Python would end itself by SIGINT."""
    (script.parent / "interrupted_in_c.py").write_text(
        "import ctypes\n"
        "run = ctypes.pythonapi.PyRun_String\n"
        "run.restype, run.argtypes = ctypes.py_object, [ctypes.c_char_p, ctypes.c_int] + "
        "[ctypes.py_object] * 2\n"
        "run(b'raise KeyboardInterrupt', 257, {}, {})\n"
    )
    words = ["run", str(script), "--engine", "local", "--module", "interrupted_in_c"]
    line = [sys.executable, "-m", "windrow", *words]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 130, done.stderr
    assert done.stderr.endswith("stopped\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_after_the_end_changes_no_exit_code(
    script: Path, tmp_path: Path, number: signal.Signals
) -> None:
    """The interpreter takes a while to shut down: what is done then is done."""
    (script.parent / "slow_exit.py").write_text(
        "import atexit, time\n"
        "def linger():\n"
        "    print('lingers', flush=True)\n"
        "    time.sleep(1)\n"
        "atexit.register(linger)\n"
    )
    words = ["run", str(script), "--engine", "local", "--sink", f"parquet:{tmp_path / 'out'}"]
    line = [sys.executable, "-m", "windrow", *words, "--module", "slow_exit"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert any("lingers" in text for text in process.stdout)
        process.send_signal(number)
        assert process.wait(60) == 0
