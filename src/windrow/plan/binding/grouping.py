"""GROUP BY: keys, aggregates, and what SELECT and HAVING may then say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from sqlglot import exp

from windrow.core.errors import BindError
from windrow.core.types import BIGINT
from windrow.language.printing import to_sql
from windrow.language.spans import span_of
from windrow.plan.binding.expressions import ExpressionBinder, condition
from windrow.plan.binding.scope import FromItem, Scope, unknown_source
from windrow.plan.expressions import Call, Cast, Column, Expr, Literal, columns_of
from windrow.plan.functions import (
    AGGREGATES,
    canonical_aggregate,
    derived_aggregate,
    is_aggregate,
    resolve_aggregate,
    resolve_call,
)
from windrow.plan.functions.derived import AggregateText, check_words, is_grouping
from windrow.plan.nodes import (
    Aggregate,
    AggregateCall,
    Named,
    Plan,
    Project,
    UnionAll,
    as_column,
)


def has_aggregate(node: exp.Expr) -> bool:
    """Return whether an aggregate is called in it, sub-queries apart."""
    return any(
        isinstance(n, exp.Anonymous) and is_aggregate(n.name)
        for n in node.walk(prune=lambda n: isinstance(n, exp.Query))
    )


@dataclass(slots=True)
class BlockGrouping:
    """The keys of a block and the aggregates met so far.

    `sets` has the places of the keys of each grouping set; `levels` the calls of GROUPING, by the
    names of their columns.
    """

    scope: Scope
    keys: list[Named] = field(default_factory=list)
    calls: list[AggregateCall] = field(default_factory=list)
    sets: list[list[int]] = field(default_factory=lambda: [[]])
    levels: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def add_sets(self, sets: list[list[exp.Expr]], meant: Callable[[exp.Expr], exp.Expr]) -> None:
        """Add the grouping sets, each with its terms; `meant` is the expression of a term."""
        self.sets = [list(dict.fromkeys(self._key(meant(n)) for n in nodes)) for nodes in sets]

    def _key(self, node: exp.Expr) -> int:
        """Return the place of a term among the keys, where it is added if it is new."""
        expr = ExpressionBinder(self.scope, "GROUP BY").bind(node)
        for place, key in enumerate(self.keys):
            if key.expr == expr:
                return place
        self.keys.append(Named(self._fresh(_label(node, expr)), expr))
        return len(self.keys) - 1

    def bind(self, node: exp.Expr) -> Expr:
        """Bind an expression of SELECT, HAVING or ORDER BY over the groups."""
        over_rows = ExpressionBinder(self.scope, "SELECT", self._aggregate).bind(node)
        return self.over_groups(over_rows, node)

    def plan(self, source: Plan) -> Plan:
        """Return the node that folds the groups of `source`; of several sets their union.

        γ_{sets}(S)  =  ⊎ over sets:  γ_set(S) with NULL for the keys that are not in the set.
        """
        if len(self.sets) == 1 and not self.levels:
            return Aggregate(source, tuple(self.keys), tuple(self.calls))
        parts = tuple(self._part(source, chosen) for chosen in self.sets)
        return parts[0] if len(parts) == 1 else UnionAll(parts)

    def _part(self, source: Plan, chosen: list[int]) -> Plan:
        keys = tuple(key for n, key in enumerate(self.keys) if n in chosen)
        folded = Aggregate(source, keys, tuple(self.calls))
        columns = [
            Named(k.name, as_column(k.field) if k in keys else Literal(None, k.expr.type))
            for k in self.keys
        ]
        columns += [Named(c.output, Column(c.output, c.type, c.nullable)) for c in self.calls]
        for name, of in self.levels.items():
            level = sum(1 << place for place, key in enumerate(reversed(of)) if key not in chosen)
            columns.append(Named(name, Literal(level, BIGINT)))
        return Project(folded, tuple(columns))

    def _level(self, node: exp.Expr, args: tuple[Expr, ...]) -> Expr:
        """Return GROUPING(key, ...): a bit for each key, 1 where a row's set does not have it."""
        places = [n for a in args for n, key in enumerate(self.keys) if key.expr == a]
        if len(places) != len(args):
            raise BindError(
                f"{to_sql(node)} needs keys of GROUP BY",
                hint="Name columns that GROUP BY has, in ROLLUP, CUBE or GROUPING SETS.",
                span=span_of(node),
            )
        of = tuple(places or range(len(self.keys)))
        name = f"#grouping {' '.join(map(str, of))}"
        self.levels[name] = of
        return Column(name, BIGINT, nullable=False)

    def _aggregate(self, node: exp.Expr) -> Expr:
        text = self._text(node)
        if is_grouping(text.name):
            return self._level(node, text.args)
        derived = derived_aggregate(text.name)
        if derived is not None:
            derived.check(text)
            return derived.expand(text, partial(self._folded, node))
        name = canonical_aggregate(text.name)
        assert name is not None, "only aggregates come here"
        check_words(text, None, AGGREGATES[name].usage)
        return self._folded(node, name, text.args, text.filter, text.distinct)

    def _folded(
        self,
        node: exp.Expr,
        name: str,
        args: tuple[Expr, ...],
        where: Expr | None,
        distinct: bool,  # noqa: FBT001 - part of the call as SQL writes it
    ) -> Expr:
        """Return the column of a plain aggregate, which is added where it is new."""
        coerced, type_, nullable = resolve_aggregate(name, args, distinct)
        made = AggregateCall("", name, coerced, type_, distinct, where, nullable)
        for known in self.calls:
            if replace(known, output="") == made:
                return Column(known.output, known.type, known.nullable)
        self.calls.append(replace(made, output=self._fresh(to_sql(node))))
        return Column(self.calls[-1].output, type_, nullable)

    def _text(self, node: exp.Expr) -> AggregateText:
        """Bind the parts of a call; what it can have of them is known to its function."""
        found = CallParts()
        call = found.unwrapped(node)
        args = found.arguments(call, self.scope)
        binder = ExpressionBinder(self.scope, "an aggregate")
        return AggregateText(
            call.name,
            tuple(binder.bind(arg) for arg in args),
            found.distinct,
            None if found.filter is None else self._filter(found.filter),
            tuple((binder.bind(term.this), _letter(term)) for term in found.order),
            found.within,
            found.ignore_nulls,
            self._time(),
        )

    def _time(self) -> Expr | None:
        """Return when the rows arrived: the latest time of their tuples; None if any has none."""
        moving = [s for s in self.scope.sources if s.kind in ("stream", "query")]
        times = []
        for source in moving:
            if source.time_column is None:
                return None
            field = source.plan.schema[source.time_column]
            times.append(Column(field.name, field.type, nullable=False))
        if len(times) < 2:
            return times[0] if times else None
        return resolve_call("greatest", tuple(times))

    def _filter(self, node: exp.Expr) -> Expr:
        return condition(ExpressionBinder(self.scope, "FILTER").bind(node), node, "FILTER")

    @property
    def _of_values(self) -> frozenset[str]:
        """The columns of sub-queries that are values: they are joined with the groups."""
        return frozenset().union(*map(columns_of, self.scope.values.values()))

    def over_groups(self, expr: Expr, node: exp.Expr) -> Expr:
        """Return an expression over the tuples as one over their groups."""
        for place, key in enumerate(self.keys):
            if key.expr == expr:
                missing = any(place not in chosen for chosen in self.sets)
                return Column(key.name, expr.type, expr.nullable or missing)
        match expr:
            case Column(name=name):
                known = any(call.output == name for call in self.calls)
                if known or name in self.levels or name in self._of_values:
                    return expr
                raise _not_grouped(name, node, self.scope)
            case Call(name, args, type_, nullable):
                return Call(name, tuple(self.over_groups(a, node) for a in args), type_, nullable)
            case Cast(value, type_, nullable):
                return Cast(self.over_groups(value, node), type_, nullable)
            case _:
                return expr

    def _fresh(self, label: str) -> str:
        """Return a name that no key and no aggregate has, in upper or lower case."""
        names = {key.name.lower() for key in self.keys}
        names |= {call.output.lower() for call in self.calls}
        name, n = label, 1
        while name.lower() in names:
            n += 1
            name = f"{label}_{n}"
        return name


def _label(node: exp.Expr, expr: Expr) -> str:
    return expr.name if isinstance(expr, Column) else to_sql(node)


@dataclass(slots=True)
class CallParts:
    """What is written around the name of an aggregate and its arguments."""

    filter: exp.Expr | None = None
    order: list[exp.Ordered] = field(default_factory=list)
    within: bool = False
    ignore_nulls: bool = False
    distinct: bool = False

    def unwrapped(self, node: exp.Expr) -> exp.Anonymous:
        """Return the call inside FILTER, WITHIN GROUP and IGNORE NULLS."""
        while not isinstance(node, exp.Anonymous):
            match node:
                case exp.Filter():
                    self.filter = node.expression.this
                case exp.WithinGroup():
                    self.within = True
                    self.order = list(node.expression.expressions) if node.expression else []
                case exp.IgnoreNulls():
                    self.ignore_nulls = True
            node = node.this
        return node

    def arguments(self, call: exp.Anonymous, scope: Scope) -> list[exp.Expr]:
        """Return the arguments without ORDER BY, DISTINCT and IGNORE NULLS; COUNT(*) has none."""
        args = [self._argument(arg) for arg in call.expressions]
        if args and isinstance(args[0], exp.Distinct):
            self.distinct = True
            return [*args[0].expressions, *args[1:]]
        if len(args) == 1 and isinstance(args[0], exp.Star | exp.Column):
            star = args[0] if isinstance(args[0], exp.Star) else args[0].this
            if isinstance(star, exp.Star):
                _check_star(call, args[0], scope)
                return []
        return args

    def _argument(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Order):
            self.order += node.expressions
            return self._argument(node.this)
        if isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
            self.ignore_nulls |= isinstance(node, exp.IgnoreNulls)
            return self._argument(node.this)
        return node


def _check_star(call: exp.Anonymous, star: exp.Expr, scope: Scope) -> None:
    if call.name.upper() != "COUNT":
        raise BindError(
            f"{call.name}(*) has no meaning",
            detail="Only COUNT takes whole tuples.",
            hint=f"Name a column: {call.name}(column).",
            span=span_of(call),
        )
    if isinstance(star, exp.Column):
        owners_of_star(star, scope)


def _letter(term: exp.Ordered) -> str:
    """Return the direction of an ORDER BY term as `functions/derived.py` has it."""
    descending, nulls_first = bool(term.args.get("desc")), term.args.get("nulls_first")
    usual = nulls_first is None or bool(nulls_first) != descending
    return ("d" if descending else "a") if usual else ("D" if descending else "A")


def owners_of_star(item: exp.Column, scope: Scope) -> tuple[FromItem, ...]:
    """Return the source that ``alias.*`` names."""
    owners = tuple(s for s in scope.sources if s.alias.lower() == item.table.lower())
    if not owners:
        raise unknown_source(item, [s.alias for s in scope.sources])
    return owners


def _not_grouped(name: str, node: exp.Expr, scope: Scope) -> BindError:
    written = scope.written(name)
    found = [
        column
        for column in node.find_all(exp.Column)
        if not isinstance(column.this, exp.Star)
        if (resolved := scope.resolve(column)) is not None and resolved.name == name
    ]
    return BindError(
        f'column "{written}" is neither grouped nor aggregated',
        detail="A group has many tuples, which may differ in it.",
        hint=f"Put {written} into GROUP BY, or fold it: MAX({written}), for example.",
        span=span_of(found[0] if found else node),
    )
