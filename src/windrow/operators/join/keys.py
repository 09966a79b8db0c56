"""Saved key tables, whose free entries may hold stale copies of live ones."""

from __future__ import annotations

import numpy as np

from windrow.operators.state.key_table import KeyTable


def load_keys(saved: object) -> KeyTable:
    """Rebuild a table with the same codes.

    `KeyTable.load` needs distinct entries. A key that was released and came back under another
    code is in the words twice, so free entries are given words that nothing else has.
    """
    assert isinstance(saved, dict)
    words, free = saved["words"], saved["free"]
    if len(free) and words.shape[1]:
        words = words.copy()
        live = np.delete(words[:, 0], free)
        words[free, 0] = np.setdiff1d(np.arange(len(words)), live)[: len(free)]
    return KeyTable.load({"words": words, "free": free})
