"""The shell: what it answers, how it goes on after errors, what Tab offers."""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import subprocess
import sys
import termios
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from windrow.cli.main import windrow
from windrow.cli.shell import commands, terminal
from windrow.cli.shell.reading import StatementBuffer, pieces
from windrow.cli.shell.session import Shell
from windrow.cli.shell.terminal import Names, complete

DECLARED = "CREATE STREAM s (ts BIGINT, k STRING, v DOUBLE) TIMESTAMP BY ts;\n"
COUNTS = "CREATE QUERY counts AS SELECT k, COUNT(*) AS n FROM s [RANGE 10] GROUP BY k;\n"


def shell(script: str, *args: str) -> Result:
    return CliRunner().invoke(windrow, ["shell", *args], input=script)


def after(script: str, marker: str) -> list[str]:
    """Return the lines that are printed after the last line that holds the marker."""
    result = shell(script)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    start = max(i for i, line in enumerate(lines) if marker in line)
    return [line for line in lines[start + 1 :] if not set(line) <= {"─"}]


# -- answers -----------------------------------------------------------------------------------


def test_an_answer_changes_by_advancing_alone() -> None:
    script = DECLARED + COUNTS + ".push s ts=3 k=a v=1 | ts=8 k=a v=2\n.answer\n"
    assert after(script, "query counts")[-2:] == ["a   2", "1 row"]
    assert after(script + ".advance 13\n.answer counts\n", "k   n") == ["a   1", "1 row"]
    assert after(script + ".advance 18\n.answer\n", "1 row") == ["0 rows"]


def test_a_select_becomes_a_standing_query_that_shows_its_answer() -> None:
    result = shell(DECLARED + "SELECT k\nFROM s [RANGE 10];\n.push s ts=1 k=x\n.answer query_1\n")
    assert result.stdout.splitlines() == [
        "stream s", "query query_1", "0 rows", "k", "─", "x", "1 row",
    ]  # fmt: skip


def test_a_watched_answer_is_shown_with_what_changed() -> None:
    script = DECLARED + COUNTS + ".watch\n.push s ts=3 k=a | ts=4 k=b\n.advance 13\n"
    assert after(script, "k   n") == ["    b   1", "-   a   1", "1 row"]
    assert after(script + ".unwatch counts\n.advance 99\n", "k   n")[-1] == "1 row"
    assert after(script + ".push s ts=13 k=b\n", "k   n") == ["+   b   2", "-   b   1", "1 row"]


def test_changes_have_signs_and_are_told_once() -> None:
    script = DECLARED + COUNTS + ".push s ts=3 k=a\n.advance 20\n.changes\n"
    assert after(script, "_ts") == ["+     3   a   1", "-    13   a   1", "2 changes"]
    assert after(script + ".changes\n", "2 changes") == ["0 changes"]


def test_a_later_answer_is_told_without_waiting_for_it() -> None:
    script = DECLARED + COUNTS + ".push s ts=3 k=a\n.answer at 12\n"
    assert after(script, "k   n") == ["a   1", "1 row"]
    assert after(script + ".answer counts at 13\n", "1 row") == ["0 rows"]


def test_times_are_given_and_shown_in_words() -> None:
    script = """
    CREATE STREAM m (at TIMESTAMP, k BIGINT) TIMESTAMP BY at;
    SELECT * FROM m [RANGE 1 MINUTE];
    .push m at=2026-01-01T12:00:00.5Z k=1 | at="2026-01-01 12:00:30" k=NULL
    .advance 2026-01-01 12:01:00 m
    .answer
    .advance "2026-01-01 12:01:10"
    """
    assert after(script + ".answer\n", "at ") == ["2026-01-01 12:00:30   NULL", "1 row"]


def test_a_query_that_streams_says_where_its_results_are() -> None:
    script = (
        DECLARED + "ISTREAM(SELECT k FROM s [RANGE 5]);\n.push s ts=1 k=a\n.advance 2\n.changes\n"
    )
    assert after(script, "see .changes")[-2:] == ["+     1   a", "1 change"]
    assert "no current answer" in shell(script + ".answer\n").stderr


# -- statements --------------------------------------------------------------------------------


def test_what_is_declared_is_listed() -> None:
    script = DECLARED + COUNTS + "CREATE RELATION r (a INT);\nSET strategy = 'direct';\n"
    listed = shell(script + "SHOW STREAMS; SHOW RELATIONS; SHOW QUERIES; SHOW SETTINGS;").stdout
    assert "s (ts BIGINT NOT NULL, k STRING, v DOUBLE)" in listed
    assert "r (a INT)" in listed
    assert "counts: SELECT k, COUNT(*) AS n" in listed
    assert "strategy = direct" in listed
    assert shell("SHOW QUERIES;").stdout == "none\n"


@pytest.mark.parametrize(
    ("style", "start"), [("", "counts"), ("FORMAT dot ", "digraph"), ("FORMAT mermaid ", "flow")]
)
def test_plans_are_explained_in_every_format(style: str, start: str) -> None:
    told = after(DECLARED + COUNTS + f"EXPLAIN {style}counts;\n", "0 rows")
    assert told[0].startswith(start)


def test_a_running_query_is_explained_with_its_state() -> None:
    assert "strategy auto" in after(DECLARED + COUNTS + "EXPLAIN counts;\n", "0 rows")


def test_json_is_for_other_programs() -> None:
    told = after(DECLARED + "EXPLAIN FORMAT json SELECT k FROM s [NOW];\n", "stream s")
    assert json.loads("\n".join(told))["query"] is not None


def test_a_dropped_query_is_gone_and_the_one_before_it_is_meant() -> None:
    script = DECLARED + COUNTS + "SELECT v FROM s [NOW];\n.watch\nDROP QUERY query_1;\n"
    assert after(script + ".push s ts=1 k=z\n.answer\n", "dropped query query_1")[:2] == [
        "k   n",
        "z   1",
    ]


# -- errors ------------------------------------------------------------------------------------


def test_an_error_is_shown_with_its_place_and_the_session_goes_on() -> None:
    result = shell(f"SELECT * FROM nowhere;\n{DECLARED}SELEC;\n.anwser\n{COUNTS}.answer\n")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == ["stream s", "query counts", "0 rows", "0 rows"]
    assert "              ^^^^^^^\n" in result.stderr
    assert "hint: Did you mean .answer?" in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        (".push s", ".push is written otherwise"),
        (".push s ts", "'ts' gives no column a value"),
        (".push nothing ts=1", 'unknown stream or relation "nothing"'),
        (".push s missing.csv", '"missing.csv" cannot be read'),
        (".push s 'ts=1", "never closed"),
        (".advance", ".advance is written otherwise"),
        (".advance soon", "no instant of this clock"),
        (".answer a b", ".answer is written otherwise"),
        (".answer nothing", 'unknown query "nothing"'),
        (".late", ".late is written otherwise"),
        (".read missing.cql", '"missing.cql" cannot be read'),
    ],
)
def test_a_command_that_cannot_be_done_says_why(line: str, fact: str) -> None:
    result = shell(f"{DECLARED}{COUNTS}{line}\n")
    assert result.exit_code == 1
    assert fact in result.stderr
    assert "Traceback" not in result.stderr


def test_a_command_without_a_query_says_so() -> None:
    assert "there is no query yet" in shell(".answer\n").stderr


def test_a_bug_does_not_end_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Shell, "show_new", broken)
    result = shell(f"{DECLARED}{COUNTS}SHOW STREAMS;")
    assert "this is a bug in windrow" in result.stderr
    assert result.stdout.endswith("v DOUBLE)\n")


# -- what is pushed ----------------------------------------------------------------------------


def test_late_and_rejected_rows_are_told_and_shown() -> None:
    script = DECLARED + COUNTS + ".push s ts=9 k=a v=x | ts=8 k=b v=1\n.push s ts=2 k=c\n"
    result = shell(script + ".rejected s\n.late s\n").stdout
    assert "1 row rejected, see .rejected s" in result
    assert "1 row late, see .late s" in result
    assert "v is not DOUBLE   9    a   x" in result
    assert " 2   c   NULL" in result


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rows = [{"ts": 1, "k": "a", "v": 0.5}, {"ts": 2, "k": None, "v": 2.0}]
    (tmp_path / "s.csv").write_text('ts,"k",v\n1,a,0.5\n2,,2\n3,c,much\n')
    (tmp_path / "s.json").write_text(json.dumps(rows))
    (tmp_path / "lines.json").write_text("\n".join(map(json.dumps, rows)) + "\n")
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "s.parquet")
    (tmp_path / "setup.cql").write_text(f"-- A script.\n{DECLARED}{COUNTS}.push s ts=1 k=a\n")
    (tmp_path / "loop.cql").write_text(".read loop.cql\n")
    return tmp_path


@pytest.mark.parametrize("name", ["s.csv", "s.json", "lines.json", "s.parquet"])
def test_files_are_pushed(files: Path, name: str) -> None:
    script = DECLARED + f"SELECT * FROM s [RANGE 10];\n.push s '{files / name}'\n.answer\n"
    assert after(script, "ts   k") == [" 1   a      0.5", " 2   NULL   2.0", "2 rows"]
    assert ("1 row rejected" in shell(script).stdout) == (name == "s.csv")


def test_a_script_is_read_first_and_may_read_others(files: Path, monkeypatch) -> None:
    monkeypatch.chdir(files)
    assert shell(".answer\n", "setup.cql").stdout.splitlines()[-2:] == ["a   1", "1 row"]
    assert shell(".read setup.cql\n.answer\n").stdout.splitlines()[-2:] == ["a   1", "1 row"]
    assert '"loop.cql" reads itself' in shell("", "loop.cql").stderr
    assert shell("", "missing.cql").exit_code == 1


def test_text_after_c_is_run_and_nothing_else() -> None:
    result = shell("SHOW STREAMS;", "-c", f"{DECLARED}.quit\nSHOW STREAMS;")
    assert (result.exit_code, result.stdout) == (0, "stream s\n")
    assert shell("", "-c", "SHOW QUERIES").stdout == "none\n"


def test_draining_ends_the_input() -> None:
    result = shell(DECLARED + COUNTS + ".push s ts=1 k=a\n.drain\n.answer\n.push s ts=2\n")
    assert "a   1" in result.stdout
    assert "has ended" in result.stderr


def test_counters_are_shown() -> None:
    told = shell(DECLARED + COUNTS + ".push s ts=1 k=a\n.stats\n").stdout
    assert re.search(r"^clock +1$", told, re.MULTILINE)
    assert re.search(r"Aggregate .* 1 ", told)


def test_help_lists_every_command_and_click_knows_the_shell() -> None:
    told = shell(".help\n").stdout
    assert all(name in told for name in commands.COMMANDS if name != ".exit")
    assert "shell" in CliRunner().invoke(windrow, ["--help"]).stdout


# -- reading -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SELECT 1;", ["SELECT 1;"]),
        ("SELECT\n  1\n;", ["SELECT\n  1\n;"]),
        ("A; B;C", ["A;", "B;", "C"]),
        ("SELECT ';';", ["SELECT ';';"]),
        ("SELECT 'it''s; \\'';", ["SELECT 'it''s; \\'';"]),
        ('SELECT ";", `;`, “;”;', ['SELECT ";", `;`, “;”;']),
        ("-- a; b\nA;", ["-- a; b\nA;"]),
        ("/* ;\n; */ A;", ["/* ;\n; */ A;"]),
        ("-- only\n", []),
        (";;  ;", []),
        ("  .push s ts=1 k=';'  \nA;", [".push s ts=1 k=';'", "A;"]),
        ("SELECT a\n.5;", ["SELECT a\n.5;"]),
        ("-- note\n.help", [".help"]),
        ("A; -- after\n.help", ["A;", ".help"]),
        ("SELECT 'open;\n.help", ["SELECT 'open;\n.help"]),
    ],
)
def test_input_is_cut_at_semicolons_outside_of_quotes(text: str, found: list[str]) -> None:
    assert list(pieces(text)) == found


def test_a_buffer_waits_for_the_semicolon() -> None:
    buffer = StatementBuffer()
    assert (buffer.add("SELECT 1"), buffer.is_empty) == ([], False)
    assert (buffer.add("; SELECT"), buffer.is_empty) == (["SELECT 1\n;"], False)
    assert (buffer.add("2;"), buffer.is_empty) == (["SELECT\n2;"], True)


# -- completion --------------------------------------------------------------------------------

NAMES = Names(
    {"link1": ("ts", "src", "bytes"), "hosts": ("src", "owner")},
    ("quiet",),
    {"strategy": ("auto", "upa"), "bare_words": ("error", "strings")},
    ("MEDIAN",),
)


@pytest.mark.parametrize(
    ("before", "word", "found"),
    [
        ("", ".a", [".advance", ".answer"]),
        (".push ", "l", ["link1"]),
        (".push link1 ", "b", ["bytes="]),
        (".watch ", "", ["quiet"]),
        (".advance 5 ", "li", ["link1"]),
        ("", "sel", ["select"]),
        ("", "SEL", ["SELECT"]),
        ("SELECT * FROM ", "", ["hosts", "link1"]),
        ("SELECT * FROM link1 [", "RA", ["RANGE"]),
        ("SELECT * FROM link1 [RANGE 5 ", "mi", ["microseconds", "milliseconds", "minutes"]),
        ("SELECT * FROM link1 [NOW] WHERE ", "own", ["owner"]),
        ("SELECT ", "med", ["median"]),
        ("SELECT ", "link1.s", ["link1.src"]),
        ("SELECT * FROM link1 AS l [NOW] WHERE ", "l.b", ["l.bytes"]),
        ("SET ", "st", ["strategy"]),
        ("SET strategy = ", "u", ["upa"]),
        ("SHOW ", "q", ["queries"]),
        ("EXPLAIN FORMAT ", "m", ["mermaid"]),
        ("DROP QUERY ", "q", ["quiet"]),
        ("CREATE STREAM x (ts ", "bi", ["bigint", "binary"]),
    ],
)
def test_tab_offers_what_can_stand_there(
    before: str, word: str, found: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # files are offered too: here there are none
    assert complete(before, word, NAMES) == found


def test_tab_offers_what_the_session_has_declared() -> None:
    session = Shell()
    assert terminal.names_of(session) == Names()
    session.run(DECLARED)
    session.run(COUNTS)
    names = terminal.names_of(session)
    assert (names.columns, names.queries) == ({"s": ("ts", "k", "v")}, ("counts",))
    assert "strategy" in names.settings
    assert {"SUM", "UPPER"} <= set(names.functions)


def test_tab_offers_files_to_read(tmp_path: Path) -> None:
    (tmp_path / "a.cql").touch()
    (tmp_path / "b").mkdir()
    assert complete(".read ", f"{tmp_path}/", Names()) == [f"{tmp_path}/a.cql", f"{tmp_path}/b/"]
    assert complete(".read ", f"{tmp_path}/none/", Names()) == []


def test_every_command_is_offered() -> None:
    assert set(terminal.COMMANDS) == set(commands.COMMANDS)


# -- a terminal --------------------------------------------------------------------------------


def test_the_history_is_where_the_user_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDROW_HISTORY", "/somewhere/else")
    assert terminal.history_file() == Path("/somewhere/else")
    monkeypatch.setenv("WINDROW_HISTORY", "")
    assert terminal.history_file() is None
    monkeypatch.delenv("WINDROW_HISTORY")
    monkeypatch.setattr(terminal.sys, "platform", "linux")
    assert terminal.history_file() == Path.home() / ".windrow_history"
    monkeypatch.setattr(terminal.sys, "platform", "win32")
    monkeypatch.setenv("APPDATA", "/data")
    assert terminal.history_file() == Path("/data/windrow/history")


def test_the_shell_is_ready_before_the_engine_is_loaded() -> None:
    text = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from windrow.cli.main import windrow\n"
        "assert CliRunner().invoke(windrow, ['shell', '-c', '']).exit_code == 0\n"
        "print(sorted({'pyarrow', 'sqlglot', 'numba', 'numpy', 'rich'} & set(sys.modules)))\n"
    )
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert time.perf_counter() - start < 5  # 0.2 s on an idle machine


class Terminal:
    """A shell at a terminal of its own."""

    def __init__(self, history: Path) -> None:
        self.mine, theirs = os.openpty()
        given = {"WINDROW_HISTORY": str(history), "TERM": "dumb", "COLUMNS": "100"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "windrow", "shell"],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, **given},
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        )
        os.close(theirs)
        self.seen = ""

    def wait_for(self, text: str) -> str:
        """Read until the text appears; return what came before it."""
        deadline = time.monotonic() + 60
        while text not in self.seen:
            assert time.monotonic() < deadline, f"{text!r} is not in {self.seen!r}"
            if select.select([self.mine], [], [], 1)[0]:
                self.seen += os.read(self.mine, 4096).decode()
        before, _, self.seen = self.seen.partition(text)
        return before

    def interrupt_until(self, text: str) -> None:
        """Press Ctrl-C until the text appears: while readline looks away it is not heard."""
        for _ in range(60):
            self.type("\x03")
            if select.select([self.mine], [], [], 1)[0]:
                self.wait_for(text)
                return
        pytest.fail("Ctrl-C is not heard")

    def type(self, text: str) -> None:
        os.write(self.mine, text.encode())

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.mine)


@pytest.mark.skipif(terminal.load_readline() is None, reason="this Python has no readline")
def test_a_session_at_a_terminal(tmp_path: Path) -> None:
    history = tmp_path / "history"
    with Terminal(history) as seen:
        seen.wait_for("windrow> ")
        seen.type("CREATE STREAM s (ts BIGINT,\n")
        seen.wait_for("     ... ")
        seen.type("k BIGINT) TIMESTAMP BY ts;\n")
        seen.wait_for("stream s")
        seen.wait_for("windrow> ")
        seen.type("SELECT half")
        seen.wait_for("half")
        seen.interrupt_until("windrow> ")
        seen.type("SELECT k FRO\t s [RANGE 10];\n")
        assert "FROM s" in seen.wait_for("query query_1").replace("\x07", "")
        seen.wait_for("windrow> ")
        seen.type(".pu\ts ts=1 k=7\n.answer\n")
        seen.wait_for("1 row")
        seen.type(".adv\t11\n.answer\n")
        seen.wait_for("0 rows")
        seen.type("SELECT * FROM nowhere;\n")
        seen.wait_for("error: ")
        seen.type(".quit\n")
        seen.wait_for(".quit")
        assert seen.process.wait(timeout=30) == 0
    kept = history.read_text()
    assert "CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts;" in kept
    assert ".advance 11" in kept
