"""A sink that is new to a checkpoint which has answered before."""

from __future__ import annotations

import logging

from windrow.core.errors import RunError
from windrow.runtime.spark.sinks.target import Target

LOG = logging.getLogger(__name__)


def require_from_start(target: Target, place: str, reached: int) -> None:
    """Refuse a new sink that would lack what a query has emitted up to version `reached`.

    Without the earlier changes no answer can be folded from the later ones. A stream has no answer:
    its rows are appended from here on.
    """
    if reached == 0:
        return
    batch = reached // 2 - 1
    if target.appends:
        LOG.warning('%s is new: it gets what "%s" emits after batch %d', place, target.query, batch)
        return
    raise RunError(
        f'{place} does not hold what "{target.query}" answered before',
        detail=f"This sink is new, or was emptied, and the checkpoint has reached batch {batch}: "
        "the changes up to there went elsewhere, and later ones alone make no answer.",
        hint="Start with a new checkpoint to have all of them here, or leave this sink out.",
    )
