"""State that this windrow cannot read is refused in words: by FORMAT, and by the plan it is of."""

import pytest

from windrow.core.errors import StateError
from windrow.runtime.shards import program
from windrow.runtime.shards.program import FORMAT, Program
from windrow.runtime.shards.shard import Shard

SCRIPT = """
CREATE STREAM a (ts BIGINT, k BIGINT, v STRING) TIMESTAMP BY ts;
CREATE STREAM b (ts BIGINT, k BIGINT) TIMESTAMP BY ts;
CREATE RELATION r (k BIGINT PRIMARY KEY) USING parquet OPTIONS (path 'x', updates 'stream');
CREATE QUERY m AS SELECT k, MEDIAN(ts) AS m FROM a [RANGE 100] GROUP BY k;
CREATE QUERY p AS SELECT a.v FROM a [RANGE 100] JOIN r ON a.k = r.k;
CREATE QUERY q AS
    SELECT a.v FROM a [RANGE 100], b [RANGE 100] WHERE a.k = b.k{band};
"""
BAND = " AND WINDOW(a, b) = 30"

PARTS = {
    8: {
        "band": "keys(heads layout table(free hashes layout meta words))"
        " left(at form free layout lines(codes exp keep newer older times) payload)"
        " right(at form free layout lines(codes exp keep newer older times) payload)",
        "median": "bags(layout meta roots words) layout",
        "query": "agendas buffers clock counters delays due flow followed interner pace plan since"
        " start watches",
        "upserts": "current(rows since) ended(rows since)",
    }
}
"""What state consists of, by FORMAT. Where a test fails for it, raise FORMAT with the new parts."""


def shard(band: str = BAND, settings: str = "") -> Shard:
    return Shard(Program(settings + SCRIPT.format(band=band), ("q", "p", "m"), shards=1), 0)


def parts(saved: dict[str, object]) -> str:
    """Return the names in it; of columns, which are the user's, only that there are some."""
    said = []
    for name in sorted(saved):
        inner = saved[name]
        nested = isinstance(inner, dict) and name != "payload"
        said.append(f"{name}({parts(inner)})" if nested else name)  # type: ignore[arg-type]
    return " ".join(said)


def test_other_parts_of_state_are_another_format() -> None:
    saved = shard().save()
    query, _, grouped = saved["queries"]  # type: ignore[misc]
    ((_, upserts),) = saved["upserts"]  # type: ignore[misc]
    (band,) = (t for t in query["flow"]["flow"]["tasks"] if t and "left" in t)
    (folds,) = (t["folds"] for t in grouped["flow"]["flow"]["tasks"] if t and "folds" in t)
    found = {
        "band": parts(band),
        "median": parts(folds[0]),
        "query": " ".join(sorted(query)),
        "upserts": parts(upserts),
    }
    assert found == PARTS.get(FORMAT)


def test_state_of_the_same_plan_is_taken_over() -> None:
    shard().load(shard().save())


def test_state_of_another_plan_is_refused() -> None:
    with pytest.raises(StateError, match='state of query "q" is that of another plan'):
        shard().load(shard(" AND a.ts > 5").save())


def test_another_format_is_another_program(monkeypatch: pytest.MonkeyPatch) -> None:
    known = shard().program.fingerprint
    monkeypatch.setattr(program, "FORMAT", FORMAT - 1)
    assert shard().program.fingerprint != known


def test_a_pace_goes_on_from_state_without_one_and_the_other_way_round() -> None:
    """A stream with a heartbeat ticks in either case."""
    paced = "SET expiry_pace = 3; "
    shard(settings=paced).load(shard().save())
    shard().load(shard(settings=paced).save())
