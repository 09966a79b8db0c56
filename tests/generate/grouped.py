"""Random queries that group the results of a join: keys, calls and conditions over any inputs."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from tests.generate.catalog import NRR, RELATION, STREAMS
from tests.generate.joins import PREDICTED, SLIDING, equalities, output, source, thetas

OF_ONE = (
    "COUNT({a}.v)",
    "SUM({a}.v)",
    "SUM({a}.x)",
    "AVG({a}.v)",
    "AVG({a}.x)",
    "MIN({a}.v)",
    "MAX({a}.v)",
    "MIN({a}.x)",
    "MAX({a}.s)",
    "MIN({a}.id)",
    "SUM({a}.v + 1)",
    "MAX({a}.k * 2 - {a}.v)",
    "BOOL_AND({a}.v > 0)",
    "BOOL_OR({a}.k = 1)",
    "SUM({a}.v) FILTER (WHERE {a}.k > 0)",
    "COUNT(*) FILTER (WHERE {a}.v > 0)",
    "MAX({a}.x) FILTER (WHERE {a}.s IS NOT NULL)",
)
"""Calls over one input: most can be folded before the join."""

OF_MANY = (
    "SUM({a}.v * {b}.v)",
    "MIN({a}.v - {b}.v)",
    "MAX({a}.x + {b}.v)",
    "COUNT(DISTINCT {a}.v)",
    "SUM(DISTINCT {a}.v)",
    "MIN(DISTINCT {a}.v)",
    "MEDIAN({a}.v)",
    "STDDEV({a}.v)",
    "COUNT(DISTINCT {a}.v + {b}.v)",
    "SUM({a}.v) FILTER (WHERE {b}.k > 0)",
    "COUNT(*) FILTER (WHERE {a}.v > {b}.v)",
    "SUM(1)",
)
"""Calls over several inputs, or that need each value by itself."""

VERSIONED = f"(SELECT c.k, {NRR}.w FROM c [RANGE 4], {NRR} WHERE c.k = {NRR}.k) AS q"
"""A stream whose tuples met a relation as of their own time."""

KEYS = ("{a}.k", "{a}.v", "{a}.s", "{a}.v % 2", "{a}.k + {b}.k", "{a}.x", "COALESCE({a}.s, {b}.s)")


@dataclass(frozen=True, slots=True)
class Grouped:
    """A query that groups a join, and the names of what it joins."""

    text: str
    names: tuple[str, ...]


@st.composite
def grouped_joins(draw: st.DrawFn, *, most: int = 4) -> Grouped:
    """A GROUP BY over a join of two to four inputs."""
    names = [f"t{i}" for i in range(draw(st.sampled_from([2, 2, 2, 3, 3, most])))]
    froms = [draw(source(name, len(names)))[0] for name in names]
    terms = draw(equalities(names)) + draw(thetas(names))
    columns = list(names)
    other = draw(st.sampled_from(["", "", "", "", f"{RELATION} AS q", VERSIONED]))
    if other:
        froms.append(other)
        terms.append(f"q.k = {draw(st.sampled_from(names))}.k")
        columns.append("q")
    where = f" WHERE {' AND '.join(terms)}" if terms else ""
    keys = draw(_keys(names))
    calls = draw(_calls(names, relation=bool(other)))
    body = f"{', '.join(froms)}{where}"
    if draw(st.sampled_from([False] * 5 + [True])):
        body, keys, calls = _renamed(body, names)
    selected = ", ".join([*(f"{k} AS g{i}" for i, k in enumerate(keys)), *calls])
    having = draw(st.sampled_from(["", "", "", " HAVING COUNT(*) > 1", " HAVING COUNT(*) <> 2"]))
    by = f" GROUP BY {', '.join(keys)}" if keys else ""
    text = f"SELECT {selected} FROM {body}{by}{having}"
    sliding = "SLIDE" in body or "TUMBLE" in body
    return Grouped(draw(output(text, sliding=sliding)), tuple(columns))


MIXED = (
    "(SELECT x.k, x.v, x.s, x.x, x.id, x.ts FROM a AS x [RANGE 3], b AS y [UNBOUNDED]"
    " WHERE x.k = y.k) AS {name}",
    "(SELECT k, v, s, x, id, ts FROM b [RANGE 2] UNION ALL SELECT k, v, s, x, id, ts FROM c"
    " [SINCE 2]) AS {name}",
)
"""Sub-queries of tuples that leave and tuples that do not."""


@st.composite
def grouped_versions(draw: st.DrawFn) -> Grouped:
    """A GROUP BY over one to three time windows that meet non-retroactive relations."""
    names = [f"t{i}" for i in range(draw(st.sampled_from([1, 2, 2, 3])))]
    spans = st.sampled_from(PREDICTED + SLIDING)
    windows = [f"{draw(st.sampled_from(STREAMS))} AS {name} [{draw(spans)}]" for name in names]
    mixed = [draw(st.sampled_from(MIXED)).format(name=name) for name in names]
    either = st.sampled_from([0, 0, 0, 0, 1])
    froms = [(w, m)[draw(either)] for w, m in zip(windows, mixed, strict=True)]
    terms = draw(thetas(names)) + (draw(equalities(names)) if len(names) > 1 else [])
    met = [f"q{i}" for i in range(draw(st.sampled_from([1, 1, 2])))]
    for name in met:
        own = draw(st.sampled_from(names))
        froms.append(f"{NRR} AS {name}")
        forms = [f"{name}.k = {own}.k", f"{name}.w < {own}.v", f"{name}.k + {own}.k > 1"]
        terms += draw(st.lists(st.sampled_from(forms), max_size=2, unique=True))
    keys = [*draw(_keys(names)), *draw(st.sampled_from([[], [f"{met[-1]}.w"]]))]
    calls = draw(_calls(names, relation=False))
    calls += draw(st.sampled_from([[], [f"SUM({met[0]}.w) AS c8", f"MAX({met[0]}.s) AS c9"]]))
    where = f" WHERE {' AND '.join(terms)}" if terms else ""
    selected = ", ".join([*(f"{k} AS g{i}" for i, k in enumerate(keys)), *calls])
    by = f" GROUP BY {', '.join(keys)}" if keys else ""
    body = f"SELECT {selected} FROM {', '.join(froms)}{where}{by}"
    sliding = "SLIDE" in body or "TUMBLE" in body
    return Grouped(draw(output(body, sliding=sliding)), (*names, *met))


def _renamed(body: str, names: list[str]) -> tuple[str, list[str], list[str]]:
    """Return a join under a projection and a condition, and what is grouped and folded of it."""
    first, last = names[0], names[-1]
    columns = f"{first}.k AS g, {last}.v + 1 AS p, {first}.v * {last}.k AS m, {first}.x AS y"
    calls = ["SUM(z.p) AS c0", "MAX(z.m) AS c1", "MIN(z.y) AS c2", "COUNT(*) AS c3"]
    return f"(SELECT {columns} FROM {body}) AS z WHERE z.p > 0", ["z.g"], calls


@st.composite
def _keys(draw: st.DrawFn, names: list[str]) -> list[str]:
    forms = draw(st.lists(st.sampled_from(KEYS), max_size=2, unique=True))
    return list(dict.fromkeys(draw(_over(form, names)) for form in forms))


@st.composite
def _calls(draw: st.DrawFn, names: list[str], *, relation: bool) -> list[str]:
    forms = draw(st.lists(st.sampled_from(OF_ONE + OF_MANY), min_size=1, max_size=3))
    calls = [draw(_over(form, names)) for form in forms]
    calls += ["COUNT(*)"] if draw(st.booleans()) else []
    calls += ["SUM(q.w)"] if relation else []
    return [f"{call} AS c{i}" for i, call in enumerate(dict.fromkeys(calls))]


@st.composite
def _over(draw: st.DrawFn, form: str, names: list[str]) -> str:
    a, b = draw(st.sampled_from(names)), draw(st.sampled_from(names))
    return form.format(a=a, b=b)


def placements(names: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Any inputs that are aggregated early, by their names; more often some than none."""
    some = st.sets(st.sampled_from(names), min_size=1).map(
        lambda s: "{" + ",".join(sorted(s)) + "}"
    )
    return some | some | st.sampled_from(("none", "auto"))
