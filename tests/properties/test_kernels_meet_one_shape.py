"""Kernels are given arrays of one shape only: none is compiled again in the midst of a run.

What all suites have compiled is looked at in `tests/spark/test_shapes.py`, where `make test` ends.
"""

import subprocess
import sys

import pytest
from tests.spark.test_shapes import WIDTHS

pytestmark = pytest.mark.slow

DRIVE = """
import pkgutil
from importlib import import_module

import pytest

import windrow.kernels

tests = "test_engine_matches_oracle", "test_shards_match_oracle", "test_handover_is_invisible"
code = pytest.main(["-q", "-n", "0", *(f"tests/properties/{name}.py" for name in tests)])
for module in pkgutil.iter_modules(windrow.kernels.__path__):
    for name, kernel in vars(import_module(f"windrow.kernels.{module.name}")).items():
        shapes = getattr(kernel, "nopython_signatures", ())
        most = 2 if name in WIDTHS else 1
        if len(shapes) > most and kernel.py_func.__module__.endswith(module.name):
            print("SEVERAL", module.name, name, *{str(s) for s in shapes}, sep="\\n  ")
sys.exit(code)
"""


def test_no_kernel_is_compiled_for_a_second_shape() -> None:
    command = [sys.executable, "-c", f"import sys\nWIDTHS = {WIDTHS}\n{DRIVE}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "SEVERAL" not in done.stdout, done.stdout[done.stdout.index("SEVERAL") :]
