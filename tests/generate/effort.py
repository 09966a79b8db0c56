"""How many examples a property is tried on."""

from __future__ import annotations

import os

from hypothesis import settings

THOROUGH = os.environ.get("WINDROW_THOROUGH") == "1"


def examples(count: int) -> settings:
    """Try `count` examples; twenty times as many if WINDROW_THOROUGH=1.

    With CI=true they are always the same ones (tests/conftest.py): others are found elsewhere.
    """
    return settings(max_examples=count * 20 if THOROUGH else count)
