"""``SUM(Wstream(SUM(a))[ROWS 10])``: THESIS 3.4's short form of a windowed sub-query.

   SELECT SUM(Wstream(SUM(a))[ROWS 10]) FROM S [RANGE 6 SEC SLIDE 6 SEC]
⇒  SELECT SUM(part) FROM (SELECT SUM(a) AS part FROM S [RANGE 6 SEC SLIDE 6 SEC INTERNAL]) [ROWS 10]
"""

from __future__ import annotations

from sqlglot import exp

from windrow.core.errors import BindError
from windrow.language.spans import span_of
from windrow.language.syntax import StreamFunction, StreamWindow, Windowed

REFUSED = ("distinct", "group", "having", "order", "limit", "offset")


def lift_nested_wstream(select: exp.Select) -> exp.Select:
    """Return the select with a nested WSTREAM written out as a sub-query; else as it is."""
    found = [
        node
        for item in select.expressions
        for node in item.find_all(StreamFunction)
        if not isinstance(node.parent, exp.Query)
    ]
    if not found:
        return select
    function = found[0]
    _check(select, found)
    inner = select.copy()
    inner.set("expressions", [exp.alias_(function.this.copy(), "part")])
    for window in inner.find_all(StreamWindow):
        window.args["internal"] = True
    item = select.expressions[0].copy()
    next(iter(item.find_all(StreamFunction))).replace(exp.column("part"))
    source = Windowed(this=exp.Subquery(this=inner), window=function.args["window"].copy())
    return exp.Select(expressions=[item], from_=exp.From(this=source))


def _check(select: exp.Select, found: list[StreamFunction]) -> None:
    function = found[0]
    alone = len(select.expressions) == 1 and len(found) == 1
    clauses = any(select.args.get(clause) for clause in REFUSED)
    if function.args["kind"] != "wstream" or function.args.get("window") is None:
        raise BindError(
            "inside an aggregate only WSTREAM(...)[window] can stand",
            hint="Write SUM(WSTREAM(SUM(a))[ROWS 10]), for example.",
            span=span_of(function),
        )
    if not alone or clauses:
        raise BindError(
            "an aggregate over WSTREAM must be the only item",
            detail="There can be no DISTINCT, GROUP BY, HAVING, ORDER BY, LIMIT or OFFSET either.",
            hint="Write the windowed sub-query out: SELECT ... FROM (SELECT ...) [ROWS 10].",
            span=span_of(function),
        )
