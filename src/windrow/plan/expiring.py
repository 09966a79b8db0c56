"""SET expiry: how soon expiries show, and what travels for that [NEG].

input_triggered   when the next tuple reaches the operator that stores what expires
negative          at once: a negative tuple follows every tuple through the plan
piggyback         at once: tuples bring the news if there are any, else messages do
auto              as piggyback; a batch brings the news for all that expires in it
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.core.errors import BindError


@dataclass(frozen=True, slots=True)
class Expiry:
    """What SET says of expiry. `punctuation` is a length of time; None is never."""

    kind: str = "auto"
    join_messages: str = "auto"
    punctuation: int | None = None

    @property
    def signed(self) -> bool:
        """Return whether every expiry travels through the plan as a negative tuple."""
        return self.kind == "negative" and self.join_messages != "on"


def strategy_under(expiry: Expiry, strategy: str) -> str:
    """Return the strategy to use with an expiry setting; refuse a combination that cannot work."""
    if expiry.kind == "auto" or strategy == "auto":
        return "negative" if expiry.signed else strategy
    if expiry.signed == (strategy == "negative"):
        return strategy
    if expiry.signed:
        raise BindError(
            f"expiry negative cannot go with strategy {strategy}",
            detail="Negative tuples find what they retract by its row; this strategy stores `exp`.",
            hint="Leave the strategy at auto, or SET join_messages = 'on'.",
        )
    raise BindError(
        f"expiry {expiry.kind} cannot go with strategy negative",
        detail="Operators expire rows by their `exp`, which this strategy does not store.",
        hint="Leave the strategy at auto, or SET expiry = 'negative'.",
    )
