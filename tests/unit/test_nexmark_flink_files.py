"""What Flink is given of Nexmark, and how what it tells is read; Flink itself is a slow test."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from windrow_lab.generate.nexmark.scale import SECOND, START
from windrow_lab.nexmark import on_flink
from windrow_lab.nexmark.flink_sql import CANNOT, SELECTS, columns_of, reads
from windrow_lab.nexmark.queries import NAMES


def answer(path: Path, *lines: object) -> Path:
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    return path


def test_every_query_is_said_or_has_a_reason() -> None:
    assert sorted([*SELECTS, *CANNOT]) == sorted(NAMES)


def test_rows_of_a_window_are_the_answer_until_the_next(tmp_path: Path) -> None:
    told = answer(tmp_path / "a", ["_end", "auction"], [1, "2026-01-01 00:00:10.001", 7])
    rows = on_flink.read_changes(told, 2)
    times = rows["_ts"].cast(pa.int64()).to_pylist()
    assert times == [START + 10 * SECOND, START + 12 * SECOND]
    assert rows["_sign"].to_pylist() == [1, -1]
    assert rows["auction"].to_pylist() == [7, 7]


def test_times_come_as_milliseconds(tmp_path: Path) -> None:
    told = answer(tmp_path / "a", ["dateTime"], [1, START // 1_000], [-1, START // 1_000])
    rows = on_flink.read_changes(told, None)
    assert rows["dateTime"].cast(pa.int64()).to_pylist() == [START, START]
    assert rows["_sign"].to_pylist() == [1, -1]


def test_an_empty_answer_shows_nothing(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="shows nothing"):
        on_flink.read_changes(answer(tmp_path / "a", ["n"]), None)


def test_files_have_the_columns_that_a_query_names_and_all_rows(tmp_path: Path) -> None:
    events = on_flink.tables_of(on_flink.CHECK)
    request = on_flink.run("check", SELECTS["q2"], events, tmp_path)
    assert reads(SELECTS["q2"]) == ["bid"]
    assert columns_of("bid", SELECTS["q2"]) == ["auction", "price", "dateTime"]
    assert "`auction` BIGINT, `price` BIGINT, `dateTime` BIGINT" in request["statements"][-1]
    lines = [p.read_text().splitlines() for p in sorted((tmp_path / "check" / "bid").iterdir())]
    assert sum(map(len, lines)) == len(events["bid"])
    for part in lines:
        times = [int(line.split(",")[2]) for line in part]
        assert times == sorted(times)
