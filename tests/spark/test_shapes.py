"""Kernels are given arrays of one shape only: none is compiled again in the midst of a run.

`make test` ends with this folder: by then all that the demo, the fast and the long suite have
compiled in any process is on the disk, each kernel with the shapes that it has met.
"""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from numba import njit, types

import windrow as wr
from windrow.kernels.cache import cache_folder

pytestmark = pytest.mark.spark

WIDTHS = ("copy_codes", "empty_codes")
"""Kernels of two widths: offsets are as wide as Arrow's type has them, 32 bits or 64; heads of
chains have 64 where they count copies."""


def shapes(index: Path) -> set[tuple[types.Type, ...]]:
    """Return what one function has been compiled for; a constant is a number like others."""
    with index.open("rb") as file:
        pickle.load(file)  # numba's version
        _, compiled = pickle.loads(file.read())
    return {tuple(map(types.unliteral, arguments)) for arguments, *_ in compiled}


def several(folder: Path) -> list[str]:
    """Name the kernels that have been compiled for more shapes than they should meet."""
    found = []
    for index in sorted(folder.rglob("*.nbi")):
        name = index.name.partition("-")[0].rpartition(".")[2]
        if len(shapes(index)) > (2 if name in WIDTHS else 1):
            found.append("\n  ".join([index.name, *map(str, shapes(index))]))
    return found


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_no_kernel_has_been_compiled_for_a_second_shape() -> None:
    db = wr.connect(engine="local")
    db.execute("CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts")
    db.query("SELECT k, COUNT(*) AS n FROM s [RANGE 10] GROUP BY k")
    db.push("s", [{"ts": 1, "k": 7}])
    assert list(cache_folder().rglob("*.nbi"))
    assert several(cache_folder()) == []


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_a_second_shape_is_seen(tmp_path: Path) -> None:
    source = tmp_path / "doubling.py"
    source.write_text("def double(x):\n    return x + x\n")
    names: dict[str, object] = {}
    exec(compile(source.read_text(), source, "exec"), names)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("numba.config.CACHE_DIR", str(tmp_path / "kept"))
        double = njit(cache=True)(names["double"])
    double(np.zeros(3, np.int64))
    assert several(tmp_path) == []
    double(np.zeros((3, 2), np.int64))
    assert "double" in several(tmp_path)[0]
