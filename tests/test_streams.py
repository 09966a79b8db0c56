"""Runs tests/streams/*.stream: small stories of a query over time, with restarts in them.

    declare CREATE STREAM bids (ts BIGINT, sku STRING) TIMESTAMP BY ts
    query   SELECT sku, COUNT(*) AS n FROM bids [RANGE 10] GROUP BY sku
    feed    bids  ts=1  sku=a
    crash                                   # the state through bytes into a fresh engine
    advance 11
    answer  (a,1)                           # the answer now, rows in any order
    end                                     # nothing follows
    expect  1: +(a,1) | 11: -(a,1)          # all net changes so far

Every story is told three times, once a strategy; each must come out the same.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.reference.drive import read, restart
from windrow.runtime.local.database import Database

STORIES = sorted(Path(__file__).parent.glob("streams/*.stream"))


class Story:
    """An engine in the middle of a story."""

    def __init__(self, strategy: str) -> None:
        self.db, self.strategy = Database(), strategy
        self.query = None
        self.changes: list = []

    def tell(self, verb: str, rest: str) -> None:
        getattr(self, f"on_{verb}")(rest)

    def on_declare(self, rest: str) -> None:
        self.db.execute(rest)

    def on_query(self, rest: str) -> None:
        self.query = self.db.query(rest, strategy=self.strategy)

    def on_feed(self, rest: str) -> None:
        name, *pairs = rest.split()
        self.db.push(name, [{k: value(v) for k, v in (p.split("=", 1) for p in pairs)}])

    def on_advance(self, rest: str) -> None:
        self.db.advance(int(rest))

    def on_crash(self, rest: str) -> None:
        self.collect()
        restart(self.db, self.query.name)

    def on_end(self, rest: str) -> None:
        self.db.drain()

    def on_answer(self, rest: str) -> None:
        rows = Counter(map(shown, (tuple(r.values()) for r in self.query.answer().to_pylist())))
        assert rows == Counter(re.findall(r"\([^)]*\)", rest))

    def on_expect(self, rest: str) -> None:
        self.collect()
        assert self.told() == [part.strip() for part in rest.split("|")]

    def collect(self) -> None:
        self.changes += read(self.query.changes())

    def told(self) -> list[str]:
        """The net changes of each instant: deletions first, then insertions, in row order."""
        net: dict[int, Counter] = {}
        for ts, sign, row in self.changes:
            net.setdefault(ts, Counter())[shown(row)] += sign
        lines = []
        for ts in sorted(net):
            gone = [f"-{row}" for row, n in sorted(net[ts].items()) for _ in range(-n)]
            came = [f"+{row}" for row, n in sorted(net[ts].items()) for _ in range(n)]
            if gone or came:
                lines.append(f"{ts}: {' '.join(gone + came)}")
        return lines


def value(text: str) -> object:
    if text == "NULL":
        return None
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def shown(row: tuple) -> str:
    return f"({','.join('NULL' if v is None else str(v) for v in row)})"


@pytest.mark.parametrize("strategy", ["upa", "negative", "direct"])
@pytest.mark.parametrize("path", STORIES, ids=lambda p: p.stem)
def test_the_story_comes_true(path: Path, strategy: str) -> None:
    story = Story(strategy)
    for line in path.read_text().splitlines():
        words = line.split("#", 1)[0].strip()
        if words:
            verb, _, rest = words.partition(" ")
            story.tell(verb, rest.strip())
