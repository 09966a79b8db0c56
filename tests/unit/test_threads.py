"""Loops in parts on several threads: the same results, and errors that are not lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from windrow.operators import threads
from windrow.operators.join.multi import stars
from windrow_lab.bench.joins.feed import JoinCase, Match, Source, difference

ARENA = JoinCase(
    (Source(1, 300, 40), Source(2, 200, 40), Source(3, 250, 40)),
    "s0.k = s1.k AND s1.k = s2.k",
    ticks=2_000,
)


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = threads.parts()
    yield
    threads.use(before)


@pytest.mark.parametrize("steps", [1, 7, 40])
def test_results_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
    monkeypatch.setattr(stars, "LARGE", 1)
    tables = ARENA.tables()
    found = []
    for count in (1, 2, 4):
        threads.use(count)
        found.append(Match.of(ARENA, "hash", tables).run(0, ARENA.ticks, steps))
    assert difference(found) == ""


def test_an_error_of_any_part_is_raised() -> None:
    done = []

    def fails() -> None:
        msg = "a part"
        raise ValueError(msg)

    with pytest.raises(ValueError, match="a part"):
        threads.together([lambda: done.append(1), fails, lambda: done.append(3)])
    assert sorted(done) == [1, 3]
    with pytest.raises(ValueError, match="a part"):
        threads.together([fails, lambda: done.append(4)])
    assert 4 in done


@pytest.mark.parametrize(
    ("said", "count"), [("3", 3), ("0", 1), ("99", threads.MOST), ("²", None), ("", None)]
)
def test_the_environment_says_how_many(
    monkeypatch: pytest.MonkeyPatch, said: str, count: int | None
) -> None:
    """What is no number counts as nothing; so does "²", which is a digit, but no decimal one."""
    monkeypatch.delenv(threads.ENV, raising=False)
    own = threads._wanted()
    monkeypatch.setenv(threads.ENV, said)
    assert threads._wanted() == (own if count is None else count)


def test_threads_stay_within_bounds() -> None:
    threads.use(0)
    assert threads.parts() == 1
    threads.use(1_000)
    assert threads.parts() == threads.MOST
