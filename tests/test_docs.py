"""Every example in README.md, CONTRIBUTING.md and docs/ is true: Python runs, SQL binds.

```python           is run; the blocks of one page share their names; a ```text block right
                    after it is what it prints (... stands for anything)
```python no-run    is only compiled
```sql              is bound; the statements of one page share one session
```sql refused      is refused with an error
```console          `$ windrow ...` and `$ make ...` exist; what explain, demo and --help are
                    shown to print, they print (a line `...` ends the comparison)
```shell            a session of `windrow shell`: what follows a prompt is typed, the rest is shown
"""

import contextlib
import doctest
import io
import re
import runpy
import shlex
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from unittest.mock import patch

import click
import pytest
from click.testing import CliRunner

from windrow.cli.main import windrow
from windrow.cli.shell.reading import StatementBuffer
from windrow.cli.shell.session import Shell
from windrow.cli.shell.terminal import MORE, PROMPT
from windrow.core.errors import WindrowError
from windrow.operators.aggregate.user_defined import REGISTERED
from windrow.operators.evaluate import BUILDERS
from windrow.operators.evaluate.user_defined import USER_FUNCTIONS
from windrow.plan.functions import AGGREGATES, FUNCTIONS
from windrow.plan.functions.aggregates import SHIPPED
from windrow.plan.session import Session

ROOT = Path(__file__).parent.parent
PAGES = [
    *(page for name in ("README.md", "CONTRIBUTING.md") if (page := ROOT / name).exists()),
    *sorted((ROOT / "docs").rglob("*.md")),
]
SAME_EVERYWHERE = ("explain", "demo", "shell")
AN_EXAMPLE = "tests/golden/optimize_drop_distinct_below_union.plan"  # CONTRIBUTING's new rule
KNOWN_FENCES = {
    "",
    "python",
    "python no-run",
    "sql",
    "sql refused",
    "console",
    "shell",
    "text",
    "mermaid",
    "json",
}


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    fence: str
    text: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    pattern = r"^```([^\n`]*)\n(.*?)^```$"
    return [
        Block(page, text.count("\n", 0, found.start()) + 1, found[1].strip(), found[2])
        for found in re.finditer(pattern, text, re.MULTILINE | re.DOTALL)
    ]


def commands(block: Block) -> list[tuple[list[str], list[str]]]:
    """Return each command of a console block as its words, with the lines it prints."""
    pieces = re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
    lines = [piece.rstrip("\n").split("\n") for piece in pieces]
    return [(shlex.split(first, comments=True), rest) for first, *rest in lines]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


each_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


def starts_spark(page: Path) -> bool:
    return any(b.fence == "python" and 'engine="spark"' in b.text for b in blocks(page))


ON_SPARK = [page for page in PAGES if starts_spark(page)]
"""Pages whose examples start Spark: tests/spark runs them."""


@pytest.mark.parametrize("page", [p for p in PAGES if p not in ON_SPARK], ids=name_of)
def test_python_in_a_page_runs_and_prints_what_is_shown(page: Path) -> None:
    run_python(page)


def run_python(page: Path) -> None:
    """Run the Python of a page, block by block, and compare what it prints."""
    names: dict[str, object] = {}
    found = blocks(page)
    with contextlib.ExitStack() as stack:
        for registry in (AGGREGATES, REGISTERED, FUNCTIONS, USER_FUNCTIONS, BUILDERS):
            stack.enter_context(patch.dict(registry))  # what it registers is forgotten
        for block, after in zip_longest(found, found[1:]):
            if block.fence.startswith("python"):
                # Empty lines first, so that a traceback tells the line in the page.
                code = compile("\n" * block.line + block.text, str(page), "exec")
            if block.fence == "python":
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(code, names)
                if printed.getvalue() or follows(after, block):
                    check_output(after, printed.getvalue())


def follows(after: Block | None, block: Block) -> bool:
    """Tell whether a text block stands right after a block, with blank lines between."""
    if after is None:
        return False
    end = block.line + block.text.count("\n") + 1
    between = block.page.read_text().splitlines()[end : after.line - 1]
    return after.fence == "text" and not any(between)


def check_output(shown: Block | None, printed: str) -> None:
    assert shown is not None, f"nothing is shown where this is printed:\n{printed}"
    checker = doctest.OutputChecker()
    same = checker.check_output(shown.text, printed, doctest.ELLIPSIS)
    assert same, f"{name_of(shown.page)}:{shown.line} shows\n{shown.text}\nprinted is\n{printed}"


@each_page
def test_a_session_in_a_page_goes_as_shown(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    shell = Shell()
    for block in blocks(page):
        if block.fence == "shell":
            told = "".join(f"{line.rstrip()}\n" for line in transcript(shell, block.text))
            assert told == block.text, f"{name_of(page)}:{block.line}"


def transcript(shell: Shell, text: str) -> list[str]:
    """Return a session with the same input, and what the shell answers."""
    told: list[str] = []
    buffer = StatementBuffer()
    for line in text.splitlines():
        if not line.startswith((PROMPT.rstrip(), MORE)):
            continue
        told.append(line)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            shell.run_all(buffer.add(line[len(PROMPT) :]))
        told += printed.getvalue().splitlines()
    return told


@each_page
def test_sql_in_a_page_binds(page: Path) -> None:
    session = Session()
    for block in blocks(page):
        if block.fence == "sql":
            session.execute(block.text)
        elif block.fence == "sql refused":
            with pytest.raises(WindrowError):
                session.execute(block.text)


def test_the_page_of_the_language_names_every_function() -> None:
    page = (ROOT / "docs" / "reference" / "language.md").read_text()
    calls = [f.name for f in FUNCTIONS.values() if "(" in f.usage.partition(" ")[0]]
    shipped = [f.name for f in SHIPPED]  # other tests register aggregates of their own
    assert [name for name in [*calls, *shipped] if name.upper() not in page] == []


@each_page
def test_commands_in_a_page_exist(page: Path) -> None:
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for block in blocks(page):
        for words, _ in commands(block) if block.fence == "console" else []:
            if words[0] == "make":
                assert set(words[1:]) <= set(targets), f"{name_of(page)}:{block.line}"
            if words[0] == "windrow":
                check_command(words[1:])


def check_command(words: list[str]) -> None:
    """Let click read the words; an unknown command or option is a UsageError."""
    context = click.Context(windrow, **windrow.context_settings)  # -h, which commands inherit
    if words[:1] and words[0].startswith("-"):
        windrow.make_parser(context).parse_args(words)
        return
    command = windrow.get_command(context, words[0])
    assert command is not None, f"there is no command {words[0]}"
    command.make_parser(click.Context(command, parent=context)).parse_args(words[1:])


@each_page
def test_what_a_page_shows_is_what_is_printed(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for block in blocks(page):
        for words, shown in commands(block) if block.fence == "console" else []:
            same = words[1:2] and (words[1] in SAME_EVERYWHERE or words[-1] == "--help")
            if words[:1] == ["windrow"] and same and any(shown):
                run = CliRunner().invoke(windrow, words[1:], prog_name="windrow")
                printed = run.output.splitlines()
                cut = shown.index("...") if "..." in shown else None
                length = len(printed) if cut is None else cut
                assert printed[:length] == shown[:cut]


def test_the_picture_shows_what_the_engine_answers() -> None:
    names = runpy.run_path(str(ROOT / "docs" / "assets" / "window.py"))
    assert names["draw"]() == (ROOT / "docs" / "assets" / "window.svg").read_text()


@each_page
def test_every_block_of_a_page_says_what_it_is(page: Path) -> None:
    assert {block.fence for block in blocks(page)} <= KNOWN_FENCES


@each_page
def test_links_inside_the_project_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", text)
    assert [link for link in links if not leads(page, *link)] == []


@each_page
def test_files_of_the_code_that_a_page_names_exist(page: Path) -> None:
    if "design" in page.parts:  # dated, and never rewritten
        return
    names = re.findall(
        r"`((?:src|tests|plan|optimize|kernels|operators|runtime)/[\w/.]+)`", page.read_text()
    )
    places = [(ROOT / n, ROOT / "src" / "windrow" / n) for n in names if n != AN_EXAMPLE]
    assert [str(a) for a, b in places if not a.exists() and not b.exists()] == []


def test_the_site_has_every_page() -> None:
    site = (ROOT / "mkdocs.yml").read_text()
    pages = [p.relative_to(ROOT / "docs").as_posix() for p in PAGES if p.parent != ROOT]
    assert [page for page in pages if page not in site] == []


def leads(page: Path, target: str, anchor: str) -> bool:
    """Tell whether a relative link leads to a file, and its anchor to a heading of that file."""
    file = page.parent / target if target else page
    return file.exists() and (not anchor or anchor in anchors(file))


def anchors(page: Path) -> list[str]:
    """Return the anchors of a page's headings, as GitHub and MkDocs make them.

    >>> import tempfile
    >>> page = Path(tempfile.mkdtemp()) / "page.md"
    >>> page.write_text("# Joins, and `SET expiry`\\n")
    26
    >>> anchors(page)
    ['joins-and-set-expiry']
    """
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings]
