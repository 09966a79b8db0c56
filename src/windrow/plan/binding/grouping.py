"""GROUP BY: keys, aggregates, and what SELECT and HAVING may then say."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from windrow.core.errors import BindError
from windrow.language.printing import to_sql
from windrow.language.spans import span_of
from windrow.plan.binding.expressions import ExpressionBinder, condition
from windrow.plan.binding.scope import FromItem, Scope, unknown_source
from windrow.plan.expressions import Call, Cast, Column, Expr, columns_of
from windrow.plan.functions import canonical_aggregate, is_aggregate, resolve_aggregate
from windrow.plan.nodes import Aggregate, AggregateCall, Named, Plan


def has_aggregate(node: exp.Expr) -> bool:
    """Return whether an aggregate is called in it, sub-queries apart."""
    return any(
        isinstance(n, exp.Anonymous) and is_aggregate(n.name)
        for n in node.walk(prune=lambda n: isinstance(n, exp.Query))
    )


@dataclass(slots=True)
class BlockGrouping:
    """The keys of a block and the aggregates met so far."""

    scope: Scope
    keys: list[Named] = field(default_factory=list)
    calls: list[AggregateCall] = field(default_factory=list)

    def add_key(self, node: exp.Expr) -> None:
        """Add one term of GROUP BY."""
        expr = ExpressionBinder(self.scope, "GROUP BY").bind(node)
        if all(key.expr != expr for key in self.keys):
            self.keys.append(Named(self._fresh(_label(node, expr)), expr))

    def bind(self, node: exp.Expr) -> Expr:
        """Bind an expression of SELECT, HAVING or ORDER BY over the groups."""
        over_rows = ExpressionBinder(self.scope, "SELECT", self._aggregate).bind(node)
        return self.over_groups(over_rows, node)

    def plan(self, source: Plan) -> Aggregate:
        """Return the node that folds the groups of `source`."""
        return Aggregate(source, tuple(self.keys), tuple(self.calls))

    def _aggregate(self, node: exp.Expr) -> Expr:
        call, chosen = _parts(node)
        distinct, args = _arguments(call, self.scope)
        binder = ExpressionBinder(self.scope, "an aggregate")
        bound = tuple(binder.bind(arg) for arg in args)
        coerced, type_, nullable = resolve_aggregate(call.name, bound, distinct)
        name = canonical_aggregate(call.name)
        assert name is not None, "only aggregates come here"
        where = None if chosen is None else self._filter(chosen)
        made = AggregateCall("", name, coerced, type_, distinct, where, nullable)
        for known in self.calls:
            if replace(known, output="") == made:
                return Column(known.output, known.type, known.nullable)
        self.calls.append(replace(made, output=self._fresh(to_sql(node))))
        return Column(self.calls[-1].output, type_, nullable)

    def _filter(self, node: exp.Expr) -> Expr:
        return condition(ExpressionBinder(self.scope, "FILTER").bind(node), node, "FILTER")

    @property
    def _of_values(self) -> frozenset[str]:
        """The columns of sub-queries that are values: they are joined with the groups."""
        return frozenset().union(*map(columns_of, self.scope.values.values()))

    def over_groups(self, expr: Expr, node: exp.Expr) -> Expr:
        """Return an expression over the tuples as one over their groups."""
        for key in self.keys:
            if key.expr == expr:
                return Column(key.name, expr.type, expr.nullable)
        match expr:
            case Column(name=name):
                if any(call.output == name for call in self.calls) or name in self._of_values:
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


def _parts(node: exp.Expr) -> tuple[exp.Anonymous, exp.Expr | None]:
    if isinstance(node, exp.Filter):
        return node.this, node.expression.this
    assert isinstance(node, exp.Anonymous)
    return node, None


def _arguments(call: exp.Anonymous, scope: Scope) -> tuple[bool, list[exp.Expr]]:
    """Return whether DISTINCT is asked for, and the arguments; COUNT(*) has none."""
    args = list(call.expressions)
    if len(args) == 1 and isinstance(args[0], exp.Distinct):
        return True, list(args[0].expressions)
    if len(args) == 1 and isinstance(args[0], exp.Star | exp.Column):
        star = args[0] if isinstance(args[0], exp.Star) else args[0].this
        if isinstance(star, exp.Star):
            if call.name.upper() != "COUNT":
                raise BindError(
                    f"{call.name}(*) has no meaning",
                    detail="Only COUNT takes whole tuples.",
                    hint=f"Name a column: {call.name}(column).",
                    span=span_of(call),
                )
            if isinstance(args[0], exp.Column):
                owners_of_star(args[0], scope)
            return False, []
    return False, args


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
