"""Random queries that join two to six inputs: any graph, window mix, theta terms, strict inputs."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st
from tests.generate.catalog import NRR, RELATION, STREAMS

PREDICTED = ("RANGE 5", "RANGE 3", "NOW", "RANGE 2", "UNBOUNDED", "SINCE 3")
NARROW = ("RANGE 3", "RANGE 2", "NOW", "RANGE 1")
SLIDING = ("RANGE 4 SLIDE 3", "RANGE 6 SLIDE 3", "TUMBLE 3")
STRICT = ("ROWS 2", "PARTITION BY k ROWS 1", "ROWS 1")
KEYS = ("k", "v", "s", "x", "id")
SUB_QUERIES = (
    "(SELECT DISTINCT k, v, s, x, id, ts FROM a [RANGE 3]) AS {name}",
    "(SELECT k, v + 1 AS v, s, x, id, ts FROM b [RANGE 2] WHERE v IS NOT NULL) AS {name}",
)
STRICT_SUB_QUERIES = (
    "(SELECT k, COUNT(*) AS v, MAX(s) AS s, MIN(x) AS x, MAX(id) AS id, MAX(ts) AS ts"
    " FROM c [RANGE 3] GROUP BY k) AS {name}",
)


@dataclass(frozen=True, slots=True)
class ManyJoin:
    """A query that joins many inputs.

    `strict`: some of them tell departures only as they come. `free`: no stream has a window, but
    there are some between them.
    """

    text: str
    strict: bool
    free: bool


@st.composite
def many_joins(draw: st.DrawFn, *, least: int = 2, most: int = 6) -> ManyJoin:
    """A query that joins so many inputs."""
    n = draw(st.integers(least, most))
    names = [f"t{i}" for i in range(n)]
    paths = draw(st.sampled_from([False, False, True]))
    sources = [draw(_path_source(name) if paths else source(name, n)) for name in names]
    terms = draw(equalities(names)) + draw(thetas(names))
    if paths:
        terms += draw(_paths(names))
    strict = any(strict for _, strict in sources)
    froms = [text for text, _ in sources]
    if not paths and draw(st.sampled_from([False] * 6 + [True])):
        strict = True
        froms.append(f"{RELATION} AS q")
        terms.append(f"q.k = {draw(st.sampled_from(names))}.k")
    elif draw(st.sampled_from([False] * 6 + [True])):
        froms.append(f"{NRR} AS q")
        terms.append(f"q.k = {draw(st.sampled_from(names))}.k")
    if not paths and draw(st.sampled_from([False] * 6 + [True])):
        strict = True  # it may be placed below the joins
        terms.append(
            f"NOT EXISTS (SELECT * FROM c [RANGE 2] WHERE c.k = {draw(st.sampled_from(names))}.k)"
        )
    where = f" WHERE {' AND '.join(terms)}" if terms else ""
    body = f"{draw(_head(names))} FROM {', '.join(froms)}{where}"
    text = draw(output(body, sliding="SLIDE" in body or "TUMBLE" in body))
    return ManyJoin(text, strict, free=paths and "RANGE" not in body)


@st.composite
def source(draw: st.DrawFn, name: str, inputs: int) -> tuple[str, bool]:
    """A windowed stream or a sub-query, and whether it is strict."""
    kind = draw(
        st.sampled_from(["time"] * 8 + ["sliding"] * 2 + ["strict", "query", "strict query"])
    )
    stream = draw(st.sampled_from(STREAMS))
    match kind:
        case "query":
            return draw(st.sampled_from(SUB_QUERIES)).format(name=name), False
        case "strict query":
            return draw(st.sampled_from(STRICT_SUB_QUERIES)).format(name=name), True
        case "strict":
            return f"{stream} AS {name} [{draw(st.sampled_from(STRICT))}]", True
        case "sliding":
            return f"{stream} AS {name} [{draw(st.sampled_from(SLIDING))}]", False
        case _:
            spans = PREDICTED if inputs <= 3 else NARROW
            return f"{stream} AS {name} [{draw(st.sampled_from(spans))}]", False


@st.composite
def _path_source(draw: st.DrawFn, name: str) -> tuple[str, bool]:
    """A stream for which windows between pairs are enough, or one that has a window as well."""
    window = draw(st.sampled_from(["", "", " [RANGE 4]", " [UNBOUNDED]"]))
    return f"{draw(st.sampled_from(STREAMS))} AS {name}{window}", False


@st.composite
def equalities(draw: st.DrawFn, names: list[str]) -> list[str]:
    """Equalities along a star, a chain, a cycle, on one column or several; or a part of them."""
    shape = draw(st.sampled_from(["star", "chain", "cycle", "star", "none"]))
    first, *rest = names
    pairs = [(first, name) for name in rest]
    if shape in ("chain", "cycle"):
        pairs = list(zip(names, rest, strict=False))
    if shape == "cycle" and len(names) > 2:
        pairs.append((names[-1], first))
    if shape == "none":
        return []
    common = draw(st.sampled_from(["k", "k", "k", None]))
    terms = []
    for left, right in pairs:
        column = common or draw(st.sampled_from(KEYS))
        terms.append(draw(_equality(left, right, column)))
    if draw(st.booleans()):
        terms.append(draw(_equality(first, names[-1], draw(st.sampled_from(KEYS)))))
    return terms if draw(st.sampled_from([True] * 4 + [False])) else terms[1:]


def _equality(left: str, right: str, column: str) -> st.SearchStrategy[str]:
    forms = [f"{left}.{column} = {right}.{column}", f"{right}.{column} = {left}.{column}"]
    if column in ("k", "v"):
        forms += [f"{left}.{column} + 1 = {right}.{column}", f"{left}.k = {right}.v"]
        forms += [f"{left}.{column} = {right}.x"]
    return st.sampled_from([forms[0]] * 4 + forms)


@st.composite
def thetas(draw: st.DrawFn, names: list[str]) -> list[str]:
    """Other terms: comparisons of two inputs, conditions on several, on one, on none."""
    a, b, c = (draw(st.sampled_from(names)) for _ in range(3))
    forms = [
        f"{a}.v < {b}.v",
        f"{a}.x >= {b}.x",
        f"{a}.v <> {b}.v",
        f"{a}.ts <= {b}.ts",
        f"{a}.v + 1 > {b}.k",
        f"{a}.s < {b}.s",
        f"{a}.v + {b}.v > {c}.v",
        f"({a}.k = {b}.k OR {b}.v > {c}.v)",
        f"{a}.k = {a}.v",
        f"{a}.v IS NOT NULL",
        f"{a}.k + {b}.k = {c}.k",
        "1 = 1",
        "COALESCE(NULL, TRUE)",
        "1 > 2",
    ]
    return draw(st.lists(st.sampled_from(forms), max_size=2))


@st.composite
def _paths(draw: st.DrawFn, names: list[str]) -> list[str]:
    """Windows between pairs that reach every input: along a path, around one, or all pairs."""
    shape = draw(st.sampled_from(["path", "star", "all"]))
    width = st.sampled_from([2, 1, 3])
    if shape == "all":
        return [f"WINDOW = {draw(width)}"]
    first, *rest = names
    pairs = zip(names, rest, strict=False) if shape == "path" else ((first, r) for r in rest)
    kinds = st.sampled_from(["WINDOW", "DWINDOW"])
    return [f"{draw(kinds)}({a}, {b}) = {draw(width)}" for a, b in pairs]


@st.composite
def _head(draw: st.DrawFn, names: list[str]) -> str:
    """What is selected: some columns, all ids, or groups."""
    some = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
    columns = ", ".join(f"{name}.{draw(st.sampled_from(KEYS))} AS {name}_out" for name in some)
    ids = ", ".join(f"{name}.id AS {name}_id" for name in names)
    return draw(st.sampled_from([f"SELECT {columns}", f"SELECT {ids}", f"SELECT {ids}"]))


def output(body: str, *, sliding: bool) -> st.SearchStrategy[str]:
    """Return a query as it is, as a stream of its changes, or under another."""
    forms = [body, body, body, f"ISTREAM({body})", f"SELECT COUNT(*) AS n FROM ({body}) AS z"]
    if sliding:
        forms += [f"RSTREAM({body}) RESTORE"] * 2
    return st.sampled_from(forms)
