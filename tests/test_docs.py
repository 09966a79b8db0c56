"""Every example in README.md and docs/ is true: Python runs, SQL binds, commands exist.

```python           is run; the blocks of one page share their names
```python no-run    is only compiled
```sql              is bound; the statements of one page share one session
```sql refused      is refused with an error
```console          `$ windrow ...` and `$ make ...` exist; what explain and demo are shown
                    to print, they print (a line `...` ends the comparison)
"""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from windrow.cli.main import windrow
from windrow.core.errors import WindrowError
from windrow.plan.functions import AGGREGATES, FUNCTIONS
from windrow.plan.session import Session

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SAME_EVERYWHERE = ("explain", "demo")
KNOWN_FENCES = {
    "",
    "python",
    "python no-run",
    "sql",
    "sql refused",
    "console",
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


@each_page
def test_python_in_a_page_runs(page: Path) -> None:
    names: dict[str, object] = {}
    for block in blocks(page):
        if block.fence.startswith("python"):
            # Empty lines first, so that a traceback tells the line in the page.
            code = compile("\n" * block.line + block.text, str(page), "exec")
            if block.fence == "python":
                exec(code, names)


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
    page = (ROOT / "docs" / "language.md").read_text()
    calls = [f.name for f in FUNCTIONS.values() if "(" in f.usage.partition(" ")[0]]
    assert [name for name in [*calls, *AGGREGATES] if name.upper() not in page] == []


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
    if words[:1] and words[0].startswith("-"):
        windrow.make_parser(click.Context(windrow)).parse_args(words)
        return
    command = windrow.get_command(click.Context(windrow), words[0])
    assert command is not None, f"there is no command {words[0]}"
    command.make_parser(click.Context(command)).parse_args(words[1:])


@each_page
def test_what_a_page_shows_is_what_is_printed(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for block in blocks(page):
        for words, shown in commands(block) if block.fence == "console" else []:
            if words[:1] == ["windrow"] and words[1] in SAME_EVERYWHERE and any(shown):
                printed = CliRunner().invoke(windrow, words[1:]).output.splitlines()
                cut = shown.index("...") if "..." in shown else None
                length = len(printed) if cut is None else cut
                assert printed[:length] == shown[:cut]


@each_page
def test_every_block_of_a_page_says_what_it_is(page: Path) -> None:
    assert {block.fence for block in blocks(page)} <= KNOWN_FENCES


@each_page
def test_links_inside_the_project_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert [t for t in targets if not (page.parent / t).exists()] == []
