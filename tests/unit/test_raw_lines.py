"""A JSON row that lacks what it must have is kept as it stands in its file."""

import gzip
import json
from pathlib import Path

from windrow.runtime.spark.raw_lines import with_lines

LINES = ['{"t": 1, "k": 2}', '{"T": 3, "k": 4}', "no json", '{"T": 5, "K": 6}', '{"t": null}', ""]


def letter(**row: object) -> tuple[str, str]:
    return "t is NULL", json.dumps(row)


def test_lines_are_found_by_what_they_lack(tmp_path: Path) -> None:
    letters = [letter(t=None, k=None), letter(t=None, k=4), letter(t=None, k=None)]
    wanted = [LINES[3], LINES[1], LINES[4]]
    (tmp_path / "a b.json").write_text("\n".join(LINES))
    with gzip.open(tmp_path / "x.json.gz", "wt") as packed:
        packed.write("\n".join(LINES))
    for name in ("a b.json", "x.json.gz"):
        found = with_lines((tmp_path / name).as_uri(), letters)
        assert found == [("t is NULL", line) for line in wanted]


def test_letters_stay_as_they_are_where_no_line_is_theirs_for_sure(tmp_path: Path) -> None:
    letters = [letter(t=None, k=None)]
    assert with_lines(str(tmp_path / "gone.json"), letters) == letters
    (tmp_path / "x.json").write_text("\n".join(LINES))
    assert with_lines(str(tmp_path / "x.json"), letters) == letters, "two lines lack that"
