"""A NON RETROACTIVE RELATION is joined with streams first, and relations with what comes of it.

    ⋈NRR [n]                            π
      π ⋈ [r]                  ⇒          ⋈ [r]
        a                                   ⋈NRR [n]
                                              a

A result meets the version of N at the largest ts of its *stream* tuples [THESIS Def. 3.1]: an
update "affects only those stream tuples which arrive after time τ" [THESIS 3.3.1]. A row of a
RELATION may come, go and come again later, and with it the result; its ts stays. So whatever has a
ts meets N when it arrives, and rows of relations, which have none, are joined afterwards.

Projections move above N as well, so that the times of tuples, which distinguish equal ones, are in
sight; and each input of UNION ALL meets N by itself, as results of different inputs are different
results though their values be equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from windrow.core.types import BOOLEAN
from windrow.optimize.grouped_versions import says_when_it_leaves
from windrow.optimize.rewriting import names_of, renamed, times_under
from windrow.plan.binding.joins import join_on
from windrow.plan.expressions import Call, Column, Expr, columns_of, conjunction, conjuncts, plain
from windrow.plan.nodes import (
    Aggregate,
    Band,
    Distinct,
    Except,
    Filter,
    Intersect,
    Join,
    JoinOn,
    Named,
    NrrJoin,
    Plan,
    Project,
    Refresh,
    Scan,
    Table,
    TopN,
    UnionAll,
    Window,
    as_column,
    nodes_of,
)


def meet_versions_at_streams(plan: Plan) -> Plan:
    """(A ⋈ R) ⋈NRR N  ⇒  (A ⋈NRR N) ⋈ R;  (A ⊎ B) ⋈NRR N  ⇒  (A ⋈NRR N) ⊎ (B ⋈NRR N).

    The ts of a∘r is that of a, so both sides meet the same version. Where all tuples arrive with
    the time at which they expire, results appear at their own ts: the plan stays.

    >>> from windrow.optimize.showing import rewritten
    >>> text = '''SELECT rate FROM bids [NOW], items, taxes
    ...   WHERE bids.sku = items.sku AND bids.sku = taxes.sku'''
    >>> print(rewritten(text, meet_versions_at_streams))
    query
    └─ Project taxes.rate
       └─ Project bids.ts, bids.sku, bids.price, items.sku, items.owner, taxes.sku, taxes.rate
          └─ Join on bids.sku = items.sku
             ├─ Join as of the tuple's time on bids.sku = taxes.sku
             │  ├─ Window NOW
             │  │  └─ Stream bids
             │  └─ Non retroactive relation taxes
             └─ Relation items
    """
    if (
        not isinstance(plan, NrrJoin)
        or says_when_it_leaves(plan.left)
        or _meets_versions_already(plan.left)
    ):
        return plan
    branches = [b.plan(plan.schema.names) for b in _branches(plan)]
    return branches[0] if len(branches) == 1 else UnionAll(tuple(branches))


def _meets_versions_already(plan: Plan) -> bool:
    """Return whether all results have times of their own, in sight; or none, and their rows are."""
    return _shows_rows(plan) if _has_no_time(plan) else _shows_times(plan)


def _shows_rows(plan: Plan) -> bool:
    """Return whether a plan of relations alone shows all that distinguishes its results."""
    match plan:
        case Filter(source=source):
            return _is_made(plan) or _shows_rows(source)
        case Join(left=left, right=right):
            return _shows_rows(left) and _shows_rows(right)
        case NrrJoin(left=left):
            return _shows_rows(left)
        case _:
            return isinstance(plan, Table) or _is_made(plan)


def _shows_times(plan: Plan) -> bool:
    match plan:
        case Filter(source=source):
            return _is_made(plan) or _shows_times(source)
        case Project(source=source):
            shown = {c.name for c in plan.columns if _as_it_was(c)}
            seen = times_under(source) & names_of(source) <= shown
            return _is_made(plan) or (seen and _shows_times(source))
        case Join(left=left, right=right):
            return _shows_times(left) and _shows_times(right)
        case NrrJoin(left=left):
            return _shows_times(left)
        case UnionAll():
            return says_when_it_leaves(plan)
        case _:
            return not _has_no_time(plan) and not _hides_times(plan)


def _as_it_was(column: Named) -> bool:
    return isinstance(column.expr, Column) and column.expr.name == column.name


def _hides_times(plan: Plan) -> bool:
    """Return whether a window is over a derived stream, whose tuples do not show their times."""
    match plan:
        case Window(source=source, ts_column=None):
            return not times_under(source) & names_of(source)
        case _:
            return False


def _has_no_time(plan: Plan) -> bool:
    """Return whether a plan reads relations alone, and none of their results through a window."""
    return not any(isinstance(n, Scan | Window) for n in nodes_of(plan))


def _is_made(plan: Plan) -> bool:
    """Return whether rows are a sub-query's own: they have the time of their appearing."""
    if isinstance(plan, Filter | Project):
        return _is_made(plan.source)
    return isinstance(plan, Aggregate | Distinct | Intersect | Except | TopN | Refresh)


@dataclass(frozen=True, slots=True)
class _Branch:
    """Results of one kind: what has times, joined, and rows of relations to be joined with it.

    `terms` are conditions that read rows of relations; `columns` say what is shown of a result.
    """

    timed: Plan | None
    untimed: tuple[Plan, ...]
    terms: tuple[Expr, ...]
    columns: Mapping[str, Expr]

    def where(self, terms: Iterable[Expr]) -> _Branch:
        """Return the results that satisfy conditions on their own columns."""
        mine, others = self._parted(terms)
        return replace(self, timed=_filtered(self.timed, mine), terms=self.terms + others)

    def _parted(self, terms: Iterable[Expr]) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
        """Part conditions into those on what has times, and others."""
        names = frozenset[str]() if self.timed is None else names_of(self.timed)
        return _parted(terms, names)

    def joined(self, other: _Branch, on: JoinOn) -> _Branch:
        """Return the join of two."""
        columns = {**self.columns, **other.columns}
        both = _Branch(
            self.timed or other.timed,
            self.untimed + other.untimed,
            self.terms + other.terms,
            columns,
        )
        if self.timed is None or other.timed is None:
            assert not on.bands, "a row of a relation has no time to bound"
            return both.where(_conditions(on, columns))
        names = names_of(self.timed), names_of(other.timed)
        across, others = _parted(_conditions(on, columns), names[0] | names[1])
        bands = tuple(_renamed(band, columns) for band in on.bands)
        met = _joined(self.timed, other.timed, across, bands)
        return replace(both, timed=met, terms=both.terms + others)

    def met(self, plan: NrrJoin) -> _Branch:
        """Return the join with a relation that does not reach back."""
        own = {f.name: as_column(f) for f in plan.table.schema}
        columns = {**self.columns, **own}
        conditions = _conditions(plan.on, columns)
        if self.timed is None:
            whole = replace(self, columns={}).assembled()
            on = join_on(list(conditions), names_of(whole), frozenset(own))
            return _Branch(None, (NrrJoin(whole, plan.table, on),), (), columns)
        mine, others = _parted(conditions, names_of(self.timed) | frozenset(own))
        mine += _implied((*self.terms, *others), names_of(self.timed), frozenset(own))
        on = join_on(list(mine), names_of(self.timed), frozenset(own))
        return replace(
            self,
            timed=NrrJoin(self.timed, plan.table, on),
            terms=self.terms + others,
            columns=columns,
        )

    def renamed(self, columns: Mapping[str, Expr]) -> _Branch:
        """Return the results with other columns, made from those that are shown."""
        made = {name: renamed(expr, dict(self.columns)) for name, expr in columns.items()}
        return replace(self, columns=made)

    def assembled(self) -> Plan:
        """Return what has times joined with all rows of relations."""
        first, *rest = self.untimed if self.timed is None else (self.timed, *self.untimed)
        terms = list(self.terms)
        made = first
        while rest:
            following = next((p for p in rest if _tied(made, p, terms)), rest[0])
            rest.remove(following)
            ready, others = _parted(terms, names_of(made) | names_of(following))
            made, terms = _joined(made, following, ready, ()), list(others)
        return _filtered(made, tuple(terms)) or made

    def plan(self, names: Iterable[str]) -> Plan:
        """Return the results with just these columns."""
        return Project(self.assembled(), tuple(Named(n, self.columns[n]) for n in names))


def _branches(plan: Plan) -> list[_Branch]:
    """Return all results of a plan, by the inputs of UNION ALL that they are of."""
    own = {f.name: as_column(f) for f in plan.schema}
    match plan:
        case _ if isinstance(plan, Table) or (_is_made(plan) and _has_no_time(plan)):
            return [_Branch(None, (plan,), (), own)]
        case _ if _is_made(plan):
            return [_Branch(plan, (), (), own)]
        case Filter(source=source, predicate=predicate):
            found = _branches(source)
            return [b.where(_renamed_all(conjuncts(predicate), b)) for b in found]
        case Project(source=source, columns=columns):
            return [b.renamed({c.name: c.expr for c in columns}) for b in _branches(source)]
        case Join(left=left, right=right, on=on):
            rights = _branches(right)
            return [a.joined(b, on) for a in _branches(left) for b in rights]
        case NrrJoin(left=left):
            return [b.met(plan) for b in _branches(left)]
        case UnionAll(inputs=inputs) if not says_when_it_leaves(plan):
            return [b for below in inputs for b in _under_names(plan, below)]
        case Window() if _hides_times(plan):
            alias = plan.schema.names[0].partition(".")[0]
            return [_Branch(replace(plan, ts_column=f"{alias}.#ts"), (), (), own)]
        case _:
            return [_Branch(plan, (), (), own)]


def _implied(
    terms: Iterable[Expr], left: frozenset[str], right: frozenset[str]
) -> tuple[Expr, ...]:
    """Return a = n for all a = r and r = n: a row of N that no r can be joined with is not met."""
    equal: dict[Expr, list[Expr]] = {}
    for term in terms:
        match term:
            case Call("eq", (a, b)) if a.type == b.type:
                equal.setdefault(plain(a), []).append(b)
                equal.setdefault(plain(b), []).append(a)
    return tuple(
        Call("eq", (a, n), BOOLEAN, a.nullable or n.nullable)
        for others in equal.values()
        for a in others
        if columns_of(a) and columns_of(a) <= left
        for n in others
        if columns_of(n) and columns_of(n) <= right
    )


def _under_names(union: UnionAll, below: Plan) -> list[_Branch]:
    """Return the results of an input of UNION ALL, under the names of the first one."""
    columns = dict(zip(union.schema.names, map(as_column, below.schema), strict=True))
    return [b.renamed(columns) for b in _branches(below)]


def _renamed_all(terms: Iterable[Expr], branch: _Branch) -> tuple[Expr, ...]:
    return tuple(renamed(term, dict(branch.columns)) for term in terms)


def _conditions(on: JoinOn, columns: dict[str, Expr]) -> tuple[Expr, ...]:
    """Return what a join asks, as conditions on what its columns stand for."""
    pairs = zip(on.left_keys, on.right_keys, strict=True)
    keys = tuple(Call("eq", (a, b), BOOLEAN, a.nullable or b.nullable) for a, b in pairs)
    return tuple(renamed(term, columns) for term in (*keys, *conjuncts(on.residual)))


def _renamed(band: Band, columns: Mapping[str, Expr]) -> Band:
    left, right = columns[band.left], columns[band.right]
    assert isinstance(left, Column), "WINDOW is about the times of streams"
    assert isinstance(right, Column), "WINDOW is about the times of streams"
    return replace(band, left=left.name, right=right.name)


def _parted(
    terms: Iterable[Expr], names: frozenset[str]
) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """Part conditions into those on these columns alone, and others."""
    given = tuple(terms)
    mine = tuple(t for t in given if columns_of(t) and columns_of(t) <= names)
    return mine, tuple(t for t in given if t not in mine)


def _joined(left: Plan, right: Plan, terms: Iterable[Expr], bands: tuple[Band, ...]) -> Plan:
    """Return a join under conditions; those that read one side alone are asked there."""
    of_left, others = _parted(terms, names_of(left))
    of_right, across = _parted(others, names_of(right))
    on = join_on(list(across), names_of(left), names_of(right), bands)
    return Join(_filtered(left, of_left) or left, _filtered(right, of_right) or right, on)


def _filtered(plan: Plan | None, terms: tuple[Expr, ...]) -> Plan | None:
    predicate = conjunction(terms)
    return plan if plan is None or predicate is None else Filter(plan, predicate)


def _tied(left: Plan, right: Plan, terms: Iterable[Expr]) -> bool:
    """Return whether an equality ties two plans."""
    both = _parted(terms, names_of(left) | names_of(right))[0]
    return bool(join_on(list(both), names_of(left), names_of(right)).left_keys)
