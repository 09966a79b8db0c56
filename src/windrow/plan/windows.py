"""Windows: what makes a stream a relation. Each sets when a tuple expires.

All widths are in the clock's own unit (µs or ticks). SLIDE over time is not here: it holds
the whole answer, so it is a node of the plan (`Refresh`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Range:
    """``[RANGE width]`` at τ:  { s ∈ S | s.ts <= τ < s.ts + width }.  NOW is width 1."""

    width: int

    def __post_init__(self) -> None:
        assert self.width > 0, f"window width must be positive, got {self.width}"


@dataclass(frozen=True, slots=True)
class Rows:
    """``[ROWS count SLIDE step]`` at τ: the `count` newest of the first k·step tuples.

    k is as large as can be: with step 1 that is all tuples up to τ. Equal timestamps are
    ordered by arrival (for a derived stream: by the values of the row, NULLs first).
    """

    count: int
    step: int = 1

    def __post_init__(self) -> None:
        assert self.count > 0, "a count window holds at least one tuple"
        assert self.step > 0, "a count window slides by at least one tuple"


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """``[PARTITION BY keys ROWS count]`` at τ: for each key, its `count` newest tuples."""

    keys: tuple[str, ...]
    count: int

    def __post_init__(self) -> None:
        assert self.count > 0, "a count window holds at least one tuple"


@dataclass(frozen=True, slots=True)
class Unbounded:
    """``[UNBOUNDED]`` at τ:  { s ∈ S | s.ts <= τ }.  `written` by the user, or by default."""

    written: bool = True


@dataclass(frozen=True, slots=True)
class Since:
    """``[SINCE start]`` at τ, a landmark window:  { s ∈ S | start <= s.ts <= τ }."""

    start: int


@dataclass(frozen=True, slots=True)
class Until:
    """The window that gives each tuple its own end:  { s | s.ts <= τ < min(s.columns) }.

    Made by the binder for joins that mix INTERNAL and external windows: a result lives as
    long as its external tuples do.
    """

    columns: tuple[str, ...]


WindowSpec = Range | Rows | PartitionRows | Unbounded | Since | Until
