"""Random windows as text. All windows of a refresh scope share one SLIDE, drawn beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.generate.choices import Choices
from tests.generate.expressions import Col, choose

WIDTHS = (5, 1, 2, 3, 4, 6, 8, 12)
SLIDES = (2, 3, 4, 1, 5, 7)
COUNTS = (2, 1, 3, 5)
INTERNAL = (
    "range",
    "slide",
    "rows",
    "rows slide",
    "partition",
    "now",
    "tumble",
    "unbounded",
    "since",
)
UNBOUNDED = ("unbounded", "since", "none")


@dataclass(slots=True)
class Refresh:
    """The one SLIDE of a refresh scope, if it has one, and whether a window has said it."""

    time: int | None = None
    rows: int | None = None
    used: bool = False

    @property
    def slides(self) -> bool:
        """Whether some window slides over time."""
        return self.used and self.time is not None


def refresh_scope(choices: Choices, *, time: bool = False) -> Refresh:
    """Draw a scope without SLIDE, with one over time (always so if told), or one over rows."""
    windows = choices.grammar.windows
    kinds = [] if time else ["none", "none"]
    kinds += ["time"] if windows & {"slide", "tumble"} else []
    kinds += ["rows"] if "rows slide" in windows and not time else []
    kind = choices.pick(kinds or ["none"])
    if kind == "time":
        return Refresh(time=choose(choices.below, SLIDES))
    return Refresh(rows=choose(choices.below, COUNTS)) if kind == "rows" else Refresh()


def window_kinds(choices: Choices, refresh: Refresh, *, written: bool = True) -> list[str]:
    """The windows that the grammar and the scope's SLIDE allow; "none" unless one is `written`."""
    kinds = ["range", "now", "rows", "partition", "unbounded", "since", "none"]
    if refresh.time is not None:
        kinds = ["slide", "slide", "slide", "tumble", "tumble", *kinds]
    if refresh.rows is not None:
        kinds = ["rows slide"] * 3 + kinds
    allowed = choices.grammar.windows - ({"none"} if written else set())
    fallback = "unbounded" if "none" in choices.grammar.windows else "range"
    return [kind for kind in kinds if kind in allowed] or [fallback]


def window(choices: Choices, kinds: Sequence[str], columns: Sequence[Col], refresh: Refresh) -> str:
    """Draw what stands in the brackets; nothing for the kind "none"."""
    kind = choices.pick(kinds)
    refresh.used |= kind in ("slide", "tumble")
    match kind:
        case "none":
            return ""
        case "range":
            return f"RANGE {choices.pick(WIDTHS)}"
        case "slide":
            return f"RANGE {choices.pick(WIDTHS)} SLIDE {refresh.time}"
        case "tumble":
            return f"TUMBLE {refresh.time}"
        case "since":
            return f"SINCE {choices.pick([3, 0, 10])}"
        case "rows" | "rows slide":
            slide = f" SLIDE {refresh.rows}" if kind == "rows slide" else ""
            return f"ROWS {choices.pick(COUNTS)}{slide}"
        case "partition":
            keys = [c.text for c in columns if c.sort != "list"]
            by = f"PARTITION BY {choices.pick(keys)} " if keys else ""
            return f"{by}ROWS {choices.pick(COUNTS)}"
        case _:
            return kind.upper()


def internal_window(
    choices: Choices, kinds: Sequence[str], columns: Sequence[Col], refresh: Refresh
) -> str:
    """Draw a window that is INTERNAL."""
    written = [k for k in kinds if k in INTERNAL] or ["range"]
    return f"{window(choices, written, columns, refresh)} INTERNAL"


def output_window(choices: Choices, columns: Sequence[Col]) -> str:
    """Draw the window of WSTREAM, which cannot slide, brackets included."""
    kinds = window_kinds(choices, Refresh())
    return f"[{window(choices, kinds, columns, Refresh())}]"
