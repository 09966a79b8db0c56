"""Random queries in which a NON RETROACTIVE RELATION stands beside a RELATION, in any spelling.

Both change while the query runs, so that a result may appear, go and return long after its tuples
came; its version of the NRR stays that of their time.
"""

from __future__ import annotations

from hypothesis import strategies as st
from tests.generate.catalog import NRR, RELATION

WINDOWS = ("RANGE 5", "RANGE 9", "ROWS 2", "UNBOUNDED", "PARTITION BY k ROWS 1", "NOW", "ROWS 1")
SLIDING = ("RANGE 6 SLIDE 3", "RANGE 4 SLIDE 3")
MADE = (
    "SELECT k, COUNT(*) AS v FROM {name} [RANGE 5] GROUP BY k",
    "SELECT DISTINCT k, v FROM {name} [{window}]",
    "SELECT k, v FROM {name} [{window}] ORDER BY id DESC LIMIT 2",
    "SELECT k, v FROM (SELECT k, v FROM {name} [RANGE 5]) AS y [{window}]",
)
OF_RELATIONS = (
    "SELECT k, w AS v FROM r",
    "SELECT k, COUNT(*) AS v FROM r GROUP BY k",
    "SELECT r.k, e.w AS v FROM r, r AS e WHERE r.k = e.k",
)


@st.composite
def beside_relations(draw: st.DrawFn) -> str:
    """A query with an NRR above, below or beside a relation, flat or in sub-queries."""
    windows = draw(st.sampled_from([WINDOWS, WINDOWS, SLIDING]))
    form = draw(st.sampled_from(["flat", "flat", "nested", "nested", "below", "two"]))
    window = st.sampled_from(windows)
    tie = draw(st.sampled_from(["x.k = n.k", "x.k = n.k", "x.k <= n.k"]))
    shown = draw(st.sampled_from(["x.k, n.w", "x.k, n.w, n.s", "n.w"]))
    match form:
        case "flat":
            text = draw(_flat(window, shown))
        case "nested":
            text = f"SELECT {shown} FROM ({draw(_inner(window))}) AS x, {NRR} WHERE {tie}"
        case "below":
            text = (
                f"SELECT y.k, y.w, r.w FROM (SELECT x.k, n.w FROM ({draw(_inner(window))}) AS x, n"
                f" WHERE {tie}) AS y, r WHERE y.k = r.k"
            )
        case _:
            text = (
                f"SELECT y.k, y.w, m.w FROM (SELECT x.k, n.w FROM ({draw(_inner(window))}) AS x, n"
                f" WHERE {tie}) AS y, c [{draw(window)}], n AS m WHERE y.k = c.k AND m.k = c.k"
            )
    forms = [text] * 4 + [f"SELECT COUNT(*) AS c, SUM(w) AS t FROM ({text}) AS z"]
    if "y.w" in text:
        forms = [text]
    return draw(st.sampled_from(forms))


@st.composite
def _flat(draw: st.DrawFn, window: st.SearchStrategy[str], shown: str) -> str:
    """One SELECT: streams, a relation and the NRR, tied to one another in any way."""
    streams = draw(st.sampled_from([["a"], ["a"], ["a", "b"]]))
    froms = [f"{s} AS {alias} [{draw(window)}]" for s, alias in zip(streams, "xy", strict=False)]
    froms += [RELATION, NRR]
    terms = ["x.k = r.k", draw(st.sampled_from(["x.k = n.k", "r.k = n.k", "r.w = n.w"]))]
    if len(streams) > 1:
        terms.append("x.k = y.k")
    terms += draw(st.sampled_from([[], [], ["r.w >= n.w"], ["x.v > r.w"], ["n.s = r.s"]]))
    return (
        f"SELECT {shown} FROM {', '.join(draw(st.permutations(froms)))} WHERE {' AND '.join(terms)}"
    )


@st.composite
def _inner(draw: st.DrawFn, window: st.SearchStrategy[str], depth: int = 2) -> str:
    """A sub-query with columns k and v, over streams, relations or both."""
    kind = draw(
        st.sampled_from(
            ["joined", "stream", "joined", "made", "relations"] + ["union", "both"] * (depth > 0)
        )
    )
    name = draw(st.sampled_from(["a", "b"]))
    match kind:
        case "stream":
            return f"SELECT k, v FROM {name} [{draw(window)}]"
        case "joined":
            shown = draw(st.sampled_from([f"{name}.k, {name}.v", f"{name}.k, r.w AS v"]))
            return f"SELECT {shown} FROM {name} [{draw(window)}], r WHERE {name}.k = r.k"
        case "made":
            made = draw(st.sampled_from(MADE))
            return made.format(name=name, window=draw(window))
        case "relations":
            return draw(st.sampled_from(OF_RELATIONS))
        case "union":
            left, right = draw(_inner(window, depth - 1)), draw(_inner(window, depth - 1))
            return f"SELECT k, v FROM ({left}) AS p UNION ALL SELECT k, v FROM ({right}) AS q"
        case _:
            left, right = draw(_inner(window, depth - 1)), draw(_inner(window, depth - 1))
            return f"SELECT p.k, q.v FROM ({left}) AS p, ({right}) AS q WHERE p.k = q.k"
