"""How expiries reach the operators of a plan: `SET expiry`.

approach           an operator learns of time by            negative tuples on its queues
input_triggered    the times of tuples that reach it         none                      [NEG 4.1]
negative           tuples, and negatives from the leaves     one for each tuple        [NEG 4.2]
with messages     tuples, and messages from the leaves      one message an end        [NEG 6.1]
piggyback          the same, as far as nothing follows them  few, the fewer the busier [NEG 7]
"""

from __future__ import annotations

from dataclasses import dataclass

AUTO = "auto"
INPUT_TRIGGERED = "input_triggered"
NEGATIVE = "negative"
PIGGYBACK = "piggyback"


@dataclass(frozen=True, slots=True)
class Approach:
    """How operators pass on how far time has advanced.

    `signed`: leaves send negative tuples, and edges carry them where they can. `announces`: edges
    whose rows have their ends carry messages. `purges`: a message that something follows in its
    queue is dropped. `punctuation`: an operator, or a stream behind a filter, that has come so far
    and emitted nothing says how far it is [THESIS 2.3.3]; None is never.
    """

    name: str
    signed: bool = False
    announces: bool = False
    purges: bool = False
    punctuation: int | None = None


def approach(name: str, *, messages: bool, punctuation: int | None = None) -> Approach:
    """Return the approach of a setting; `messages` says whether `negative` has join messages."""
    match name:
        case "input_triggered":
            return Approach(name, punctuation=punctuation)
        case "negative" if not messages:
            return Approach(name, signed=True, announces=True)
        case "negative":
            return Approach(name, announces=True)
        case "piggyback" | "auto":
            return Approach(PIGGYBACK, announces=True, purges=True)
        case _:
            msg = f"no approach is called {name}"
            raise AssertionError(msg)
