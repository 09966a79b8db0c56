"""Kernels are given arrays of one shape only: none is compiled again in the midst of a run."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.long

WIDTHS = ("copy_codes",)
"""Kernels that write offsets as wide as Arrow's type has them: 32 bits, or 64."""

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
