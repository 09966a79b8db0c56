"""`windrow bench joins`: bars are told, and answers are compared."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from windrow.cli.bench.joins import methods, orders, swap
from windrow.cli.bench.joins.feed import Arena, Match, Source, Timing, difference
from windrow.cli.main import windrow

SMALL = Arena((Source(1, 50, 20),) * 3, "s0.k = s1.k AND s1.k = s2.k", ticks=300)


def test_orders_and_algorithms_tell_the_same() -> None:
    tables = SMALL.tables()
    runs = [Match.of(SMALL, a, tables).run(0, 300, 3) for a in ("hash", "tree", "loops", "naive")]
    _, others, different = orders.contest(orders.arena_of(orders.Random(1)), 1)
    assert difference(runs) == ""
    assert different == ""
    assert len(others) == 3


def test_another_answer_is_told() -> None:
    one = Timing(1.0, 10, 5, 77)
    assert difference([one, replace(one, digest=78)]) == "2 different answers"
    assert difference([replace(one, results=0)]) == "no result at all"


def test_the_command_prints_a_line_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "SHAPES", {"small": SMALL})
    args = ["bench", "joins", "--only", "shapes", "--repeats", "1"]
    made = CliRunner().invoke(windrow, args)
    assert made.exit_code == 0, made.output
    told = json.loads(made.output.splitlines()[0])
    assert told["name"] == "tree_against_hash_small"
    assert told["check"] == "equal"


def test_a_swap_of_rates_changes_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swap, "WINDOW", 4_000)
    sources = tuple(
        replace(s, window=s.window // 10, k=s.k // 10 or 1, j=s.j // 10 or 1)
        for s in swap.ARENA.sources
    )
    monkeypatch.setattr(swap, "ARENA", replace(swap.ARENA, sources=sources, ticks=24_000))
    bar = swap.measure(1)
    assert bar.check == "equal"
    assert int(str(bar.facts["reorderings"])) >= 1
