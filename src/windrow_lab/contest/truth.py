"""The truth that answers are held to: DuckDB over the tuples that are alive at an instant."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from windrow.cli.calibrate.digest import digest, has_digest


def answer_difference(answer: pa.Table, truth: str, alive: Mapping[str, pa.Table]) -> str:
    """Return how an answer differs from a one-time query over the alive tuples; empty if not.

    Both are bags: a row must be there as often.
    """
    import duckdb  # noqa: PLC0415 - not everybody has it

    with duckdb.connect() as connection:
        for name, table in alive.items():
            connection.register(name, table)
        connection.register("emitted", answer)
        names = ", ".join(f'"{name}"' for name in answer.column_names)
        connection.execute(f"CREATE TABLE truth AS {truth}")
        return _bag_difference(
            connection, f"SELECT {names} FROM emitted", f"SELECT {names} FROM truth"
        )


def against_duckdb(
    rows: pa.Table, truth: str, alive: Mapping[str, pa.Table], what: str = "the answer differs"
) -> str:
    """Return how rows differ from DuckDB's, in a sentence; empty if they do not."""
    wrong = answer_difference(rows, truth, alive)
    return f"{what} from DuckDB's: {wrong}" if wrong else ""


def net_difference(one: pa.Table, other: pa.Table) -> str:
    """Return how two changelogs differ in what they net to at some instant; empty if not.

    An insertion and its retraction at one instant do not count. The sums of the signed hashes of
    all rows are compared first: they are equal if the nets are, and else hardly ever.
    """
    if has_digest(one) and has_digest(other) and digest(one) == digest(other):
        return ""
    import duckdb  # noqa: PLC0415 - as above

    with duckdb.connect() as connection:
        connection.register("one", one)
        connection.register("other", other)
        names = ", ".join(f'"{name}"' for name in one.column_names if name != "_sign")
        hashed = f"SELECT SUM(HASH({names})::HUGEINT * _sign) FROM {{}}"
        hashes = [connection.execute(hashed.format(t)).fetchone() for t in ("one", "other")]
        if hashes[0] == hashes[1]:
            return ""
        net = f"SELECT {names}, SUM(_sign) AS n FROM {{}} GROUP BY {names} HAVING SUM(_sign) <> 0"
        return _bag_difference(connection, net.format("one"), net.format("other"))


def _bag_difference(connection: object, one: str, other: str) -> str:
    counts = [
        _number(connection, f"SELECT COUNT(*) FROM (({a}) EXCEPT ALL ({b}))")
        for a, b in ((one, other), (other, one))
    ]
    if not any(counts):
        return ""
    return f"{counts[0]:,} rows should not be there, {counts[1]:,} are missing"


def _number(connection: object, text: str) -> int:
    found = connection.execute(text).fetchone()  # type: ignore[attr-defined]
    return int(found[0])
