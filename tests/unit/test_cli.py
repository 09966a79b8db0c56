"""The command line: what it prints, and how it ends."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from windrow.cli.main import COMMANDS, windrow

SCRIPT = """
CREATE STREAM s (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts;
CREATE QUERY counts AS SELECT k, COUNT(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k;
SELECT DISTINCT k FROM s [ROWS 5];
"""


def run(*args: str, stdin: str = "") -> Result:
    return CliRunner().invoke(windrow, args, input=stdin)


def test_help_names_every_command() -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert all(name in result.stdout for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_of_its_own(name: str) -> None:
    assert run(name, "--help").exit_code == 0


def test_the_version_is_told() -> None:
    assert run("--version").stdout.startswith("windrow ")


def test_help_loads_neither_arrow_nor_the_plan() -> None:
    text = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from windrow.cli.main import windrow\n"
        "assert CliRunner().invoke(windrow, ['--help']).exit_code == 0\n"
        "print(sorted({'pyarrow', 'sqlglot', 'numba', 'pyspark', 'rich'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_unknown_command_is_refused() -> None:
    assert run("explode").exit_code == 2


def test_explain_shows_named_and_bare_queries_in_order() -> None:
    result = run("explain", "-", stdin=SCRIPT)
    assert result.exit_code == 0
    titles = [line.split()[0] for line in result.stdout.splitlines() if line[:1].isalpha()]
    assert titles == ["counts", "query_2"]


def test_explain_shows_one_query_by_name_in_any_case() -> None:
    result = run("explain", "-", "--query", "COUNTS", stdin=SCRIPT)
    assert result.stdout.startswith("counts")
    assert "query_2" not in result.stdout


def test_explain_shows_how_all_queries_run_on_spark() -> None:
    shown = run("explain", "--spark", "--shards", "3", "-", stdin=SCRIPT).stdout
    assert shown.startswith("2 queries on 3 shards; ")
    assert "by k: pmod(hash(CAST(`k` AS BIGINT)), 3)" in shown
    assert "all rows to the first shard" in shown
    one = run("explain", "--spark", "--query", "counts", "-", stdin=SCRIPT).stdout
    assert one.startswith("1 query on 2 shards; ")


def test_explain_without_patterns_shows_steps_only() -> None:
    result = run("explain", "-", "--no-patterns", stdin=SCRIPT)
    assert "Aggregate by" in result.stdout
    assert "STR" not in result.stdout


@pytest.mark.parametrize(
    ("style", "start"),
    [("tree", "counts"), ("text", "counts"), ("dot", "digraph"), ("mermaid", "fl")],
)
def test_explain_writes_each_format(style: str, start: str) -> None:
    assert run("explain", "-", "--format", style, stdin=SCRIPT).stdout.startswith(start)


def test_explain_writes_json_for_other_programs() -> None:
    found = json.loads(run("explain", "-", "--format", "json", stdin=SCRIPT).stdout)
    assert [plan["query"] for plan in found] == ["counts", "query_2"]


def test_an_error_is_told_with_its_place_and_without_a_traceback() -> None:
    result = run("explain", "-", stdin="SELECT nothing FROM nowhere [NOW];")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert "^^^^^^^" in result.stderr
    assert "Traceback" not in result.stderr


def test_an_unknown_query_name_is_answered_with_those_that_exist() -> None:
    result = run("explain", "-", "--query", "missing", stdin=SCRIPT)
    assert result.exit_code == 1
    assert "counts, query_2" in result.stderr


def test_a_script_without_a_query_is_an_error() -> None:
    assert "no query" in run("explain", "-", stdin="").stderr


def test_a_file_that_is_not_text_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "image.cql"
    path.write_bytes(b"\xff\xfe\x00")
    result = run("explain", str(path))
    assert (result.exit_code, "not text" in result.stderr) == (1, True)


def test_a_missing_file_is_a_usage_error() -> None:
    assert run("explain", "no/such/file.cql").exit_code == 2


def test_every_example_is_explained() -> None:
    folder = Path(__file__).parent.parent.parent / "examples"
    scripts = sorted(folder.glob("*.cql"))
    assert scripts
    assert all(run("explain", str(path)).exit_code == 0 for path in scripts)
