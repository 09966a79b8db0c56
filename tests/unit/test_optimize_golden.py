"""Each rule on plans that it fits and on plans that it does not, in tests/golden/optimize_*.plan.

A question begins with ``optimize rules=a,b``; ``then=c`` applies other rules afterwards, ``once=d``
passes that go over a plan once, and ``patterns`` shows the update pattern of every edge;
``exchanges`` places those for shards; ``folds=auto`` then folds groups before them, or tells why
not; ``merges={b}`` lets tuples of inputs that are aggregated before a join be merged, or tells why
not.
"""

from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from tests.golden import FOLDER, check_golden

from windrow.optimize.fold_before_exchange import Folding, fold_before_exchange
from windrow.optimize.negations import pull_negation_above_join, push_negation_below_join
from windrow.optimize.place_exchanges import place_exchanges
from windrow.optimize.preaggregate_joins import preaggregate_joins
from windrow.optimize.rewriting import Rule
from windrow.optimize.rules import PREPARING, RULES, apply_rules
from windrow.optimize.showing import bound
from windrow.plan.explain import explain_text

WRITTEN = (*PREPARING, *RULES, push_negation_below_join, pull_negation_above_join)
BY_NAME: dict[str, Rule] = {rule.__name__: rule for rule in WRITTEN}  # type: ignore[attr-defined]
FILES = sorted(FOLDER.glob("optimize_*.plan"))


def rules_of(names: str) -> tuple[Rule, ...]:
    if names == "default":
        return RULES
    return tuple(_rule(name) for name in names.split(",") if name)


def _rule(name: str) -> Rule:
    """Return a rule, or another pass, which has a module of its own."""
    if name in BY_NAME:
        return BY_NAME[name]
    found: Rule = getattr(import_module(f"windrow.optimize.{name}"), name)
    return found


def optimized(question: str) -> str:
    head, _, text = question.partition("\n")
    words = head.split()[1:]
    query = bound(text)
    lines: list[str] = []
    for word in words:
        option, _, names = word.partition("=")
        if option in ("rules", "then"):
            query = replace(query, root=apply_rules(query.root, rules_of(names)))
        for once in rules_of(names) if option == "once" else ():
            query = replace(query, root=once(query.root))
        if option == "exchanges":
            query = replace(query, root=place_exchanges(query.root))
        if option == "merges":
            merged = preaggregate_joins(query.root, lambda _, names=names: names)
            query = replace(query, root=merged.root)
            lines += [f"not merged: {why}" for why in merged.refused]
            lines += [f"merged by {', '.join(p.keys)}" for p in merged.partials]
        if option == "folds":
            folded = fold_before_exchange(query.root, Folding(names))
            query = replace(query, root=folded.root)
            lines += [line for choice in folded.choices for line in choice.notes()]
    return "\n".join([*lines, explain_text(query, patterns="patterns" in words)])


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_plans_are_rewritten_as_written_down(path: Path) -> None:
    check_golden(path, optimized)


def test_every_rule_has_its_file() -> None:
    assert BY_NAME.keys() <= {path.stem.removeprefix("optimize_") for path in FILES}
