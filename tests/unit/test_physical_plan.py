"""Physical plans are data: compared, hashed, written, read again, and identified by structure."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from time import process_time

import pytest

from windrow.core.errors import StateError
from windrow.operators.interner import Interner
from windrow.operators.open import FACTORIES, open_plan
from windrow.optimize import notes as optimize_notes
from windrow.optimize.context import PlanContext
from windrow.optimize.fold_before_exchange import Folding
from windrow.optimize.passes import optimize
from windrow.physical import operators
from windrow.physical.codec import plan_from_json, plan_to_json, to_json
from windrow.physical.identity import form_of, identities
from windrow.physical.operators import (
    ContributeOp,
    ContributingJoinOp,
    ExchangeOp,
    MultiJoinOp,
    Op,
    SourceOp,
    StateLayout,
)
from windrow.physical.plan import PhysicalPlan
from windrow.plan.expressions import Expr
from windrow.plan.format import format_expr
from windrow.plan.nodes import Query
from windrow.plan.session import Session
from windrow.runtime.shards import optimized
from windrow.runtime.shards.checkpoint import PLANS, open_checkpoint, use_published_plans
from windrow.runtime.shards.layout import wired
from windrow.runtime.shards.program import Program

DECLARED = """
CREATE STREAM a (ts TIMESTAMP, k BIGINT, v DOUBLE, x STRING) TIMESTAMP BY ts{source};
CREATE STREAM b (ts TIMESTAMP, k BIGINT, v DECIMAL(10, 2)) TIMESTAMP BY ts;
CREATE STREAM c (ts TIMESTAMP, k BIGINT) TIMESTAMP BY ts;
CREATE RELATION r (k BIGINT, w STRING);
CREATE NON RETROACTIVE RELATION n (k BIGINT, w BIGINT);
"""

QUERIES = (
    "SELECT k, SUM(v) AS s FROM a [RANGE 1 MINUTE] WHERE x LIKE 'q%' GROUP BY k",
    "SELECT k, COUNT(*) AS s FROM b [RANGE 1 MINUTE SLIDE 10 SECONDS] GROUP BY k",
    "SELECT a.k, SUM(b.v) AS s FROM a [RANGE 60], b [ROWS 9] WHERE a.k = b.k GROUP BY a.k",
    "SELECT a.x FROM a [RANGE 60], b [RANGE 60], c [RANGE 60] WHERE a.k = b.k AND b.k = c.k",
    "SELECT a.x FROM a, b, c WHERE a.k = b.k AND WINDOW = 5 SECONDS",
    "SELECT DISTINCT a.k, n.w FROM a [RANGE 60], n WHERE a.k = n.k AND a.v > 1.5",
    "SELECT a.k FROM a [RANGE 60] WHERE NOT EXISTS (SELECT * FROM b [RANGE 9] WHERE b.k = a.k)",
    "SELECT a.k FROM a [RANGE 60] WHERE a.k IN (SELECT k FROM b [RANGE 9])",
    "ISTREAM (SELECT a.k, r.w FROM a [PARTITION BY k ROWS 3], r WHERE a.k = r.k)",
    "SELECT k FROM a [RANGE 60] UNION ALL SELECT k FROM b [NOW]",
    "SELECT k FROM a [RANGE 60] EXCEPT SELECT k FROM b [UNBOUNDED]",
    "SELECT k, v FROM a [RANGE 60] ORDER BY v DESC LIMIT 3",
    "RSTREAM (SELECT k, MEDIAN(v) AS m FROM a [RANGE 60 SLIDE 5] GROUP BY k)",
)


AUTO = PlanContext()


def bound(text: str, source: str = "") -> Query:
    session = Session()
    session.execute(f"{DECLARED.format(source=source)}; CREATE QUERY q AS {text}")
    return session.query("q")


def plan_of(query: Query, context: PlanContext = AUTO) -> PhysicalPlan:
    (plan,) = optimize([query], context)
    return plan


def plans(text: str) -> list[PhysicalPlan]:
    """Return the plans of a query under all strategies, in one process and on shards."""
    query = bound(text)
    contexts = [PlanContext(strategy) for strategy in ("auto", "upa", "direct", "negative")]
    contexts += [PlanContext(shards=Folding(mode)) for mode in ("off", "on")]
    return [plan_of(query, context) for context in contexts]


@pytest.mark.parametrize("text", QUERIES)
def test_a_plan_is_read_as_it_was_written(text: str) -> None:
    for plan in plans(text):
        again = plan_from_json(plan_to_json(plan))
        assert again == plan
        assert hash(again) == hash(plan)
        assert again.identity == plan.identity
        assert plan_to_json(again) == plan_to_json(plan)
        opened = [open_plan(p, Interner()).stages for p in (plan, again)]
        assert [(s.label, s.structure, s.inputs) for s in opened[0]] == [
            (s.label, s.structure, s.inputs) for s in opened[1]
        ]


@pytest.mark.parametrize("text", QUERIES)
def test_a_query_has_one_plan(text: str) -> None:
    assert plans(text) == plans(text)


def test_other_queries_have_other_identities() -> None:
    found = [plan_of(bound(text)).identity for text in QUERIES]
    assert len(set(found)) == len(QUERIES)


def test_text_costs_reasons_and_places_are_not_identity() -> None:
    query = bound(QUERIES[3])
    plan = plan_of(query)
    shown = replace(plan.root, label="anything", structure="else", notes=None, logical=None)
    assert replace(plan, root=shown).identity == plan.identity
    assert replace(plan, root=shown) == plan
    moved = bound(QUERIES[3], " USING parquet OPTIONS (path 'elsewhere')")
    assert plan_of(moved).identity == plan.identity


COMPUTING = (
    "SELECT a.x AS x FROM a [RANGE 60], b [RANGE 60] WHERE a.k + 1 = b.k * 2",
    "SELECT a.k + 1 AS k, SUM(b.k * 3) AS s FROM a [RANGE 9], b [RANGE 9] WHERE a.k = b.k + 2"
    " GROUP BY a.k + 1",
    "SELECT a.x AS x FROM a [RANGE 9], b [RANGE 9], c [RANGE 9] WHERE a.k % 5 = b.k + 1 AND"
    " b.k + 1 = c.k",
    "SELECT k, v FROM a [RANGE 60] ORDER BY v * k DESC LIMIT 3",
    "SELECT k % 7 AS g, COUNT(*) AS n FROM (SELECT DISTINCT k FROM a [RANGE 9]) AS d"
    " GROUP BY k % 7",
)


@pytest.mark.parametrize("text", COMPUTING)
def test_how_an_expression_is_printed_is_not_identity(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = [plan.identity for plan in plans(text)]

    def printing(expr: Expr) -> str:
        return f"{format_expr(expr)} in other words"

    for name, module in list(sys.modules.items()):
        if name.startswith("windrow.") and getattr(module, "format_expr", None) is format_expr:
            monkeypatch.setattr(module, "format_expr", printing)
    assert [plan.identity for plan in plans(text)] == known
    assert optimize_notes.format_expr is printing


def test_the_form_of_a_join_that_contributes_says_what_is_aggregated_early() -> None:
    text = "SELECT SUM(b.v) AS t FROM a [RANGE 9], b [RANGE 9], c [RANGE 9] WHERE a.k = b.k AND"
    query = bound(f"{text} b.k = c.k")
    forms = set()
    for early in ("{a,c}", "{b}", "{a,b,c}"):
        named = replace(query, early_aggregation=early)
        plan = plan_of(named, PlanContext(shards=Folding("on", 1)))
        (op,) = (node.op for node in plan.nodes if isinstance(node.op, ContributingJoinOp))
        forms.add(form_of(op))
    assert len(forms) == 3


def test_orders_that_change_while_a_join_runs_are_not_identity() -> None:
    plan = plan_of(bound(QUERIES[3]))
    (at,) = (i for i, n in enumerate(plan.nodes) if isinstance(n.op, MultiJoinOp))
    op = plan.nodes[at].op
    assert isinstance(op, MultiJoinOp)
    other = replace(op, orders=tuple(reversed(op.orders)))
    changed = replace(plan.nodes[at], op=other)
    assert changed != plan.nodes[at]
    assert identities([*plan.nodes[:at], changed])[-1] == identities(plan.nodes)[at]


def test_another_version_of_a_layout_is_another_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    query = bound(QUERIES[0])
    known = plan_of(query).identity
    monkeypatch.setattr(operators.GroupByOp, "layout", StateLayout("groups", 2))
    assert plan_of(query).identity != known


def test_every_operator_can_be_opened() -> None:
    kinds = {k for k in vars(operators).values() if isinstance(k, type) and issubclass(k, Op)}
    assert kinds - {Op, SourceOp, ExchangeOp} == set(FACTORIES)


def test_operators_without_a_layout_store_nothing() -> None:
    without = {kind for kind in FACTORIES if kind.layout is None}
    assert without == set(operators.STATELESS)


@pytest.mark.parametrize(
    "text",
    ["", "{}", '{"version": 9, "objects": [], "root": 1}', to_json((1, 2)), to_json("a").upper()],
)
def test_what_is_no_plan_is_refused(text: str) -> None:
    with pytest.raises(StateError, match="plan"):
        plan_from_json(text)


def test_a_document_names_no_class_from_elsewhere() -> None:
    text = to_json(bound(QUERIES[0]).root.schema)
    with pytest.raises(StateError, match="no class of plans"):
        plan_from_json(text.replace("core.schema:", "cli.main:"))


def program(*queries: str) -> Program:
    named = [f"CREATE QUERY q{n} AS {text}" for n, text in enumerate(queries)]
    script = DECLARED.format(source="") + ";".join(named)
    return Program(script, tuple(f"q{n}" for n in range(len(queries))))


def test_a_start_optimises_each_query_once_and_shards_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[str] = []

    def counting(queries: Sequence[Query], context: PlanContext) -> tuple[PhysicalPlan, ...]:
        counted.extend(query.name for query in queries)
        return optimize(queries, context)

    monkeypatch.setattr(optimized, "optimize", counting)
    started = program(*(QUERIES[n] for n in (0, 1, 2, 3, 6)))
    checkpoint = open_checkpoint(str(tmp_path), started)
    layout, _ = wired(started)
    assert counted == ["q0", "q1", "q2", "q3", "q4"]
    optimized._made.clear()  # as in a fresh process
    use_published_plans(str(tmp_path), checkpoint)
    shard_layout, wirings = wired(started)
    assert counted == ["q0", "q1", "q2", "q3", "q4"]
    assert shard_layout == layout
    assert [w.physical.plan for w in wirings] == list(started.physical())


@pytest.mark.parametrize("damage", ["another window", "another program", "bytes", "nothing"])
def test_plans_that_are_not_the_checkpoints_are_not_used(tmp_path: Path, damage: str) -> None:
    started = program("SELECT k, COUNT(*) AS n FROM a [RANGE 60] GROUP BY k")
    checkpoint = open_checkpoint(str(tmp_path), started)
    right = started.physical()
    file = tmp_path / PLANS
    if damage == "another window":
        text = file.read_text()
        width = str(60 if '"60"' in text or " 60" in text else 60_000_000)
        assert width in text
        file.write_text(text.replace(width, "30"))
    elif damage == "another program":
        other = program("SELECT k FROM a [ROWS 3]")
        file.write_text(optimized.plans_text(other))
    elif damage == "bytes":
        file.write_bytes(b"\xff\xfe" + file.read_bytes()[:100])
    else:
        file.unlink()
    use_published_plans(str(tmp_path), checkpoint)
    assert started.physical() == right
    assert started.fingerprint == checkpoint.fingerprint


@pytest.mark.parametrize("terms", [2, 200])
def test_a_plan_is_written_however_deep_it_is(terms: int) -> None:
    where = " AND ".join(f"k <> {n}" for n in range(terms))
    for text in (
        f"SELECT k FROM a [RANGE 9] WHERE {where}",
        " UNION ALL ".join(f"SELECT k + {n} AS k FROM a [RANGE 9]" for n in range(terms)),
    ):
        plan = plan_of(bound(text))
        read = plan_from_json(plan_to_json(plan))
        assert read.identity == plan.identity


def test_a_choice_by_cost_says_what_the_other_way_would_cost() -> None:
    options = "USING parquet OPTIONS (path 'x', expect_rate '{}', expect_keys '{}')"
    declared = "".join(
        f"CREATE STREAM {name} (ts TIMESTAMP, k BIGINT, g BIGINT) {options.format(rate, keys)}"
        " TIMESTAMP BY ts;"
        for name, rate, keys in (("a", 5_000, 20), ("b", 5_000, 20), ("c", 1, 1_000_000))
    )
    window = "[RANGE 100 SECONDS SLIDE 10 SECONDS]"
    grouped = "SELECT {0}.g, COUNT(*) AS n FROM {0} {2}, {1} {2} WHERE {0}.k = {1}.k GROUP BY {0}.g"
    queries = (
        grouped.format("a", "b", window),
        grouped.format("c", "c AS d", window).replace("c AS d.", "d."),
        f"SELECT k, COUNT(*) AS n FROM a {window} GROUP BY k",
    )
    named = "".join(f"CREATE QUERY q{n} AS {text};" for n, text in enumerate(queries))
    sets = "SET early_aggregation = 'none';"
    for n, folds in enumerate((True, False)):
        (plan,) = Program(f"{sets}{declared}{named}", (f"q{n}",)).physical()
        (folding,) = plan.folded
        costs = folding.facts()["costs"]
        assert isinstance(costs, dict)
        assert (costs["folded"] < costs["as they are"]) is folds
        assert any(isinstance(node.op, ContributeOp) for node in plan.nodes) is folds
    (plan,) = Program(f"{declared}{named}", ("q2",)).physical()
    assert plan.merging is not None
    costs = plan.merging.facts()["costs"]
    assert isinstance(costs, dict)
    assert (costs["merged"] < costs["as they are"]) is bool(plan.partials)
    negation = plan_of(bound(QUERIES[6]))
    (edge,) = (node.notes.facts() for node in negation.nodes if node.notes is not None)
    assert isinstance(edge["costs"], dict)
    assert edge["edge"] == min(edge["costs"], key=edge["costs"].__getitem__)


TEN = tuple(f"s{i}" for i in range(10))


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("SELECT k, SUM(v) AS s FROM s0 [RANGE 60] WHERE v > 3 GROUP BY k", 0.015),  # 0.001
        (
            "SELECT s0.k, SUM(s1.v) AS s FROM s0 [RANGE 9], s1 [RANGE 9] WHERE s0.k = s1.k"
            " GROUP BY s0.k",
            0.015,
        ),  # 0.002
        (
            f"SELECT s0.v FROM {', '.join(f'{n} [RANGE 60]' for n in TEN)} WHERE "
            + " AND ".join(f"{a}.k = {b}.k" for a, b in pairwise(TEN)),
            0.050,
        ),  # 0.014
    ],
)
def test_optimizing_and_opening_take_no_time_that_anybody_notices(text: str, most: float) -> None:
    session = Session()
    streams = (
        f"CREATE STREAM {n} (ts TIMESTAMP, k BIGINT, v BIGINT) TIMESTAMP BY ts;" for n in TEN
    )
    session.execute(f"{''.join(streams)} CREATE QUERY q AS {text}")
    query, taken = session.query("q"), []
    for _ in range(5):
        before = process_time()
        open_plan(plan_of(query), Interner())
        taken.append(process_time() - before)
    assert min(taken) < most
