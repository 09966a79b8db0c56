"""Nexmark's events: their proportions, their skew, their texts, and their files."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import windrow as wr
from windrow.cli.main import windrow
from windrow.core.errors import InputError
from windrow_lab.generate.nexmark.declarations import declarations
from windrow_lab.generate.nexmark.events import STREAMS, batches, side_input, stretch
from windrow_lab.generate.nexmark.scale import SECOND, START, STRIDE, Nexmark, newest_auction

SCALE = Nexmark(events=200_000)


@pytest.fixture(scope="module")
def made() -> dict[str, pa.Table]:
    return stretch(SCALE, 0, SCALE.events)


def numbers(table: pa.Table, column: str) -> np.ndarray:
    return table[column].cast(pa.int64()).to_numpy()


def test_kinds_have_their_shares(made: dict[str, pa.Table]) -> None:
    shares = {name: len(table) / SCALE.events for name, table in made.items()}
    assert shares == {"person": 0.02, "auction": 0.06, "bid": 0.92}


def test_ids_are_dense_and_times_go_on_at_the_rate(made: dict[str, pa.Table]) -> None:
    for name in ("person", "auction"):
        assert (np.diff(numbers(made[name], "id")) == 1).all()
        assert numbers(made[name], "id")[0] == 1_000
    for table in made.values():
        times = numbers(table, "dateTime")
        assert (np.diff(times) >= 0).all()
        assert (times % 1_000 == 0).all()
        assert START <= times[0] < times[-1] < START + SCALE.events * SECOND // SCALE.rate


@pytest.mark.parametrize(("ratio", "share"), [(1, 0.0), (2, 0.5), (4, 0.75), (20, 0.95)])
def test_hot_keys_get_their_share(ratio: int, share: float) -> None:
    scale = Nexmark(events=SCALE.events, hot_auctions=ratio, hot_bidders=ratio, hot_sellers=ratio)
    tables = stretch(scale, 0, scale.events)
    by_chance = {"auction": 1 / 111, "bidder": 1 / 1_010, "seller": 1 / 1_010}
    hot = {"auction": 0, "bidder": 1, "seller": 0}
    for column, chance in by_chance.items():
        ids = numbers(tables["auction" if column == "seller" else "bid"], column)
        found = (ids % 100 == hot[column]).mean()
        assert abs(found - share - (1 - share) * chance) < 0.02, column


def test_the_hot_auction_moves_on(made: dict[str, pa.Table]) -> None:
    bids = numbers(made["bid"], "auction")
    for part in np.array_split(bids, 50):
        kinds, counts = np.unique(part, return_counts=True)
        assert abs(kinds[counts.argmax()] - part.mean()) < 400


def test_a_few_references_lie_in_the_future(made: dict[str, pa.Table]) -> None:
    cycle = np.arange(SCALE.events)
    newest = 1_000 + newest_auction(cycle[cycle % 50 > 3])
    ahead = (numbers(made["bid"], "auction") > newest).mean()
    assert abs(ahead - 0.5 * 10 / 111) < 0.005
    assert (numbers(made["bid"], "auction") <= newest + 10).all()


def test_prices_are_log_uniform(made: dict[str, pa.Table]) -> None:
    for table, column in (("bid", "price"), ("auction", "initialBid")):
        decades = (np.log10(numbers(made[table], column)) - 2) / 6
        assert decades.min() >= 0
        assert decades.max() <= 1
        shares = np.histogram(decades, bins=12, range=(0, 1))[0] / len(decades)
        assert abs(shares - 1 / 12).max() < 0.01
    assert pc.all(pc.greater(made["auction"]["reserve"], made["auction"]["initialBid"])).as_py()


def test_small_choices_are_uniform_and_independent(made: dict[str, pa.Table]) -> None:
    for table, column, kinds in (
        ("person", "state", 6),
        ("person", "city", 10),
        ("person", "name", 99),
        ("auction", "category", 5),
    ):
        counts = pc.value_counts(made[table][column]).field("counts").to_numpy()
        assert len(counts) == kinds
        assert abs(counts / counts.sum() - 1 / kinds).max() < 0.25 / kinds + 0.01
    pairs = made["person"].group_by(["state", "city"]).aggregate([])
    assert len(pairs) == 60


def test_half_of_the_bids_come_by_four_channels(made: dict[str, pa.Table]) -> None:
    counts = pc.value_counts(made["bid"]["channel"])
    by_name = dict(zip(counts.field("values").to_pylist(), counts.field("counts"), strict=True))
    for name in ("Google", "Facebook", "Baidu", "Apple"):
        assert abs(by_name[name].as_py() / len(made["bid"]) - 0.125) < 0.01
    pairs = made["bid"].group_by(["channel", "url"]).aggregate([])
    assert len(pairs) == len(by_name)
    told = pc.mean(pc.match_substring(pairs["url"], "&channel_id=").cast(pa.float64())).as_py()
    assert abs(told - 0.9) < 0.02


def test_rows_are_as_long_as_nexmark_has_them(made: dict[str, pa.Table]) -> None:
    counted_not = {"person": [], "auction": [], "bid": ["channel", "url"]}
    for name, size in (("person", 200), ("auction", 500), ("bid", 100)):
        table = made[name].drop_columns(counted_not[name])
        texts = [c for c in table.column_names if pa.types.is_string(table.schema.field(c).type)]
        letters = sum(pc.mean(pc.utf8_length(table[c])).as_py() for c in texts)
        assert abs(letters + 8 * (table.num_columns - len(texts)) - size) < 0.06 * size
    assert len(pc.unique(made["bid"]["extra"])) > 4_000


def test_seeds_give_other_events(made: dict[str, pa.Table]) -> None:
    other = stretch(Nexmark(events=SCALE.events, seed=8), 0, 10_000)
    for name in STREAMS:
        assert other[name] != made[name].slice(0, len(other[name]))


@pytest.mark.parametrize("shape", [{"events": 0}, {"rate": 0}, {"group": 0}, {"hot_bidders": 0}])
def test_a_shape_without_events_is_refused(shape: dict[str, int]) -> None:
    with pytest.raises(InputError, match="at least 1"):
        Nexmark(**shape)


def test_groups_that_are_no_permutation_are_refused() -> None:
    with pytest.raises(InputError, match="multiple"):
        Nexmark(group=2 * STRIDE)


def test_pushes_need_no_fitting_and_disorder_none_is_late() -> None:
    scale = Nexmark(events=5_000, rate=100, group=700)
    with wr.connect() as db:
        db.execute(declarations(scale))
        db.push("side_input", side_input())
        counts = [db.query(f"SELECT COUNT(*) AS n FROM {name}") for name in STREAMS]
        for batch in batches(scale, 800):
            for name, table in batch.items():
                db.push(name, table)
        db.drain()
        assert [c.answer()["n"][0].as_py() for c in counts] == [100, 300, 4_600]
        assert [len(db.late(n)) + len(db.rejected(n)) for n in STREAMS] == [0, 0, 0]


def test_the_command_writes_streams_that_stay_abreast(tmp_path: Path) -> None:
    args = ["generate", "nexmark", "--out", str(tmp_path), "--events", "3000", "--files", "4"]
    first = CliRunner().invoke(windrow, args)
    assert first.exit_code == 0, first.output
    whole = stretch(Nexmark(events=3_000), 0, 3_000)
    for name in STREAMS:
        paths = sorted((tmp_path / name).glob("*.parquet"))
        assert sorted(paths, key=lambda p: p.stat().st_mtime_ns) == paths
        pieces = [pq.read_table(path) for path in paths]
        assert len(pieces) == 4
        assert pa.concat_tables(pieces) == whole[name]
    assert pq.read_table(tmp_path / "side_input") == side_input()
    again = CliRunner().invoke(windrow, args)
    assert (again.exit_code, "is not empty" in again.stderr) == (1, True)


def test_the_written_script_runs(tmp_path: Path) -> None:
    args = ["generate", "nexmark", "--out", str(tmp_path), "--events", "2000", "--files", "2"]
    assert CliRunner().invoke(windrow, args).exit_code == 0
    script = tmp_path / "script.cql"
    counting = "CREATE QUERY n AS SELECT COUNT(*) AS n FROM bid;"
    script.write_text((tmp_path / "streams.cql").read_text() + counting)
    result = CliRunner().invoke(windrow, ["run", str(script), "--engine", "local"])
    assert result.exit_code == 0, result.output
    assert "1840" in result.output


def test_the_command_refuses_no_files(tmp_path: Path) -> None:
    args = ["generate", "nexmark", "--out", str(tmp_path), "--files", "0"]
    result = CliRunner().invoke(windrow, args)
    assert (result.exit_code, "--files is at least 1" in result.stderr) == (1, True)
