"""`windrow bench joins`: bars are told, and answers are compared."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from windrow.cli.main import windrow
from windrow_lab.bench.joins import batch, methods, orders, swap
from windrow_lab.bench.joins.feed import JoinCase, JoinTiming, Match, Source, difference

SMALL = JoinCase((Source(1, 50, 20),) * 3, "s0.k = s1.k AND s1.k = s2.k", ticks=300)


@pytest.mark.long
def test_orders_and_algorithms_tell_the_same() -> None:
    tables = SMALL.tables()
    runs = [Match.of(SMALL, a, tables).run(0, 300, 3) for a in ("hash", "tree", "loops", "naive")]
    drawn = replace(orders.arena_of(orders.Random(1)), ticks=2_000)
    _, others, different = orders.contest(drawn, 1)
    assert difference(runs) == ""
    assert different == ""
    assert len(others) == 3


def test_another_answer_is_told() -> None:
    one = JoinTiming(1.0, 10, 5, 77)
    assert difference([one, replace(one, digest=78)]) == "2 different answers"
    assert difference([replace(one, results=0)]) == "no result at all"


def test_the_command_prints_a_line_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "SHAPES", {"small": SMALL})
    counts = replace(SMALL, sources=tuple(replace(s, counts=True) for s in SMALL.sources))
    monkeypatch.setattr(methods, "SIGNED", {"counts": counts})
    args = ["bench", "joins", "--only", "shapes", "--repeats", "1"]
    made = CliRunner().invoke(windrow, args)
    assert made.exit_code == 0, made.output
    told = [json.loads(line) for line in made.output.splitlines()[:2]]
    names = ["tree_against_hash_small", "tree_against_hash_counts"]
    assert [t["name"] for t in told] == names
    assert [t["check"] for t in told] == ["equal"] * 2


@pytest.mark.long
def test_duckdb_has_the_same_triples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "ROWS", 90_000)
    bars = batch.measure(1)
    assert [bar.check for bar in bars] == ["equal", "equal"]
    assert int(str(bars[0].work["results"])) > 1_000_000


@pytest.mark.long
def test_a_swap_of_rates_changes_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swap, "WINDOW", 2_000)
    monkeypatch.setattr(swap, "STEPS", 4)
    monkeypatch.setattr(swap, "REPEATS", 1)  # more are for the clock, which nobody reads here
    sources = tuple(
        replace(s, window=s.window // 20, k=s.k // 20 or 1, j=s.j // 20 or 1)
        for s in swap.ARENA.sources
    )
    monkeypatch.setattr(swap, "ARENA", replace(swap.ARENA, sources=sources, ticks=12_000))
    bar = swap.measure(1)
    assert bar.check == "equal"
    assert int(str(bar.facts["reorderings"])) >= 1
