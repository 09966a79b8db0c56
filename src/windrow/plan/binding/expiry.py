"""From settings to how expiries of a query show."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.core.errors import BindError
from windrow.core.time import Clock
from windrow.plan.binding.durations import said_length
from windrow.plan.expiring import Expiry


def expiry_of(settings: Mapping[str, object], clock: Clock | None) -> Expiry:
    """Return what settings say of expiry, on the clock of a query's streams."""
    kind, messages = (str(settings.get(name, "auto")) for name in ("expiry", "join_messages"))
    if (kind, messages) == ("piggyback", "off"):
        raise BindError(
            "expiry piggyback cannot go with join_messages off",
            detail="Where no tuple follows that could bring the news, messages are what does.",
            hint="Leave join_messages at auto, or SET expiry = 'negative'.",
        )
    said = str(settings.get("punctuation", "none"))
    length = None
    if said != "none" and kind == "input_triggered":
        length = said_length(said, clock, "punctuation")
    return Expiry(kind, messages, length)
