"""The orders of a join of many inputs as the tables that its loops go by.

    origin 2, order 2 0 1        loop   input   rows by                     checks
                                   1      0     chain of the code that 2 has   -
                                   2      1     chain of the code that 0 has   band with 2

A loop is led to its rows by a class in which an outer loop's row has a code; other classes, bands
and comparisons with outer loops are checked row by row, as early as both sides are bound. A band
is not checked where it follows from both rows being of use: one window for all pairs needs no look.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.core.time import BEGINNING, FOREVER
from windrow.kernels.multi_ahead import (
    CLASS,
    FIRST_CHECK,
    FRESH,
    INPUT,
    LAST_CHECK,
    LINK,
    SILENT,
    SOURCE,
    SOURCE_CODE,
    STEP_WORDS,
)
from windrow.kernels.multi_joins import BAND, CHECK_WORDS, EQ, GE, GT, LE, LT, NE
from windrow.operators.join.match import Order
from windrow.operators.join.multi.keep import reach
from windrow.operators.join.multi.layout import RowLayout
from windrow.operators.vector import I64
from windrow.physical.conditions import Method

OPS = {"lt": LT, "le": LE, "gt": GT, "ge": GE, "ne": NE}
MIRRORED = {"lt": GT, "le": GE, "gt": LT, "ge": LE, "ne": NE}

Check = tuple[int, int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class JoinProgram:
    """What the kernel is given: loops by origin and depth, checks, and origins not put first.

    `is_star` says that one key alone decides, whatever the order: each loop is led to by the
    code of the new row, and nothing is checked.
    """

    steps: I64
    checks: I64
    general: I64
    is_star: bool

    @property
    def arrays(self) -> tuple[I64, I64, I64]:
        """All of it."""
        return self.steps, self.checks, self.general


def compile_orders(
    layout: RowLayout, orders: tuple[Order, ...], method: Method, distinct: I64
) -> JoinProgram:
    """Return the program of orders, one an origin; `distinct` has the codes of (input, class).

    Of several classes that lead to a loop, the one with most values is taken: its chains are the
    shortest.
    """
    n = len(layout.match.inputs)
    # Signed rows stay as long as they are there: their bands must always be looked at.
    reaches = [None if layout.signed else reach(layout.match, i) for i in range(n)]
    assert len(orders) == n, "an order for each origin"
    assert all(sorted(o) == list(range(n)) for o in orders), "an order names each input once"
    steps = np.zeros((n * n, STEP_WORDS), np.int64)
    checks: list[Check] = []
    for origin, order in enumerate(orders):
        for depth, which in enumerate(order):
            outer = order[:depth]
            step = steps[origin * n + depth]
            step[INPUT], step[FRESH] = which, which == origin
            ways = _ways(layout, which, outer)
            step[LINK] = -1
            chosen = -1
            if ways and method is Method.HASH:
                # More values, shorter chains; of equals the first, so that plans do not vary.
                chosen = max(ways, key=lambda c: (distinct[which, c], -c))
                step[LINK], step[CLASS] = layout.link(which, chosen), chosen
                step[SOURCE] = ways[chosen]
                step[SOURCE_CODE] = layout.code(ways[chosen], chosen)
            step[FIRST_CHECK] = len(checks)
            checks += _equalities(layout, which, ways, chosen)
            # The new row is as old as the clock: only the others may lie behind it.
            spans = [r and r * (i != origin) for i, r in enumerate(reaches)]
            checks += _bands(layout, which, outer, spans) + _compares(layout, which, outer)
            step[LAST_CHECK] = len(checks)
        if layout.match.inputs[origin].silent:
            steps[origin * n, LINK] = SILENT
    made = np.array(checks, np.int64).reshape(len(checks), CHECK_WORDS)
    general = np.array([int(o[0] != i) for i, o in enumerate(orders)], np.int64)
    led = steps[:, LINK].reshape(n, n)[:, 1:] >= 0
    is_star = len(layout.match.equalities) == 1 and led.all() and not checks and not general.any()
    return JoinProgram(steps, made, general, bool(is_star))


def _ways(layout: RowLayout, which: int, outer: Order) -> dict[int, int]:
    """Return the classes that lead to an input, each with the first outer loop that has it."""
    ways: dict[int, int] = {}
    for c in layout.ports[which]:
        bound = [o for o in outer if c in layout.ports[o]]
        if bound:
            ways[c] = bound[0]
    return ways


def _equalities(layout: RowLayout, which: int, ways: dict[int, int], chosen: int) -> list[Check]:
    return [
        (EQ, layout.code(which, c), other, layout.code(other, c), 0, 0)
        for c, other in ways.items()
        if c != chosen
    ]


def _bands(layout: RowLayout, which: int, outer: Order, spans: list[int | None]) -> list[Check]:
    """Return the checks of bands with outer loops; `spans` say how old rows of use are at most."""
    found: list[Check] = []
    for b in layout.match.bands:
        low, high = b.band.low, b.band.high
        first, second = spans[b.first], spans[b.second]
        # Implied: rows of use are never farther apart than this band allows.
        if first is not None and second is not None and low <= -second and first <= high:
            continue
        if b.second == which and b.first in outer:
            found.append(_band(layout, which, b.band.right, b.first, b.band.left, (low, high)))
        elif b.first == which and b.second in outer:
            # The inner loop's row is the first of the band here, so both bounds change sides.
            turned = (-min(high, FOREVER), -max(low, -FOREVER))
            found.append(_band(layout, which, b.band.left, b.second, b.band.right, turned))
    return found


def _band(
    layout: RowLayout, which: int, mine: str, other: int, theirs: str, bounds: tuple[int, int]
) -> Check:
    low, high = max(bounds[0], BEGINNING), min(bounds[1], FOREVER)
    return BAND, layout.value(which, mine), other, layout.value(other, theirs), low, high


def _compares(layout: RowLayout, which: int, outer: Order) -> list[Check]:
    found: list[Check] = []
    for c in layout.match.compares:
        first, second = layout.value(c.first, c.column), layout.value(c.second, c.other)
        if c.first == which and c.second in outer:
            found.append((OPS[c.op], first, c.second, second, 0, 0))
        elif c.second == which and c.first in outer:
            found.append((MIRRORED[c.op], second, c.first, first, 0, 0))
    return found
