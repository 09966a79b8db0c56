"""Settings that all tests share: how hard Hypothesis tries, and what plans are chosen by.

The profile `dev` is for the fast suite; WINDROW_THOROUGH=1 asks for twenty times as much. With
CI=true the examples of a test are always the same: a change is judged by what it changes.
"""

import os
import signal

import pytest
from hypothesis import HealthCheck, Phase, settings

DEV_EXAMPLES = 50

os.environ["WINDROW_CALIBRATION"] = "none"  # plans are the same on every machine

settings.register_profile(
    "dev",
    max_examples=DEV_EXAMPLES,
    deadline=None,
    print_blob=True,
    derandomize=os.environ.get("CI") == "true",
    database=None if os.environ.get("CI") == "true" else settings.default.database,
    phases=set(Phase) - {Phase.explain},  # it takes longer than all the others
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("thorough", settings.get_profile("dev"), max_examples=20 * DEV_EXAMPLES)
settings.load_profile("thorough" if os.environ.get("WINDROW_THOROUGH") == "1" else "dev")


def pytest_configure(config: pytest.Config) -> None:
    """Let Ctrl-C be heard though a shell runs the tests in the background.

    Let hashes overflow where kernels run as plain Python: compiled they do so silently.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        config.addinivalue_line("filterwarnings", "ignore:overflow encountered:RuntimeWarning")
