"""Generated traffic: the same for the same seed, skewed, in order, in files that stay abreast."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from windrow.cli.main import windrow
from windrow.generate.files import write_streams
from windrow.generate.traffic import LINKS, SECOND, START, Traffic, traffic

SCALE = Traffic(rows=40_000, seconds=60, seed=11)
SCHEMA = pa.schema(
    {
        "ts": pa.timestamp("us", "UTC"),
        "src": pa.string(),
        "dst": pa.string(),
        "proto": pa.string(),
        "bytes": pa.int64(),
    }
)


@pytest.fixture(scope="module")
def links() -> dict[str, pa.Table]:
    return traffic(SCALE)


def sources(table: pa.Table) -> set[str]:
    return set(table["src"].unique().to_pylist())


def test_a_seed_gives_the_same_rows_and_another_gives_others(links: dict[str, pa.Table]) -> None:
    assert traffic(SCALE) == links
    assert traffic(Traffic(SCALE.rows, SCALE.seconds, SCALE.seed + 1)) != links


def test_links_have_all_rows_in_time_order(links: dict[str, pa.Table]) -> None:
    assert tuple(links) == LINKS
    assert sum(map(len, links.values())) == SCALE.rows
    for table in links.values():
        assert table.schema == SCHEMA
        ts = table["ts"].cast(pa.int64()).to_numpy()
        assert (np.diff(ts) >= 0).all()
        assert START <= ts[0] < ts[-1] < START + SCALE.seconds * SECOND


def test_some_sources_are_on_one_link_only_and_some_on_all(links: dict[str, pa.Table]) -> None:
    one, two, three = map(sources, links.values())
    assert one - two - three
    assert two - one - three
    assert one & two & three


def test_few_sources_make_most_rows_and_few_rows_most_bytes(links: dict[str, pa.Table]) -> None:
    whole = pa.concat_tables(links.values())
    counts = np.sort(pc.value_counts(whole["src"]).field("counts").to_numpy())[::-1]
    assert counts[: len(counts) // 10].sum() > 0.5 * SCALE.rows
    sizes = np.sort(whole["bytes"].to_numpy())[::-1]
    assert sizes[-1] > 0
    assert sizes[: len(sizes) // 10].sum() > 0.5 * sizes.sum()


def test_a_source_keeps_to_one_destination_for_a_session(links: dict[str, pa.Table]) -> None:
    table = links["link1"].sort_by([("src", "ascending"), ("ts", "ascending")])
    src, dst = (np.array(table[name].to_pylist()) for name in ("src", "dst"))
    follows = src[1:] == src[:-1]
    assert (dst[1:] == dst[:-1])[follows].mean() > 0.2


def test_one_row_is_traffic_too() -> None:
    assert sum(map(len, traffic(Traffic(rows=1, seconds=1)).values())) == 1


def test_files_of_all_links_are_cut_at_the_same_times(
    tmp_path: Path, links: dict[str, pa.Table]
) -> None:
    written = write_streams(tmp_path, links, pieces=4)
    for name, paths in written.items():
        assert sorted(paths, key=lambda p: p.stat().st_mtime_ns) == paths
        assert pa.concat_tables(map(pq.read_table, paths)) == links[name]
    for n in range(3):
        ends = [pq.read_table(paths[n])["ts"][-1] for paths in written.values()]
        starts = [pq.read_table(paths[n + 1])["ts"][0] for paths in written.values()]
        assert max(e.value for e in ends) < min(s.value for s in starts)


def test_the_command_writes_the_links_and_refuses_a_folder_in_use(tmp_path: Path) -> None:
    args = ["generate", "traffic", str(tmp_path), "--rows", "500", "--files", "3"]
    first = CliRunner().invoke(windrow, args)
    assert first.exit_code == 0, first.output
    assert len(list(tmp_path.glob("link?/*.parquet"))) == 9
    assert sum(pq.read_table(tmp_path / link).num_rows for link in LINKS) == 500
    again = CliRunner().invoke(windrow, args)
    assert (again.exit_code, "is not empty" in again.stderr) == (1, True)


def test_the_command_refuses_no_rows(tmp_path: Path) -> None:
    result = CliRunner().invoke(windrow, ["generate", "traffic", str(tmp_path), "--rows", "0"])
    assert (result.exit_code, "--rows is at least 1" in result.stderr) == (1, True)
