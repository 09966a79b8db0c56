"""Kernels are given arrays of one shape only: none is compiled again in the midst of a run."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.long

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
        if len(shapes) > 1 and kernel.py_func.__module__.endswith(module.name):
            print("SEVERAL", module.name, name, *{str(s) for s in shapes}, sep="\\n  ")
sys.exit(code)
"""


def test_no_kernel_is_compiled_for_a_second_shape() -> None:
    command = [sys.executable, "-c", f"import sys\n{DRIVE}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "SEVERAL" not in done.stdout, done.stdout[done.stdout.index("SEVERAL") :]
