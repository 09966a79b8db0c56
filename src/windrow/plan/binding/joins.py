"""Joins: the sources of a block and the terms of its WHERE become a left-deep join tree.

Streams and sub-queries join first, in the order of FROM but along equalities where there are
any; then relations; NRRs last, so that a result looks them up as of its own ts [THESIS Def. 3.1].
Each term is applied as early as its columns allow; equalities that follow from others are keys
where none is written (`infer_equalities.py`). WINDOW and DWINDOW predicates of W-joins become bands
on the times of two streams.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, pairwise

from windrow.core.errors import BindError, SemanticError, UnboundedStateError
from windrow.core.naming import near
from windrow.core.time import Clock
from windrow.language.spans import span_of
from windrow.language.syntax import PairWindow
from windrow.plan import nodes
from windrow.plan.binding.context import Context
from windrow.plan.binding.durations import bind_duration
from windrow.plan.binding.infer_equalities import Equalities, Pair
from windrow.plan.binding.scope import FromItem
from windrow.plan.expressions import Call, Expr, columns_of, conjunction
from windrow.plan.nodes import Band

_RANK = {"stream": 0, "query": 0, "relation": 1, "nrr": 2}


@dataclass(frozen=True, slots=True)
class Term:
    """One conjunct of WHERE, with the columns it reads."""

    expr: Expr
    columns: frozenset[str]


@dataclass(slots=True)
class JoinTree:
    """The plan so far, and what is still to be applied."""

    plan: nodes.Plan
    columns: frozenset[str]
    terms: list[Term]
    bands: list[nodes.Band]
    equal: Equalities


def build_joins(
    sources: tuple[FromItem, ...],
    terms: list[Expr],
    bands: list[nodes.Band],
    known: Iterable[Expr] = (),
) -> nodes.Plan:
    """Return the join of all sources under all terms and bands.

    `known` are terms that hold in every result, and are tested elsewhere.
    """
    require_bounded_state(sources, bands)
    waiting = [Term(t, columns_of(t)) for t in terms]
    rest = sorted(sources, key=lambda s: _RANK[s.kind])
    if rest[-1].kind == "nrr" and _RANK[rest[0].kind] > 0:
        raise SemanticError(
            f'nothing says when to look at "{rest[-1].alias}"',
            detail="A non-retroactive relation is read as of the time of a stream's tuple.",
            hint="Join it with a stream, or declare it as a RELATION.",
            span=rest[-1].span,
        )
    first = rest.pop(0)
    names = frozenset(first.plan.schema.names)
    equal = Equalities.of((*terms, *known))
    tree = JoinTree(first.plan, names, waiting, list(bands), equal)
    _filter(tree)
    while rest:
        _join(tree, _take_next(tree, rest))
    if tree.terms:
        tree.plan = _filtered(tree.plan, tree.terms)
    return tree.plan


def _take_next(tree: JoinTree, rest: list[FromItem]) -> FromItem:
    """Remove and return the first source that an equality connects, else the first.

    Equalities that are written come before those that follow from others.
    """
    rank = _RANK[rest[0].kind]
    near = [(i, _names(s)) for i, s in enumerate(rest) if _RANK[s.kind] == rank]
    for i, names in near:
        if any(_key_pair(t, tree.columns, names) for t in tree.terms):
            return rest.pop(i)
    for i, names in near:
        if tree.equal.inferred(tree.columns, names):
            return rest.pop(i)
    return rest.pop(0)


def _names(source: FromItem) -> frozenset[str]:
    return frozenset(source.plan.schema.names)


def _filter(tree: JoinTree) -> None:
    """Apply the terms that read only what is there already."""
    ready = [t for t in tree.terms if t.columns and t.columns <= tree.columns]
    tree.terms = [t for t in tree.terms if t not in ready]
    tree.equal.enforce(t.expr for t in ready)
    tree.plan = _filtered(tree.plan, ready)


def _filtered(plan: nodes.Plan, terms: list[Term]) -> nodes.Plan:
    predicate = conjunction(tuple(t.expr for t in terms))
    return plan if predicate is None else nodes.Filter(plan, predicate)


def _join(tree: JoinTree, source: FromItem) -> None:
    """Join the tree with one more source, by all terms of WHERE that can be tested now."""
    names = _names(source)
    both = tree.columns | names
    # Terms over the new source alone filter it; terms over both sides are the join's condition.
    local = [t for t in tree.terms if t.columns and t.columns <= names]
    across = [t for t in tree.terms if t.columns <= both and t.columns and t not in local]
    tree.terms = [t for t in tree.terms if t not in local and t not in across]
    tree.equal.enforce(t.expr for t in local)
    # Equalities become keys, those that follow from others too (a = b, b = c: a = c).
    written, residual = _sorted_out([t.expr for t in across], tree.columns, names)
    keys = tree.equal.needed(written, tree.equal.inferred(tree.columns, names))
    on = _on(keys, residual, _oriented(tree, names))
    tree.plan = _joined(tree.plan, source, local, on)
    tree.columns = both


def _joined(left: nodes.Plan, source: FromItem, local: list[Term], on: nodes.JoinOn) -> nodes.Plan:
    if source.kind == "nrr":
        assert isinstance(source.plan, nodes.Table)
        _require_no_negation_below(left, source)
        _require_own_times(left, source)
        joined = nodes.NrrJoin(left, source.plan, on)
        return _filtered(joined, local)
    return nodes.Join(left, _filtered(source.plan, local), on)


def join_on(
    terms: list[Expr],
    left: frozenset[str],
    right: frozenset[str],
    bands: tuple[nodes.Band, ...] = (),
) -> nodes.JoinOn:
    """Sort the terms between two sides into key pairs and the rest."""
    return _on(*_sorted_out(terms, left, right), bands)


def _sorted_out(
    terms: list[Expr], left: frozenset[str], right: frozenset[str]
) -> tuple[list[Pair], list[Expr]]:
    keys: list[Pair] = []
    residual: list[Expr] = []
    for term in terms:
        pair = _key_pair(Term(term, columns_of(term)), left, right)
        if pair is None:
            residual.append(term)
        else:
            keys.append(pair)
    return keys, residual


def _on(keys: list[Pair], residual: list[Expr], bands: tuple[nodes.Band, ...]) -> nodes.JoinOn:
    rest = conjunction(tuple(residual))
    return nodes.JoinOn(tuple(k[0] for k in keys), tuple(k[1] for k in keys), bands, rest)


def _key_pair(term: Term, left: frozenset[str], right: frozenset[str]) -> Pair | None:
    match term.expr:
        case Call("eq", (a, b)):
            reads_a, reads_b = columns_of(a), columns_of(b)
            if not reads_a or not reads_b:
                return None
            if reads_a <= left and reads_b <= right:
                return a, b
            if reads_b <= left and reads_a <= right:
                return b, a
    return None


def _oriented(tree: JoinTree, names: frozenset[str]) -> tuple[nodes.Band, ...]:
    """Take the bands between the tree and a new source, turned so that the tree is left."""
    found, rest = [], []
    for band in tree.bands:
        if band.left in tree.columns and band.right in names:
            found.append(band)
        elif band.right in tree.columns and band.left in names:
            found.append(nodes.Band(band.right, band.left, -band.high, -band.low))
        else:
            rest.append(band)
    tree.bands = rest
    return tuple(found)


def _require_no_negation_below(left: nodes.Plan, source: FromItem) -> None:
    negation = _negation(left)
    if negation is not None:
        raise SemanticError(
            f'non-retroactive relation "{source.alias}" is joined above {negation}',
            detail="A retraction may have to undo a join with a row of the relation that has "
            "been updated or deleted since, so the result to retract could not be found.",
            hint="Join the relation with the stream below it: put both into one sub-query.",
            span=source.span,
        )


def _require_own_times(left: nodes.Plan, source: FromItem) -> None:
    if _comes_and_goes(left):
        raise SemanticError(
            f'non-retroactive relation "{source.alias}" is joined above EXISTS or IN',
            detail="A tuple meets the version of the relation as of its own time, but the "
            "condition may let it in later, when that version is gone.",
            hint="Join the relation with the stream below the condition: put both into one SELECT.",
            span=source.span,
        )


def _comes_and_goes(plan: nodes.Plan) -> bool:
    """Return whether tuples pass a condition that depends on which other tuples are alive."""
    match plan:
        case nodes.SemiJoin():
            return True
        case nodes.Filter() | nodes.Project() | nodes.Join() | nodes.NrrJoin() | nodes.UnionAll():
            return any(map(_comes_and_goes, nodes.inputs_of(plan)))
        case _:
            return False


def _negation(plan: nodes.Plan) -> str | None:
    """Return what retracts results that have not expired, if something below does."""
    if isinstance(plan, nodes.AntiJoin | nodes.Except):
        return "a negation"
    if isinstance(plan, nodes.OuterJoin):
        return "an outer join"
    if nodes.is_stream(plan):
        return None
    return next((n for p in nodes.inputs_of(plan) if (n := _negation(p)) is not None), None)


def require_bounded_state(sources: tuple[FromItem, ...], bands: list[nodes.Band]) -> None:
    """Refuse a join that would have to keep an unwindowed stream for ever."""
    partners = [s for s in sources if s.kind != "nrr"]
    if len(partners) < 2:
        return
    for source in partners:
        if source.implicit and not _within_reach(source, partners, bands):
            if bands and all(p.time_column is not None for p in partners):
                raise _not_tied(source, partners, bands)
            others = ", ".join(f'"{p.alias}"' for p in partners if p is not source)
            raise UnboundedStateError(
                f'join of "{source.alias}" with {others} needs unbounded state',
                detail=without_window(source),
                hint=window_hint(source),
                span=source.span,
            )


def without_window(source: FromItem) -> str:
    """Say why a source keeps every tuple."""
    if source.kind == "query":
        return "The sub-query reads a stream that has no window, so its rows never expire."
    return f'"{source.alias}" has no window, so no tuple of it can ever be dropped.'


def window_hint(source: FromItem) -> str:
    """Say how a source gets a window."""
    if source.kind == "query":
        return "Add a window to that stream, or write [UNBOUNDED] there to keep every row."
    return (
        f"Add a window, for example {source.alias} [RANGE 10 MINUTES]; "
        f"or write {source.alias} [UNBOUNDED] to keep every tuple."
    )


def _not_tied(
    source: FromItem, partners: list[FromItem], bands: list[nodes.Band]
) -> UnboundedStateError:
    """Return the error for streams of which WINDOW ties some to each other, but not all."""
    near = _reached(source, partners, bands)
    tied, others = (
        [p for p in partners if (p.time_column in near) is there] for there in (True, False)
    )
    fewer = tied if len(tied) < len(others) else others
    blamed = next((p for p in fewer if p.implicit), source)
    rest = tied if blamed in others else others
    one, names = (", ".join(f'"{p.alias}"' for p in some) for some in ((blamed,), rest))
    first, second = next(
        pair for pair in pairwise(partners) if (pair[0] in tied) is not (pair[1] in tied)
    )
    return UnboundedStateError(
        f"join of {one} with {names} needs unbounded state",
        detail=f"No WINDOW ties {one} to {names}: they match however far apart in time they are,"
        " so no tuple can ever be dropped.",
        hint=f"Add WINDOW({first.alias}, {second.alias}) = ..., or write WINDOW = ... for all"
        f" pairs; or give each stream a window, for example {blamed.alias} [RANGE 10 MINUTES].",
        span=blamed.span,
    )


def _within_reach(source: FromItem, partners: list[FromItem], bands: list[nodes.Band]) -> bool:
    """Return whether bands tie the source's time to that of every partner."""
    reached = _reached(source, partners, bands)
    return all(p.time_column in reached for p in partners)


def _reached(
    source: FromItem, partners: list[FromItem], bands: list[nodes.Band]
) -> set[str | None]:
    """Return the times that bands tie the source's to, by way of others, too."""
    reached = {source.time_column}
    for _ in partners:
        for band in bands:
            if band.left in reached or band.right in reached:
                reached |= {band.left, band.right}
    return reached


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
