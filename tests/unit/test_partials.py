"""Which tuples are merged by pane and group, and what is said of those that are not."""

from __future__ import annotations

import pytest

from windrow.core.errors import BindError
from windrow.physical.plan import PhysicalPlan
from windrow.plan.session import Session
from windrow.runtime.shards.layout import layout_of
from windrow.runtime.shards.program import Program

LOAD = "SELECT k, COUNT(*) AS n, SUM(v) AS t FROM s [RANGE 5 MINUTES SLIDE 1 MINUTE] GROUP BY k"


def said(mode: str, *queries: str, options: str = "") -> list[str]:
    """Return what is said of each query, in order; and check that ports agree with it."""
    names = tuple(f"q{n}" for n in range(len(queries)))
    source = f"USING parquet OPTIONS (path 'x'{options})"
    script = (
        f"SET partials = '{mode}'; CREATE STREAM s (ts TIMESTAMP, k BIGINT, v BIGINT, x DOUBLE, "
        f"d DECIMAL(38, 2), t STRING) {source} TIMESTAMP BY ts;"
    )
    script += "".join(f"CREATE QUERY {n} AS {q};" for n, q in zip(names, queries, strict=True))
    program = Program(script, names)
    layout = layout_of(program)
    found = [merging_of(plan) for plan in program.physical()]
    merged = sum(text.startswith("merged") for text in found)
    assert len(program.merged()) == merged
    assert sum(port.merges is not None for port in layout.ports) == merged
    return found


def merging_of(plan: PhysicalPlan) -> str:
    """Return whether the tuples of a query are merged, and why; "" if they cannot be."""
    return "" if plan.merging is None else plan.merging.notes()[0].removeprefix("tuples are ")


def test_by_default_the_declared_rate_decides() -> None:
    many = ", expect_rate '50000', expect_keys '2000'"
    assert said("auto", LOAD) == ['not merged: "s" declares no expect_rate']
    assert said("auto", LOAD, options=many) == [
        "merged: 3,000,000 tuples a pane are expected in 2,000 groups"
    ]
    (few,) = said("auto", LOAD, options=", expect_rate '10'")
    assert few.startswith("not merged: 600 tuples a pane are expected in 600 groups: too few")
    assert said("off", LOAD, options=many) == ["not merged: partials is off"]
    assert said("on", LOAD) == ["merged: partials is on"]


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("SUM(x)", "Spark would round sums of doubles"),
        ("AVG(x)", "Spark would round the sums of AVG"),
        ("AVG(d)", "Spark would round the sums of AVG"),
        ("SUM(d)", "sums of 38 digits may have more than 38"),
        ("COUNT(DISTINCT v)", "COUNT(DISTINCT ...) needs the values"),
        ("MEDIAN(v)", "MEDIAN needs the values"),
        ("MAX(t)", "Spark would sort all tuples to find the MAX of a text"),
        ("COUNT(UPPER(t))", "Catalyst cannot compute UPPER(s.t)"),
    ],
)
def test_what_is_not_exact_in_spark_is_not_merged(call: str, reason: str) -> None:
    query = f"SELECT k, {call} AS c FROM s [TUMBLE 1 MINUTE] GROUP BY k"
    assert said("on", query) == [f"not merged: {reason}"]


@pytest.mark.parametrize("window", ["[RANGE {} SLIDE 7]", "[RANGE 7 SLIDE {}]", "[TUMBLE {}]"])
def test_windows_that_end_beyond_all_numbers_are_not_merged(window: str) -> None:
    def merging(width: int) -> str:
        query = f"SELECT k, COUNT(*) AS n FROM s {window.format(width)} GROUP BY k"
        script = "SET partials = 'on'; CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts;"
        (plan,) = Program(f"{script} CREATE QUERY q AS {query};", ("q",)).physical()
        return merging_of(plan)

    assert merging(2**61) == "merged: partials is on"
    assert merging(2**61 + 1) == "not merged: Spark has no numbers for its windows' ends"


def test_tuples_that_others_need_are_not_merged() -> None:
    every = "SELECT DISTINCT k FROM s [RANGE 1 MINUTE]"
    other = "SELECT DISTINCT v FROM s [RANGE 1 MINUTE]"
    needed = 'query "q1" needs the same tuples as they are'
    assert said("on", LOAD, every) == [f"not merged: {needed}", ""]
    assert said("on", LOAD, other) == ["merged: partials is on", ""]
    (why, _) = said("auto", LOAD, other, options=", expect_rate '50000'")
    assert why == 'not merged: query "q1" needs the tuples of "s" as they are'
    assert said("on", LOAD, LOAD.replace("1 MINUTE", "2 MINUTES")) == ["merged: partials is on"] * 2


def test_without_slide_nothing_is_said() -> None:
    assert said("on", "SELECT k, COUNT(*) AS n FROM s [RANGE 1 MINUTE] GROUP BY k") == [""]


@pytest.mark.parametrize("text", ["many", "0", "-3", "inf"])
def test_a_bad_rate_is_refused(text: str) -> None:
    with pytest.raises(BindError, match="expect_rate"):
        said("auto", LOAD, options=f", expect_rate '{text}'")


def test_a_bad_setting_is_refused() -> None:
    with pytest.raises(BindError, match="partials cannot be maybe"):
        Session().execute("SET partials = maybe")
