"""What a plan node does, in one line and in the words of the language."""

from __future__ import annotations

import re

from windrow.core.time import Clock, format_duration
from windrow.plan import nodes
from windrow.plan.format import AND, format_at, format_expr, format_instant
from windrow.plan.windows import PartitionRows, Range, Rows, Since, Unbounded, Until, WindowSpec


def label_of(plan: nodes.Plan, clock: Clock) -> str:
    """Return the line for one node; lengths of time are written for `clock`."""
    match plan:
        case nodes.Scan(stream, alias):
            return _source("Stream", stream.name, alias)
        case nodes.Table(relation, alias):
            word = "Relation" if relation.retroactive else "Non retroactive relation"
            return _source(word, relation.name, alias)
        case nodes.Window(spec=spec):
            return f"Window {label_of_window(spec, clock)}"
        case nodes.Filter(predicate=predicate):
            return f"Filter {format_expr(predicate)}"
        case nodes.Project(columns=columns):
            return f"Project {', '.join(_named(c) for c in columns)}"
        case nodes.UnionAll():
            return "Union all"
        case nodes.Intersect(all=every):
            return "Intersect all" if every else "Intersect"
        case nodes.Except(all=every):
            return "Except all" if every else "Except"
        case nodes.Distinct():
            return "Distinct"
        case nodes.Aggregate(keys=keys, calls=calls):
            return _aggregate(keys, calls)
        case nodes.TopN(keys=keys, limit=limit, offset=offset):
            after = f" OFFSET {offset}" if offset else ""
            order = f" ORDER BY {label_of_order(keys)}" if keys else ""
            return f"TopN{order} LIMIT {limit}{after}"
        case nodes.Refresh(slide=slide, restore=restore):
            return f"Refresh SLIDE {format_duration(slide, clock)}{' RESTORE' if restore else ''}"
        case nodes.Hold(length=length):
            return f"Hold {format_duration(length, clock)}"
        case nodes.Delay(slide=slide):
            return f"Delay to SLIDE {format_duration(slide, clock)}"
        case nodes.Exchange(route=route, keys=keys, folds=folds):
            how = f"by {', '.join(map(format_expr, keys))}" if keys else route.value
            return f"Exchange {how}{', groups folded first' if folds else ''}"
        case nodes.Produced() | nodes.Istream() | nodes.Dstream() | nodes.Rstream():
            return type(plan).__name__
        case nodes.Numbered() | nodes.SlideInstants() | nodes.RecentAnswers():
            return _derived(plan, clock)
        case nodes.Versions(source=table):
            return f"Versions of {table.relation.name}"
        case nodes.Stamped(versions=versions):
            return f"Version of {versions.source.relation.name} met"
        case (
            nodes.Join() | nodes.SemiJoin() | nodes.AntiJoin() | nodes.OuterJoin() | nodes.NrrJoin()
        ):
            return _join(plan, clock)


def _derived(plan: nodes.Numbered | nodes.SlideInstants | nodes.RecentAnswers, clock: Clock) -> str:
    match plan:
        case nodes.Numbered():
            return "Number tuples"
        case nodes.SlideInstants(step=step):
            return f"Instants of SLIDE {step}"
        case nodes.RecentAnswers(width=width):
            return f"Answers of the last {format_duration(width, clock)}"


def label_of_window(spec: WindowSpec, clock: Clock) -> str:
    """Return a window as it is written between brackets.

    >>> label_of_window(Rows(10, 2), Clock.TICKS), label_of_window(Range(1), Clock.TICKS)
    ('ROWS 10 SLIDE 2', 'NOW')
    """
    match spec:
        case Range(1):
            return "NOW"
        case Range(width):
            return f"RANGE {format_duration(width, clock)}"
        case Rows(count, step):
            return f"ROWS {count}" + (f" SLIDE {step}" if step > 1 else "")
        case PartitionRows(keys, count):
            return f"PARTITION BY {', '.join(keys)} ROWS {count}"
        case Unbounded():
            return "UNBOUNDED"
        case Since(start):
            instant = format_instant(start, clock)
            return f"SINCE {instant}" if clock is Clock.TICKS else f"SINCE '{instant}'"
        case Until(columns):
            return f"until the first of {', '.join(columns)}"


def label_of_order(keys: tuple[nodes.SortKey, ...]) -> str:
    """Return what follows ORDER BY."""
    return ", ".join(_sort_key(key) for key in keys)


def clock_of(plan: nodes.Plan) -> Clock:
    """Return the clock of the first stream found below, which all streams of a query share.

    A sub-tree of only relations has no clock of its own; TIMESTAMP then, though it does not
    matter there: no duration is read from it.
    """
    found = _clock_of(plan)
    return Clock.TIMESTAMP if found is None else found


def _clock_of(plan: nodes.Plan) -> Clock | None:
    if isinstance(plan, nodes.Scan):
        return plan.stream.clock
    for below in nodes.inputs_of(plan):
        found = _clock_of(below)
        if found is not None:
            return found
    return None


def _source(word: str, name: str, alias: str) -> str:
    return f"{word} {name}" if alias == name else f"{word} {name} AS {alias}"


def _named(column: nodes.Named) -> str:
    return _with_alias(format_expr(column.expr), column.name)


def _with_alias(text: str, name: str) -> str:
    """Add AS, unless the name is what the text says anyway, but for qualifiers and spaces."""
    unqualified = re.sub(r"\b[A-Za-z_]\w*\.", "", text)
    given = {_unspaced(text), _unspaced(unqualified)}
    return text if _unspaced(name) in given else f"{text} AS {name}"


def _unspaced(text: str) -> str:
    return text.replace(" ", "")


def _aggregate(keys: tuple[nodes.Named, ...], calls: tuple[nodes.AggregateCall, ...]) -> str:
    by = " by " + ", ".join(_named(key) for key in keys) if keys else ""
    folds = ": " + ", ".join(_aggregate_call(call) for call in calls) if calls else ""
    return f"Aggregate{by}{folds}"


def _aggregate_call(call: nodes.AggregateCall) -> str:
    args = ", ".join(format_expr(arg) for arg in call.args) or "*"
    text = f"{call.name.upper()}({'DISTINCT ' if call.distinct else ''}{args})"
    if call.filter is not None:
        text += f" FILTER (WHERE {format_expr(call.filter)})"
    return _with_alias(text, call.output)


def _sort_key(key: nodes.SortKey) -> str:
    text = format_expr(key.expr) + (" DESC" if key.descending else "")
    if key.nulls_first == (not key.descending):
        return text
    return f"{text} NULLS {'FIRST' if key.nulls_first else 'LAST'}"


def _join(
    plan: nodes.Join | nodes.SemiJoin | nodes.AntiJoin | nodes.OuterJoin | nodes.NrrJoin,
    clock: Clock,
) -> str:
    on = _join_on(plan.on, clock)
    match plan:
        case nodes.Join():
            return f"Join on {on}" if on else "Cross join"
        case nodes.NrrJoin():
            word = "Join as of the tuple's time"
        case nodes.SemiJoin():
            word = "SemiJoin"
        case nodes.AntiJoin(null_aware=null_aware):
            word = "AntiJoin (NOT IN)" if null_aware else "AntiJoin"
        case nodes.OuterJoin(full=full):
            word = "Full join" if full else "Left join"
    return f"{word} on {on}" if on else word


def _join_on(on: nodes.JoinOn, clock: Clock) -> str:
    pairs = zip(on.left_keys, on.right_keys, strict=True)
    terms = [f"{format_expr(left)} = {format_expr(right)}" for left, right in pairs]
    terms += [_band(band, clock) for band in on.bands]
    if on.residual is not None:
        terms.append(format_at(on.residual, AND))
    return " AND ".join(terms)


def _band(band: nodes.Band, clock: Clock) -> str:
    """Write a band as WINDOW or DWINDOW says it, or else as a chain of comparisons."""
    left, right = band.left, band.right
    if band.low == -band.high:
        return f"|{right} - {left}| < {format_duration(band.high + 1, clock)}"
    if band.low == 0:
        return f"0 <= {right} - {left} < {format_duration(band.high + 1, clock)}"
    if band.high == 0:
        return f"0 <= {left} - {right} < {format_duration(1 - band.low, clock)}"
    low, high = format_duration(band.low, clock), format_duration(band.high, clock)
    return f"{low} <= {right} - {left} <= {high}"
