"""Random select lists, with GROUP BY, HAVING, ORDER BY and LIMIT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.generate.choices import Ask, Choices
from tests.generate.expressions import Col, aggregate, expression

SHOWN_SORTS = ("int", "text", "real", "int", "bool", "dec", "date", "time")
ROBUST = ("count", "sum", "min", "max")
"""Aggregates whose value is the same to the last bit however it is computed."""


@dataclass(frozen=True, slots=True)
class Selected:
    """A select list, what follows WHERE, and the columns that come out."""

    items: str
    tail: str
    columns: tuple[Col, ...]


def plain_select(choices: Choices, ask: Ask, columns: Sequence[Col]) -> Selected:
    """Draw a select list without aggregates."""
    if not ask.sorts and not ask.named and choices.chance(3):
        return Selected("*", "", ())
    ids = [c for c in columns if c.text.endswith(("id", "_id"))]
    ids = ids if choices.grammar.keep_ids else []
    if ask.sorts:
        if ids and ask.sorts == ("int",):
            return _listed([ids[0]], ask)
        ids = []
    sorts = ask.sorts or choices.some(SHOWN_SORTS, 1, 3)
    made = [Col(expression(choices.below, columns, sort), sort) for sort in sorts]
    return _listed(made, ask, ids)


def _listed(made: Sequence[Col], ask: Ask, ids: Sequence[Col] = ()) -> Selected:
    """Write the select list out, under names where they are asked for; ids under their own."""
    names = [f"c{n}" if ask.named or ids else "" for n in range(1, len(made) + 1)]
    names += [c.text.replace(".", "_") for c in ids]
    everything = [*made, *ids]
    texts = [f"{c.text} AS {n}" if n else c.text for c, n in zip(everything, names, strict=True)]
    outputs = [
        replace(c, text=name or str(position))
        for position, (c, name) in enumerate(zip(everything, names, strict=True), 1)
    ]
    return Selected(", ".join(texts), "", tuple(outputs))


def grouped_select(choices: Choices, ask: Ask, columns: Sequence[Col]) -> Selected:
    """Draw keys and aggregates, GROUP BY and HAVING."""
    sorts = choices.some(["int", "text", "bool"], 0, 2)
    depth = 1 if choices.chance(2) else 0
    keys = [Col(expression(choices.below, columns, s, depth), s) for s in sorts]
    keys = [k for k in keys if "." in k.text]  # a constant would be a position
    selected = _listed(_grouped_items(choices, ask, columns, keys), ask)
    tail = f" GROUP BY {_sets(choices, [k.text for k in keys])}" if keys else ""
    if choices.has("having") and choices.chance(3):
        call = aggregate(choices.below, columns, ROBUST, "int")
        bound = choices.pick([1, 0, 2])
        tail += f" HAVING {call.text} {choices.pick(['>', '<=', '='])} {bound}"
    return replace(selected, tail=tail)


def _sets(choices: Choices, keys: Sequence[str]) -> str:
    """Draw the keys as they are, or in grouping sets."""
    listed = ", ".join(keys)
    if not choices.chance(2):
        return listed
    sets = ("ROLLUP ({})", "CUBE ({})", "GROUPING SETS (({}), ())", "GROUPING SETS ({})")
    return choices.pick(sets).format(listed)


def _grouped_items(
    choices: Choices, ask: Ask, columns: Sequence[Col], keys: Sequence[Col]
) -> list[Col]:
    names = choices.grammar.aggregates
    if ask.sorts:
        return [_grouped_item(choices, columns, keys, sort) for sort in ask.sorts]
    count = 1 + choices.few_more()
    calls = [aggregate(choices.below, columns, names) for _ in range(count)]
    if choices.chance(1):
        call = aggregate(choices.below, columns, ROBUST, "int")
        calls.append(Col(f"{call.text} + 1", "int"))
    return [*(k for k in keys if not choices.chance(1)), *calls]


def _grouped_item(choices: Choices, columns: Sequence[Col], keys: Sequence[Col], sort: str) -> Col:
    found = [k for k in keys if k.sort == sort]
    if found and not choices.chance(4):
        return found[0]
    return aggregate(choices.below, columns, choices.grammar.aggregates, sort)


def ordering(choices: Choices, columns: Sequence[Col], free: Sequence[Col]) -> str:
    """Draw ORDER BY and LIMIT. Without LIMIT only outputs can be named; with it, all `free`."""
    cuts = choices.has("limit") and choices.wants(2)
    terms = [c.text for c in columns if c.sort != "list"]
    if cuts and free and choices.chance(3):
        terms = [c.text for c in free]
    text = ""
    if terms and choices.has("order") and choices.chance(7 if cuts else 1):
        endings = ["", " DESC", " NULLS LAST", " DESC NULLS FIRST"]
        keys = [f"{key}{choices.pick(endings)}" for key in choices.some(terms, 1, 2)]
        text = f" ORDER BY {', '.join(keys)}"
    if cuts:
        offset = f" OFFSET {choices.pick([1, 2])}" if choices.chance(2) else ""
        text += f" LIMIT {choices.pick([2, 1, 3])}{offset}"
    return text
