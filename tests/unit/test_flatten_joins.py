"""A tree of joins as one: which columns are equal, what is compared, what is left over."""

from __future__ import annotations

from windrow.optimize.flatten_joins import FlatJoin, flatten
from windrow.optimize.join_estimates import estimated, name_of, reaches_of
from windrow.optimize.rules import apply_rules
from windrow.optimize.showing import bound
from windrow.optimize.statistics import UNKNOWN
from windrow.plan.expressions import Expr
from windrow.plan.format import format_expr
from windrow.plan.nodes import Join, nodes_of

W = "[RANGE 1 MINUTE]"
THREE = f"bids AS a {W}, asks AS b {W}, bans AS c {W}"


def flat(where: str, sources: str = THREE) -> tuple[Join, FlatJoin]:
    root = apply_rules(bound(f"SELECT a.sku FROM {sources} WHERE {where}").root)
    top = next(node for node in nodes_of(root) if isinstance(node, Join))
    found = flatten(top)
    assert found is not None
    return top, found


def classes(found: FlatJoin) -> list[list[str]]:
    def told(exprs: tuple[Expr, ...]) -> str:
        return " ".join(map(format_expr, exprs)) or "-"

    return [[told(m) for m in c.members] for c in found.classes]


def residual(found: FlatJoin) -> str:
    return "" if found.residual is None else format_expr(found.residual)


def test_columns_that_are_equal_pair_by_pair_are_one_class() -> None:
    _, found = flat("a.sku = b.sku AND b.sku = c.sku")
    assert [name_of(p) for p in found.inputs] == ["a", "b", "c"]
    assert classes(found) == [["a.sku", "b.sku", "c.sku"]]
    assert residual(found) == ""
    assert found.reads == {"a.sku", "b.sku", "c.sku"}


def test_classes_of_the_same_inputs_are_one_with_several_columns() -> None:
    _, found = flat("a.sku = b.sku AND a.price = b.price AND b.sku = c.sku AND a.ts = c.ts")
    assert classes(found) == [
        ["a.sku", "b.sku", "c.sku"],
        ["a.price", "b.price", "-"],
        ["a.ts", "-", "c.ts"],
    ]
    _, found = flat("a.sku = b.sku AND a.price + 1 = b.price AND a.ts = c.ts")
    assert classes(found)[0] == ["a.sku a.price + 1", "b.sku b.price", "-"]


def test_a_second_column_of_one_input_in_a_class_is_tested_at_the_end() -> None:
    four = f"bids AS a {W}, asks AS b {W}, asks AS c {W}"
    _, found = flat("a.price = b.price AND b.price = c.price AND length(a.sku) = c.price", four)
    assert classes(found) == [["a.price", "b.price", "c.price"]]
    assert residual(found) == "a.price = CAST(LENGTH(a.sku) AS BIGINT)"


def test_comparisons_of_two_inputs_are_told_apart_from_other_terms() -> None:
    _, found = flat("a.sku = b.sku AND b.sku = c.sku AND a.price < b.price AND a.ts <> c.ts")
    told = [
        (c.first, format_expr(c.left), c.op, c.second, format_expr(c.right)) for c in found.compares
    ]
    assert told == [(0, "a.price", "lt", 1, "b.price"), (0, "a.ts", "ne", 2, "c.ts")]
    _, found = flat(
        "a.sku = b.sku AND a.sku < c.sku AND a.price + b.price > b.price * LENGTH(c.sku)"
    )
    assert found.compares == ()
    assert residual(found).startswith("a.sku < c.sku AND a.price + b.price > b.price * ")


def test_bands_name_their_inputs_and_reach_along_the_shortest_path() -> None:
    free = "bids AS a, asks AS b, bans AS c"
    _, found = flat("WINDOW(a, b) = 5 SECONDS AND DWINDOW(b, c) = 3 SECONDS", free)
    assert [(b.first, b.second) for b in found.bands] == [(0, 1), (1, 2)]
    seconds = [None if r is None else round(r / 1e6) for r in reaches_of(found)]
    assert seconds == [8, 5, 5]  # c may come 3 s after b, and a at most 5 s after b
    _, found = flat("WINDOW(a, b) = 5 SECONDS AND b.sku = c.sku")
    assert reaches_of(found) == [None, None, None]


def test_filters_between_joins_are_terms_and_other_nodes_are_inputs() -> None:
    inner = f"(SELECT a.sku, a.price FROM bids AS a {W} WHERE a.price > 3) AS a"
    _, found = flat("a.sku = b.sku AND b.sku = c.sku", f"{inner}, asks AS b {W}, bans AS c {W}")
    assert len(found.inputs) == 3
    deep = f"(SELECT DISTINCT x.sku FROM bids AS x {W}, asks AS b {W} WHERE x.sku = b.sku) AS a"
    _, found = flat("a.sku = c.sku AND c.sku = d.sku", f"{deep}, bans AS c {W}, bids AS d {W}")
    assert [name_of(p) for p in found.inputs] == ["x", "c", "d"]
    assert classes(found) == [["a.sku", "c.sku", "d.sku"]]


def test_estimates_have_a_value_for_each_class_and_a_share_for_each_band() -> None:
    top, found = flat("a.sku = b.sku AND b.sku = c.sku AND a.price = b.price AND a.price < b.price")
    graph = estimated(top, found, UNKNOWN)
    assert [i.values for i in graph.inputs] == [(1_000, 1_000), (1_000, 1_000), (1_000, 0)]
    assert [s.share for s in graph.shares] == [0.5]
