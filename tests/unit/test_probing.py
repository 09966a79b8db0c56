"""A look at a file shows whether it can be read, and which columns it lacks."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from windrow.core.schema import Field
from windrow.runtime.local.probing import FINE, REMOVED, FileExpectation, ProbeResult, look, look_at

COLUMNS = (Field("t", pa.int64(), nullable=False), Field("k", pa.int64()))
GOOD = pa.table({"t": [1, 2], "k": [3, 4], "more": ["a", "b"]})


def footed(path: Path, table: pa.Table, kind: str) -> ProbeResult:
    (pq.write_table if kind == "parquet" else orc.write_table)(table, path)
    return look(str(path), FileExpectation(kind, COLUMNS, {}))


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_a_footer_shows_columns_and_types(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "a b.x"

    def found(**columns: pa.Array) -> ProbeResult:
        return footed(file, pa.table(columns), kind)

    t, k = GOOD["t"], GOOD["k"]
    assert footed(file, GOOD, kind) == FINE
    assert found(K=k, T=t) == FINE, "any order, any case"
    assert found(t=t, k=k.cast(pa.int32())) == FINE, "widened"
    assert found(t=t) == ProbeResult(missing=("k",))
    assert found(k=k) == ProbeResult('it has no column "t"', "t")
    text = pa.array(["x", "2"])
    assert found(t=t, k=text) == ProbeResult('its column "k" is STRING, and is read as BIGINT', "k")
    real = pa.array([1.5, 2.0])
    assert found(t=t, k=real).reason == 'its column "k" is DOUBLE, and is read as BIGINT'
    nested = pa.array([{"a": 1}, {"a": 2}])
    assert "is STRUCT<a: BIGINT>, and is read as BIGINT" in found(t=t, k=nested).reason


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_what_is_no_such_file_is_found(tmp_path: Path, kind: str) -> None:
    file, wanted = tmp_path / "x", FileExpectation(kind, COLUMNS, {})
    assert footed(file, GOOD, kind) == FINE
    whole = file.read_bytes()
    for damaged in (b"garbage" * 50, whole[: len(whole) // 2], whole[:-1]):
        file.write_bytes(damaged)
        assert look(str(file), wanted).reason
    file.write_bytes(b"")
    assert look(file.as_uri(), wanted) == ProbeResult("it is empty")
    file.unlink()
    assert look_at([str(file)], wanted) == {str(file): ProbeResult(REMOVED)}


def test_the_folder_names_a_partition(tmp_path: Path) -> None:
    (tmp_path / "k=7").mkdir()
    assert footed(tmp_path / "k=7" / "x", GOOD.drop(["k"]), "parquet") == FINE


def test_an_encrypted_file_is_left_to_who_has_the_key(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"PARE" + b"\0" * 40 + b"PARE")
    assert look(str(tmp_path / "x"), FileExpectation("parquet", COLUMNS, {})) == FINE


CSV = FileExpectation("csv", COLUMNS, {}, header=("t", "k"))


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("x.csv", b"t,k\n1,2\n", ""),
        ("x.csv", b"\xef\xbb\xbfT, K\n1,2\n", ""),
        ("x.csv", b"", ""),
        ("x.csv", b"t\n1\n", 'it has no column "k". Its header is t; t,k is read'),
        ("x.csv", b"k,t\n1,2\n", "its columns are others, or elsewhere. Its header is k,t;"),
        ("x.csv", b"t,k,w\n1,2,x\n", "its columns are others, or elsewhere."),
        ("x.csv", b"t,k\n1,\xe9\n", "it is not UTF-8: byte 6 is 0xe9"),
        ("x.csv", "t,k\n1,2\n".encode("utf-16"), "it is not UTF-8: byte 0 is 0xff"),
        ("x.csv", "t,k\n1,2\n".encode("utf-16-le"), "it is not UTF-8: much of it is NUL bytes"),
        ("x.csv.gz", gzip.compress(b"t,k\n1,2\n", mtime=0), ""),
        ("x.csv.gz", b"not gzip at all", "it does not unpack: Not a gzipped file"),
        (
            "x.csv.gz",
            gzip.compress(b"t,k\n1,2\n" * 99, mtime=0)[:-9],
            "it does not unpack: Compressed file",
        ),
        ("x.csv.bz2", bz2.compress(b"t,k\n1,2\n"), ""),
        ("x.csv.bz2", b"not bz2 at all", "it does not unpack: Invalid data stream"),
        ("x.csv.zst", b"anything", ""),
    ],
)
def test_the_beginning_of_a_text_shows_packing_encoding_and_header(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    (tmp_path / name).write_bytes(content)
    found = look(str(tmp_path / name), CSV).reason
    assert found.startswith(reason) if reason else not found


def test_a_letter_that_is_cut_where_the_look_ends_is_no_fault(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"a" * 65535 + "é".encode())
    assert look(str(tmp_path / "x"), FileExpectation("json", (), {})) == FINE
    assert look(str(tmp_path / "x"), FileExpectation("xml", (), {})) == FINE
    (tmp_path / "latin").write_bytes(b"\xe9")
    assert (
        look(str(tmp_path / "latin"), FileExpectation("json", (), {"encoding": "ISO-8859-1"}))
        == FINE
    )
