"""EXPLAIN shows each step in the words of the language, and the pattern of each edge."""

import json

import pytest

from windrow.core.schema import Field, Schema
from windrow.core.time import Clock
from windrow.core.types import BIGINT, STRING, TIMESTAMP
from windrow.plan.catalog import Relation, Stream
from windrow.plan.explain import explain_dot, explain_json, explain_mermaid, explain_text
from windrow.plan.expressions import Call, Column, Literal
from windrow.plan.labels import label_of
from windrow.plan.nodes import (
    Aggregate,
    AggregateCall,
    AntiJoin,
    Band,
    Delay,
    Distinct,
    Except,
    Filter,
    Intersect,
    Istream,
    Join,
    JoinOn,
    Named,
    NrrJoin,
    Plan,
    Project,
    Query,
    Refresh,
    Rstream,
    Scan,
    SemiJoin,
    SortKey,
    Table,
    TopN,
    UnionAll,
    Window,
)
from windrow.plan.windows import PartitionRows, Range, Rows, Since, Unbounded, Until

MINUTE = 60_000_000
COLUMNS = Schema((Field("ts", TIMESTAMP), Field("src", STRING), Field("bytes", BIGINT)))


def link(name: str, alias: str) -> Scan:
    return Scan(Stream(name, COLUMNS, "ts", Clock.TIMESTAMP), alias)


def column(name: str) -> Column:
    return Column(name, BIGINT if name.endswith("bytes") else STRING)


L, R = link("link1", "l"), link("link2", "link2")
L5, R5 = Window(L, Range(5 * MINUTE)), Window(R, Range(5 * MINUTE))
SAME_SOURCE = JoinOn((column("l.src"),), (column("link2.src"),))
HOSTS = Schema((Field("src", STRING), Field("owner", STRING)))
OWNED = JoinOn((column("l.src"),), (column("h.src"),))
BIG = Call("gt", (column("l.bytes"), Literal(100, BIGINT)), BIGINT)
COUNT = AggregateCall("n", "count", (), BIGINT)
QUIET = Query(
    Distinct(Project(AntiJoin(L5, R5, SAME_SOURCE), (Named("src", column("l.src")),))),
    text="SELECT DISTINCT ...",
    name="quiet",
)


def test_the_text_tree_has_a_pattern_and_a_reason_beside_each_step() -> None:
    window = "WKS  time window: every tuple lives equally long (5 MINUTES)"
    assert explain_text(QUIET).splitlines() == [
        "quiet                                   STR",
        "└─ Distinct                             STR  rule 3: the input is already strict",
        "   └─ Project l.src                     STR  "
        "rule 1: drops or maps tuples, keeps lifetimes",
        "      └─ AntiJoin on l.src = link2.src  STR  "
        "rule 4: a later arrival on the right retracts a result",
        f"         ├─ Window RANGE 5 MINUTES      {window}",
        "         │  └─ Stream link1 AS l        MON  a stream only grows",
        f"         └─ Window RANGE 5 MINUTES      {window}",
        "            └─ Stream link2             MON  a stream only grows",
    ]


def test_without_patterns_only_the_steps_remain() -> None:
    assert explain_text(QUIET, patterns=False).splitlines()[:2] == ["quiet", "└─ Distinct"]


def test_a_long_label_does_not_push_the_patterns_of_others_away() -> None:
    wide = Project(L5, tuple(Named(f"column_{i}", column("l.src")) for i in range(20)))
    lines = explain_text(Query(wide, name="wide")).splitlines()
    assert lines[0].index("WKS") < 40
    assert "  WKS  rule 1" in lines[1]


def test_the_order_of_the_answer_is_told_beside_the_name() -> None:
    query = Query(L5, order=(SortKey(column("l.bytes"), True, False),))
    assert explain_text(query).startswith("query (shown by l.bytes DESC)")


def test_json_holds_the_same_steps_and_survives_a_round_trip() -> None:
    found = json.loads(json.dumps(explain_json(QUIET)))
    assert (found["query"], found["clock"]) == ("quiet", "µs")
    window = found["plan"]["inputs"][0]["inputs"][0]["inputs"][0]
    assert window["label"] == "Window RANGE 5 MINUTES"
    assert window["pattern"]["lifetime"] == 5 * MINUTE
    assert window["columns"][1] == {"name": "l.src", "type": "STRING", "nullable": True}
    assert "pattern" not in json.dumps(explain_json(QUIET, patterns=False))


def test_graphviz_has_an_edge_for_every_node() -> None:
    lines = explain_dot(QUIET).splitlines()
    assert lines[0] == 'digraph "quiet" {'
    assert sum(" -> " in line for line in lines) == 7
    assert '  n4 [label="Window RANGE 5 MINUTES"];' in lines
    assert any(line.startswith('  n4 -> n3 [label="WKS\\n') for line in lines)
    assert "WKS" not in explain_dot(QUIET, patterns=False)


def test_mermaid_escapes_what_it_would_read_as_its_own() -> None:
    text = explain_mermaid(Query(Filter(L5, BIG), name="big"))
    assert '  n1["Filter l.bytes #gt; 100"]' in text.splitlines()
    assert '  n1 -->|"WKS: rule 1' in text
    assert "n1 --> n0" in explain_mermaid(Query(Filter(L5, BIG)), patterns=False)


@pytest.mark.parametrize(
    ("plan", "label"),
    [
        (Window(L, Range(1)), "Window NOW"),
        (Window(L, Rows(10)), "Window ROWS 10"),
        (Window(L, Rows(10, 5)), "Window ROWS 10 SLIDE 5"),
        (Window(L, PartitionRows(("l.src",), 3)), "Window PARTITION BY l.src ROWS 3"),
        (Window(L, Unbounded()), "Window UNBOUNDED"),
        (Window(L, Since(0)), "Window SINCE '1970-01-01 00:00:00'"),
        (Window(L, Until(("x", "y"))), "Window until the first of x, y"),
        (Filter(L5, BIG), "Filter l.bytes > 100"),
        (Project(L5, (Named("who", column("l.src")),)), "Project l.src AS who"),
        (Join(L5, R5, SAME_SOURCE), "Join on l.src = link2.src"),
        (Join(L5, R5), "Cross join"),
        (
            Join(L5, R5, JoinOn(bands=(Band("l.ts", "link2.ts", 1 - MINUTE, MINUTE - 1),))),
            "Join on |link2.ts - l.ts| < 1 MINUTE",
        ),
        (
            Join(L5, R5, JoinOn(bands=(Band("l.ts", "link2.ts", 0, MINUTE - 1),))),
            "Join on 0 <= link2.ts - l.ts < 1 MINUTE",
        ),
        (
            Join(L5, R5, JoinOn(bands=(Band("l.ts", "link2.ts", 1 - MINUTE, 0),))),
            "Join on 0 <= l.ts - link2.ts < 1 MINUTE",
        ),
        (
            Join(L5, R5, JoinOn(bands=(Band("l.ts", "link2.ts", MINUTE, 2 * MINUTE),))),
            "Join on 1 MINUTE <= link2.ts - l.ts <= 2 MINUTES",
        ),
        (
            Join(L5, R5, JoinOn(SAME_SOURCE.left_keys, SAME_SOURCE.right_keys, residual=BIG)),
            "Join on l.src = link2.src AND l.bytes > 100",
        ),
        (Join(L5, Table(Relation("hosts", HOSTS), "h"), OWNED), "Join on l.src = h.src"),
        (
            NrrJoin(L5, Table(Relation("hosts", HOSTS, retroactive=False), "h"), OWNED),
            "Join as of the tuple's time on l.src = h.src",
        ),
        (Table(Relation("hosts", HOSTS), "h"), "Relation hosts AS h"),
        (
            Table(Relation("hosts", HOSTS, retroactive=False), "hosts"),
            "Non retroactive relation hosts",
        ),
        (SemiJoin(L5, R5, SAME_SOURCE), "SemiJoin on l.src = link2.src"),
        (
            AntiJoin(L5, R5, SAME_SOURCE, null_aware=True),
            "AntiJoin (NOT IN) on l.src = link2.src",
        ),
        (UnionAll((L5, R5)), "Union all"),
        (Intersect(L5, R5), "Intersect"),
        (Except(L5, R5, all=True), "Except all"),
        (
            Aggregate(L5, (Named("src", column("l.src")),), (COUNT,)),
            "Aggregate by l.src: COUNT(*) AS n",
        ),
        (
            Aggregate(
                L5,
                (),
                (AggregateCall("d", "count", (column("l.src"),), BIGINT, True, BIG),),
            ),
            "Aggregate: COUNT(DISTINCT l.src) FILTER (WHERE l.bytes > 100) AS d",
        ),
        (
            TopN(L5, (SortKey(column("l.bytes"), True, True),), 10, 5),
            "TopN ORDER BY l.bytes DESC NULLS FIRST LIMIT 10 OFFSET 5",
        ),
        (Refresh(L5, MINUTE, restore=True), "Refresh SLIDE 1 MINUTE RESTORE"),
        (Istream(L5), "Istream"),
        (Rstream(Refresh(L5, MINUTE)), "Rstream"),
        (Delay(Istream(L5), MINUTE), "Delay to SLIDE 1 MINUTE"),
    ],
)
def test_a_step_is_told_in_the_words_of_the_language(plan: Plan, label: str) -> None:
    assert label_of(plan, Clock.TIMESTAMP) == label
