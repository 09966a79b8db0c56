"""Links with LBL's proportions: the same for the same seed, and as the thesis tells them."""

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from windrow.cli.main import windrow
from windrow_lab.generate.lbl import Lbl, lbl


@pytest.fixture(scope="module")
def links() -> dict[str, pa.Table]:
    return lbl(Lbl(ticks=200_000, links=2))


def number(query: str, links: dict[str, pa.Table]) -> int:
    with duckdb.connect() as connection:
        for name, table in links.items():
            connection.register(name, table)
        (found,) = connection.execute(query).fetchone() or (0,)
        return int(found)


def test_a_seed_gives_the_same_rows_and_another_gives_others() -> None:
    assert lbl(Lbl(1_000)) == lbl(Lbl(1_000))
    assert lbl(Lbl(1_000)) != lbl(Lbl(1_000, seed=8))


def test_more_ticks_and_links_leave_what_was_there() -> None:
    longer = lbl(Lbl(2_000, links=3))
    for name, table in lbl(Lbl(1_000, links=2)).items():
        assert longer[name].slice(0, 1_000) == table


def test_without_users_only_the_sources_of_ftp_and_telnet_differ() -> None:
    with_users, without = (lbl(Lbl(20_000, 1, users=users))["link1"] for users in (True, False))
    assert with_users["proto"] == without["proto"]
    personal = "proto IN ('ftp', 'telnet')"
    both = {"a": with_users, "b": without}
    pairs = "FROM a POSITIONAL JOIN b AS b(bt, bsrc, bdst, bproto, bbytes)"
    assert number(f"SELECT COUNT(*) {pairs} WHERE NOT {personal} AND src <> bsrc", both) == 0
    most = f"SELECT MAX(n) FROM (SELECT COUNT(*) n FROM {{}} WHERE {personal} GROUP BY src)"
    assert number(most.format("b"), both) > 10 * number(most.format("a"), both)


def test_a_link_has_two_thousand_sources_and_about_twenty_thousand_pairs(
    links: dict[str, pa.Table],
) -> None:
    assert 1_950 <= number("SELECT COUNT(DISTINCT src) FROM link1", links) <= 2_000
    pairs = number("SELECT COUNT(*) FROM (SELECT DISTINCT src, dst FROM link1)", links)
    assert 16_000 <= pairs <= 25_000


def test_the_join_of_ftp_has_as_many_results_as_inputs_and_telnet_ten_times_as_many(
    links: dict[str, pa.Table],
) -> None:
    window = {name: table.slice(0, 33_000) for name, table in links.items()}
    found = {}
    for kind in ("ftp", "telnet"):
        inputs = number(f"SELECT COUNT(*) FROM link1 WHERE proto = '{kind}'", window)
        joined = f"link1 JOIN link2 USING (src, proto) WHERE proto = '{kind}'"
        found[kind] = inputs, number(f"SELECT COUNT(*) FROM {joined}", window)
    inputs, results = found["ftp"]
    assert 0.7 <= results / inputs <= 1.4
    assert 8 <= found["telnet"][1] / results <= 12


def test_some_sources_of_a_link_are_on_another_now_and_then_and_some_never(
    links: dict[str, pa.Table],
) -> None:
    quiet = "SELECT COUNT(DISTINCT src) FROM link1 WHERE src NOT IN (SELECT src FROM link2)"
    never = number(quiet, links)
    assert 300 <= never <= 500
    window = {name: table.slice(0, 20_000) for name, table in links.items()}
    assert number(quiet, window) > never


def test_the_command_writes_links_cut_at_the_same_ticks(tmp_path: Path) -> None:
    args = ["generate", "lbl", str(tmp_path), "--ticks", "500", "--links", "2", "--files", "3"]
    result = CliRunner().invoke(windrow, args)
    assert result.exit_code == 0, result.output
    for n in range(3):
        times = [pq.read_table(tmp_path / f"link{k}" / f"{n:05}.parquet")["t"] for k in (1, 2)]
        assert times[0] == times[1]
    assert pq.read_table(tmp_path / "link1").num_rows == 500
    refused = CliRunner().invoke(windrow, [*args[:3], "--ticks", "0"])
    assert (refused.exit_code, "--ticks is at least 1" in refused.stderr) == (1, True)
