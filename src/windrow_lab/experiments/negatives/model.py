"""What work takes in virtual time, the same for all figures [NEG 8].

MAX (and Q1's COUNT) takes 14 ms for an entry. With Poisson arrivals of R results a second the
negative tuples approach (NTA) loads it with ρ = 2R · 14 ms, and an entry waits ρ/(2(1 - ρ)) · 14 ms
on average, while the input-triggered approach (ITA) has half the load, and lets half of the changes
wait for the next result, 1/R. At R = 27, where the paper sees both alike (figure 11), these are 36
and 37 ms; NTA is saturated at R = 36.

A row that leaves because the clock has come to its end takes a twentieth of an entry; the paper
takes it to be cheap, without a figure. windrow's aggregate takes 0.3 µs for each such row. A
step of it that reads one entry takes 70 µs, with rows that leave 130 to 190, however many: a call
has its price. The model is of an engine whose work goes by rows.

A join takes 0.2 ms an entry, all else nothing. Operators run by turns, each for as long as MAX
takes for one entry; a slice of one entry each would starve the join below a busy MAX.
"""

from __future__ import annotations

from typing import Any

from windrow.operators.queued import Costs, Processor, RoundRobin

SECOND = 1_000_000
"""Ticks of a second: streams count microseconds."""
MAX_ENTRY = 14_000.0
EXPIRY = MAX_ENTRY / 20
JOIN_ENTRY = 200.0

ITA, NTA, MESSAGES, PIGGYBACK = "ITA", "NTA", "NTA with join messages", "piggybacking"

APPROACHES: dict[str, dict[str, Any]] = {
    ITA: {"expiry": "input_triggered"},
    NTA: {"expiry": "negative"},
    MESSAGES: {"expiry": "negative", "join_messages": "on"},
    PIGGYBACK: {"expiry": "piggyback"},
}
"""Settings by the paper's names."""

MODEL = (
    f"Virtual time: MAX and COUNT take {MAX_ENTRY / 1e3:g} ms an entry and {EXPIRY / 1e3:g} ms for "
    f"a row that leaves by the clock, a join {JOIN_ENTRY / 1e3:g} ms an entry, all else nothing: "
    "in all figures. With these the two approaches meet at 27 results a second, where the paper "
    "sees them meet, and NTA's MAX is saturated at 36. Operators run by turns, 14 ms each."
)


def processor() -> Processor:
    """Return a fresh processor."""
    costs = {"Aggregate": Costs(MAX_ENTRY, expiry=EXPIRY), "Join": Costs(JOIN_ENTRY)}
    return Processor(costs, other=Costs(0.0), scheduler=RoundRobin(int(MAX_ENTRY)))
