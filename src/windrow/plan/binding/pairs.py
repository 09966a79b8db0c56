"""W-joins: WINDOW and DWINDOW predicates as bands on the times of two streams."""

from __future__ import annotations

from itertools import combinations

from windrow.core.errors import BindError
from windrow.core.naming import near
from windrow.core.time import Clock
from windrow.language.spans import span_of
from windrow.language.syntax import PairWindow
from windrow.plan.binding.context import Context
from windrow.plan.binding.durations import bind_duration
from windrow.plan.binding.scope import FromItem
from windrow.plan.nodes import Band


def pair_bands(
    nodes: list[PairWindow], sources: tuple[FromItem, ...], context: Context
) -> list[Band]:
    """Return the bands that the predicates put on pairs of streams.

    WINDOW(A, B) = w:   |A.ts - B.ts| < w.      DWINDOW(A, B) = w:  0 <= B.ts - A.ts < w.
    """
    bands: list[Band] = []
    for node in nodes:
        width = bind_duration(node.args["size"], context.clock or Clock.TIMESTAMP, "WINDOW")
        low = 0 if node.args["kind"] == "dwindow" else 1 - width
        for left, right in _pairs(node, sources):
            assert left.time_column is not None
            assert right.time_column is not None
            bands.append(Band(left.time_column, right.time_column, low, width - 1))
    return bands


def _pairs(node: PairWindow, sources: tuple[FromItem, ...]) -> list[tuple[FromItem, FromItem]]:
    streams = [s for s in sources if s.time_column is not None]
    names = node.args.get("streams") or []
    if names:
        found = [_find(name.name, streams, node) for name in names]
        if len(found) != 2 or found[0] is found[1]:
            raise BindError(
                "WINDOW(A, B) names two different streams",
                detail="It bounds how far apart in time a tuple of each may be.",
                hint="To join a stream with itself, give it two aliases: FROM s AS a, s AS b.",
                span=span_of(node),
            )
        return [(found[0], found[1])]
    if node.args["kind"] == "dwindow":
        raise BindError(
            "DWINDOW needs its two streams",
            detail="A directed window says which stream comes first.",
            hint="Write DWINDOW(A, B) = ...",
            span=span_of(node),
        )
    if len(streams) < 2:
        raise BindError(
            "WINDOW = ... joins at least two streams",
            detail=f"FROM has {len(streams)}.",
            hint="Leave it out, or write a window after the stream: s [RANGE ...].",
            span=span_of(node),
        )
    return list(combinations(streams, 2))


def _find(name: str, streams: list[FromItem], node: PairWindow) -> FromItem:
    for source in streams:
        if source.alias.lower() == name.lower():
            return source
    aliases = [s.alias for s in streams]
    raise BindError(
        f'WINDOW names "{name}", which is no stream of this FROM',
        detail=f"The streams are {', '.join(aliases)}." if aliases else "",
        hint=near(name, aliases) or "Name two streams of FROM, or add it there.",
        span=span_of(node),
    )
