"""Checkpoints that some windrow has written are continued, or refused with reason and way out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from tests import checkpoints
from tests.checkpoints import (
    AFTER,
    BEFORE,
    INSTANTS,
    QUERIES,
    Continued,
    Rows,
    answer,
    continued,
    fixtures,
    rows,
)

from windrow.core.errors import StateError
from windrow.operators.state.saved import from_bytes, to_bytes
from windrow.physical import operators
from windrow.physical.operators import StateLayout
from windrow.runtime.shards import program
from windrow.runtime.shards.optimized import _made
from windrow.runtime.shards.program import FORMAT

LAST = (BEFORE + AFTER) * INSTANTS - 1
IN_DUCKDB = {
    "join": "SELECT a.k, a.x, b.v FROM a, b WHERE a.k = b.k AND {a} < 9 AND {b} < 15",
    "join_of_many": "SELECT a.k, a.x, b.v, c.x FROM a, b, c"
    " WHERE a.k = b.k AND b.k = c.k AND {a} < 7 AND {b} < 9 AND {c} < 12",
    "median": "SELECT k, MEDIAN(x), COUNT(*), MAX(v) FROM a WHERE {a} < 25 GROUP BY k",
    "distinct": "SELECT DISTINCT k, v FROM a WHERE {a} < 15",
    "negation": "SELECT k, v FROM a WHERE {a} < 20 AND k NOT IN (SELECT k FROM b WHERE {b} < 3)",
    "count_window": "SELECT k, SUM(x)::BIGINT FROM (FROM a ORDER BY ts DESC LIMIT 12) GROUP BY k",
    "count_window_by_key": "SELECT k, x, v FROM a"
    " QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) <= 2",
}
"""The queries over all tuples at the last instant; `{a}` is the age of a tuple of `a`."""

KEPT = list(fixtures())
NOW = [folder for number, folder in KEPT if number == FORMAT]


def copied(folder: Path, to: Path) -> Path:
    shutil.copytree(folder / "checkpoint", to, dirs_exist_ok=True)
    return to


def expected(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((folder / "expected.json").read_text())
    return read


def in_duckdb(query: str) -> Rows:
    with duckdb.connect() as db:
        for stream in "abc":
            everything = [rows(stream, batch) for batch in range(BEFORE + AFTER)]
            db.register(stream, pa.concat_tables(everything))
        ages = {stream: f"({LAST} - {stream}.ts)" for stream in "abc"}
        return sorted(list(row) for row in db.sql(IN_DUCKDB[query].format(**ages)).fetchall())


def test_every_query_has_a_checkpoint_of_this_format() -> None:
    """If not: ``make checkpoints`` writes those of a new format, and leaves the older ones."""
    assert {folder.name for folder in NOW} == set(QUERIES) == set(IN_DUCKDB)


@pytest.mark.parametrize("folder", NOW, ids=lambda f: f.name)
def test_a_checkpoint_is_continued_with_the_answer_of_a_run_from_the_start(
    folder: Path, tmp_path: Path
) -> None:
    query, known = folder.name, expected(folder)
    whole = Continued(tmp_path / "whole", query)
    before = [row for batch in range(BEFORE) for row in whole.run(batch)]
    whole.keeper.close()
    assert answer(before) == known["answer"]
    made = continued(copied(folder, tmp_path / "copy"), query)
    assert made == known["changes"]
    assert made == continued(tmp_path / "whole", query)
    assert answer(before + made) == in_duckdb(query)


@pytest.mark.parametrize(("number", "folder"), KEPT, ids=str)
def test_a_checkpoint_of_an_older_format_is_continued_or_refused_in_words(
    number: int, folder: Path, tmp_path: Path
) -> None:
    made, refused = None, None
    try:
        made = continued(copied(folder, tmp_path), folder.name)
    except StateError as error:
        refused = error
    if refused is None:
        assert made == expected(folder)["changes"]
    else:
        assert number < FORMAT
        assert_has_way_out(refused)


def assert_has_way_out(refused: StateError) -> None:
    assert "was made by another version of windrow" in refused.message
    assert refused.detail == "The program is the same; its plans have another form in this version."
    assert "start with a new checkpoint" in refused.hint


def test_another_format_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "FORMAT", FORMAT + 1)
    with pytest.raises(StateError) as refused:
        continued(copied(NOW[0], tmp_path), NOW[0].name)
    assert_has_way_out(refused.value)


@pytest.fixture
def another_layout_of_groups(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(operators.GroupByOp, "layout", StateLayout("groups", 99))
    _made.clear()
    yield
    _made.clear()


@pytest.mark.usefixtures("another_layout_of_groups")
def test_an_operator_of_another_layout_is_refused_in_words(tmp_path: Path) -> None:
    (folder,) = (folder for folder in NOW if folder.name == "median")
    with pytest.raises(StateError) as refused:
        continued(copied(folder, tmp_path), "median")
    assert_has_way_out(refused.value)


@pytest.mark.parametrize("folder", NOW, ids=lambda f: f.name)
def test_a_structure_of_another_layout_is_refused_in_words(folder: Path, tmp_path: Path) -> None:
    """The number is changed in the snapshot, and the log before it is gone."""
    (snapshot,) = copied(folder, tmp_path).rglob("*.state")
    saved = from_bytes(snapshot.read_bytes())
    assert renumbered(saved["state"]), "no structure inside has a layout"
    snapshot.write_bytes(to_bytes(saved))
    with pytest.raises(StateError, match=r'of ".*" has layout \[.*\], and this windrow') as refused:
        continued(tmp_path, folder.name)
    assert "Start the query anew" in refused.value.hint


def renumbered(saved: object) -> int:
    """Raise all layouts in a saved state by one; return how many there are."""
    if isinstance(saved, list):
        return sum(map(renumbered, saved))
    if not isinstance(saved, dict):
        return 0
    found = sum(map(renumbered, saved.values()))
    if "layout" not in saved:
        return found
    name, number = saved["layout"]
    saved["layout"] = [name, number + 1]
    return found + 1


def test_what_is_there_is_not_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "FIXTURES", tmp_path)
    for query in QUERIES.keys() - {"join"}:
        (tmp_path / f"format-{FORMAT}" / query).mkdir(parents=True)
    older = tmp_path / f"format-{FORMAT - 1}" / "join"
    older.mkdir(parents=True)
    checkpoints.main()
    written = {path.parent.name for path in tmp_path.rglob("expected.json")}
    assert written == {"join"}
    assert not list(older.iterdir())
