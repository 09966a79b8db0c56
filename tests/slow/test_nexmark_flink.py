"""Originals of Nexmark on Flink, which is downloaded: DuckDB answers the same."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from windrow_lab.generate.nexmark.scale import Nexmark
from windrow_lab.nexmark import on_flink
from windrow_lab.nexmark.queries import NAMES, nexmark_query
from windrow_lab.nexmark.report import Cannot, Measured
from windrow_lab.peers.environments import FLINK, ensure

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def flink(tmp_path_factory: pytest.TempPathFactory) -> Iterator[on_flink.Flink]:
    python = ensure(FLINK, lambda _: None)
    folder: Path = tmp_path_factory.mktemp("flink")
    made = on_flink.Flink.of(python, folder, Nexmark(events=20_000))
    yield made
    made.oracle.close()


@pytest.mark.parametrize("name", NAMES)
def test_flink_answers_the_original_or_cannot(flink: on_flink.Flink, name: str) -> None:
    found = on_flink.measure(nexmark_query(name), flink)
    if name == "q6":
        assert isinstance(found, Cannot)
        return
    assert isinstance(found, Measured), found
    assert found.check == "equal"
    assert found.rows_per_second > 0
