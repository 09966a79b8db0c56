"""Plans on a terminal fit its width, and use colours only where they are wanted."""

import io

import pytest
from rich.console import Console

from windrow.cli.terminal import print_plan
from windrow.core.schema import Field, Schema
from windrow.core.time import Clock
from windrow.core.types import STRING, TIMESTAMP
from windrow.plan.catalog import Stream
from windrow.plan.explain import explain_text
from windrow.plan.expressions import Column
from windrow.plan.nodes import Join, JoinOn, Query, Scan, Window
from windrow.plan.windows import Range

COLUMNS = Schema((Field("ts", TIMESTAMP), Field("source_address", STRING)))


def window(name: str) -> Window:
    return Window(Scan(Stream(name, COLUMNS, "ts", Clock.TIMESTAMP), name), Range(60_000_000))


def key(name: str) -> Column:
    return Column(f"{name}.source_address", STRING)


QUERY = Query(
    Join(
        window("first_link"),
        window("other_link"),
        JoinOn((key("first_link"),), (key("other_link"),)),
    ),
    name="both",
)


def printed(
    width: int, *, terminal: bool = True, patterns: bool = True, colour: bool = False
) -> str:
    console = Console(
        file=io.StringIO(),
        force_terminal=terminal,
        width=width,
        color_system="standard" if colour else None,
        highlight=False,
    )
    print_plan(console, QUERY, patterns=patterns)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_on_a_wide_terminal_it_is_the_text_tree() -> None:
    assert printed(200) == explain_text(QUERY) + "\n"
    assert printed(200, patterns=False) == explain_text(QUERY, patterns=False) + "\n"


@pytest.mark.parametrize("width", [72, 80, 100])
def test_on_a_narrow_terminal_labels_and_reasons_wrap_in_their_columns(width: int) -> None:
    lines = printed(width).splitlines()
    assert max(map(len, lines)) <= width
    words = " ".join(" ".join(lines).replace("│", " ").split())
    assert "lives" in words
    assert "other_link.source_address" in words
    assert any(line.startswith("   │  ") for line in lines)


def test_elsewhere_it_is_plain_however_narrow() -> None:
    assert printed(20, terminal=False) == explain_text(QUERY) + "\n"


def test_patterns_have_colours_where_colours_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[36mWKS" in printed(200, colour=True)
    assert "\x1b[36m" not in printed(200)
