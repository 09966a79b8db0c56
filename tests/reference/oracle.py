"""The oracle: the slow, plain truth that every engine, strategy and plan is checked against.

It evaluates the defining equations of the plan's nodes literally, in DuckDB, over whole
histories: Q(τ) is SQL over what is alive at τ (`oracle_sql`). It shares nothing with the
engine but the plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tests.reference import oracle_sql as sql
from tests.reference.histories import Change, Row, World, same_rows
from tests.reference.oracle_tables import Tables
from windrow.core.schema import Field, Schema
from windrow.core.types import BIGINT
from windrow.plan.nodes import Plan, Query, is_stream

__all__ = ["Oracle", "same_rows"]


class Oracle:
    """What `query` answers in `world`.

    `until` is the last instant of interest. Only a stream of whole answers (`Rstream`)
    needs it, as that never ends by itself: without `until` it ends with the first refresh
    after the last change. `begins` is when a query begins that is registered over relations with
    rows: no later than then.
    """

    def __init__(
        self,
        query: Plan | Query,
        world: World,
        *,
        until: int | None = None,
        begins: int | None = None,
    ) -> None:
        self._root = query.root if isinstance(query, Query) else query
        self._tables = Tables(self._root, world, until, begins)
        self._answers: dict[int, Counter[Row]] = {}

    def instants(self) -> list[int]:
        """Every instant at which the answer can change, and perhaps more, ascending."""
        return list(self._tables.instants(self._root))

    def answer(self, at: int) -> Counter[Row]:
        """Q(at). Of a stream: all its tuples up to and at `at`."""
        if at not in self._answers:
            asked = {at, *self.instants()} if not self._answers else {at}
            self._answers |= self.answers(asked)
        return self._answers[at].copy()

    def answers(self, at: Iterable[int]) -> dict[int, Counter[Row]]:
        """Q at each of these instants, evaluated together: far quicker than one by one."""
        instants = tuple(sorted(set(at)))
        if is_stream(self._root):
            tuples = self.changes()
            return {i: Counter(row for ts, _, row in tuples if ts <= i) for i in instants}
        answers: dict[int, Counter[Row]] = {i: Counter() for i in instants}
        table = self._tables.relation(self._root, instants)
        for i, _, row in self._fetch("__at", "1", table, "__at"):
            answers[i][row] += 1
        return answers

    def changes(self) -> list[Change]:
        """The net changelog in time order, deletions first, then by values.

        It begins with the empty answer: at the first instant all of Q comes. Of a stream:
        its tuples in its order, all with sign +1.
        """
        if is_stream(self._root):
            rows = self._fetch("__ts", "1", self._tables.stream(self._root), "__ts, __seq")
        else:
            order = sql.listed("__ts", "__n > 0", sql.order_sql(self._root.schema))
            rows = self._fetch("__ts", "__n", self._tables.changes(self._root), order)
        return [(ts, 1 if n > 0 else -1, row) for ts, n, row in rows for _ in range(abs(n))]

    def _fetch(self, time: str, count: str, table: str, order: str) -> list[tuple[int, int, Row]]:
        """Read (time, count, row) from one of the root's tables."""
        schema = self._root.schema
        head = sql.listed(time, f"{count} AS __n", sql.columns_sql(schema))
        hidden = Schema((Field("__time", BIGINT), Field("__n", BIGINT)))
        rows = self._tables.fetch(f"SELECT {head} FROM {table} ORDER BY {order}", hidden + schema)
        return [(row[0], row[1], row[2:]) for row in rows]  # type: ignore[misc]
