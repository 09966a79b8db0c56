"""Draws window.svg: the tuples of a window, and the answer that they make, as the engine emits it.

Run it as ``python docs/assets/window.py``; tests/test_docs.py checks that the file is up to date.
"""

from __future__ import annotations

from pathlib import Path

import windrow as wr

ARRIVALS = ((2, 40), (5, 25), (7, 10), (20, 30))
"""Time and bytes of each tuple."""

LENGTH, END = 10, 31
LEFT, STEP, BARS, BASE, HIGH = 150, 22.0, 70, 330, 1.4
"""Pixels: left edge, one tick, first bar, base line of the answer, one byte."""

STYLE = """
  text { font: 14px system-ui, sans-serif; fill: #37474f }
  .code { font: 14px ui-monospace, monospace }
  .head { font-weight: 600 }
  .bar { stroke: #3f51b5; stroke-width: 6; stroke-linecap: butt }
  .dot { fill: #3f51b5 }
  .answer { fill: #3f51b5; fill-opacity: .15; stroke: #3f51b5; stroke-width: 2 }
  .axis { stroke: #90a4ae }
  .expiry { stroke: #d84315; stroke-dasharray: 4 4 }
  .note { fill: #d84315 }
"""


def answers() -> list[tuple[int, int]]:
    """Return the changes of the sum as (instant, sum from then on)."""
    with wr.connect(engine="local") as db:
        db.execute("CREATE STREAM s (ts BIGINT, bytes BIGINT) TIMESTAMP BY ts")
        q = db.query(f"SELECT SUM(bytes) AS bytes FROM s [RANGE {LENGTH}]")
        db.push("s", [{"ts": ts, "bytes": size} for ts, size in ARRIVALS])
        db.advance(END)
        rows = q.changes().to_pylist()
    return [(row["_ts"], row["bytes"] or 0) for row in rows if row["_sign"] > 0]


def x(instant: int) -> float:
    """Return where an instant lies."""
    return LEFT + STEP * instant


def bars() -> list[str]:
    """Return the lifetime of each tuple, with its expiration."""
    lines = []
    for number, (ts, size) in enumerate(ARRIVALS):
        y, end = BARS + 26 * number, x(ts + LENGTH)
        lines += [
            f'<line class="expiry" x1="{end}" y1="{y}" x2="{end}" y2="{BASE}"/>',
            f'<line class="bar" x1="{x(ts)}" y1="{y}" x2="{end}" y2="{y}"/>',
            f'<circle class="dot" cx="{x(ts)}" cy="{y}" r="7"/>',
            f'<text x="{x(ts) - 14}" y="{y + 5}" text-anchor="end">{size}</text>',
        ]
    return lines


def steps(changes: list[tuple[int, int]]) -> list[str]:
    """Return the answer over time as an area, with its values."""
    ends = [ts for ts, _ in changes[1:]] + [END]
    path, labels = f"M {x(changes[0][0])} {BASE}", list[str]()
    for (ts, total), end in zip(changes, ends, strict=True):
        y = BASE - HIGH * total
        path += f" V {y:g} H {x(end)}"
        labels += [f'<text x="{x(ts) + 5}" y="{y - 6:g}">{total}</text>'] if total else []
    return [f'<path class="answer" d="{path} V {BASE} Z"/>', *labels]


def axis() -> list[str]:
    """Return the axis of time."""
    marks = [
        f'<text x="{x(t)}" y="{BASE + 20}" text-anchor="middle">{t}</text>'
        for t in range(0, END + 1, 5)
    ]
    return [
        f'<line class="axis" x1="{x(0)}" y1="{BASE}" x2="{x(END)}" y2="{BASE}"/>',
        *marks,
        f'<text x="{x(END) + 14}" y="{BASE + 20}">time</text>',
    ]


def note(y: int, text: str) -> str:
    """Return a line of the note beside the expirations."""
    return f'<text class="note" x="{x(17) + 8}" y="{y}">{text}</text>'


def draw() -> str:
    """Return the picture as SVG."""
    query = f"SELECT SUM(bytes) AS bytes FROM s [RANGE {LENGTH}]"
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 372" role="img">',
        f"<style>{STYLE}</style>",
        '<rect width="900" height="372" rx="8" fill="#ffffff"/>',
        f'<text class="code head" x="24" y="34">{query}</text>',
        f'<text class="head" x="24" y="{BARS + 5}">tuples</text>',
        f'<text x="24" y="{BARS + 24}">alive from ts</text>',
        f'<text x="24" y="{BARS + 42}">to ts + {LENGTH}</text>',
        f'<text class="head" x="24" y="{BASE - 60}">the answer</text>',
        *steps(answers()),
        *bars(),
        *axis(),
        note(BASE - 98, "tuples expire at 12, 15 and 17:"),
        note(BASE - 80, "the answer falls, though none arrives"),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("window.svg").write_text(draw())
