"""How many examples a property is tried on."""

from __future__ import annotations

import os

from hypothesis import settings

THOROUGH = os.environ.get("WINDROW_THOROUGH") == "1"
SAME = os.environ.get("CI") == "true"


def examples(count: int) -> settings:
    """Try `count` examples; twenty times as many if WINDROW_THOROUGH=1.

    With CI=true they are always the same ones, and three of five: others are found elsewhere.
    """
    return settings(max_examples=count * 20 if THOROUGH else count * 3 // 5 if SAME else count)
