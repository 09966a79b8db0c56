"""The seven workloads: a continuous query each, and the rows that a peer gives in its place.

windrow's answer is a changelog, and is held against Polars' whole one. A peer emits rows: most
have windrow's meaning, written once; where a peer's differs, `Rows.meaning` says how, and Polars
computes just that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import polars as pl
import pyarrow as pa

from windrow_lab.bench import polars_forms
from windrow_lab.bench import workloads as kernel
from windrow_lab.bench.answers import Check, SameGroups, SameRows, states_of_refreshes
from windrow_lab.bench.data import Scale
from windrow_lab.bench.polars_forms import Frames
from windrow_lab.peers import rows

Form = Callable[[Frames, Scale], Iterator[pl.DataFrame]]


@dataclass(frozen=True, slots=True)
class Task:
    """A workload: the query, Polars' way to the same, and the rows that peers emit."""

    name: str
    title: str
    text: str
    reads: tuple[str, ...]
    form: Form
    check: Callable[[Scale], Check]
    output: rows.Rows

    def sql(self, scale: Scale) -> str:
        """Return the query with the windows of a scale."""
        window = f"{scale.window} MILLISECONDS"
        return self.text.format(window=window, slide=f"SLIDE {scale.slide} MILLISECONDS")


@dataclass(slots=True)
class SameCounts:
    """Compares groups that have a count only: it stands for the sum as well."""

    scale: Scale
    inner: SameGroups = field(init=False)

    def __post_init__(self) -> None:
        self.inner = SameGroups(lambda frame: states_of_refreshes(frame, self.scale))

    def take_changes(self, changes: pa.Table) -> None:
        """Take a piece of windrow's changelog."""
        n = changes.schema.names.index("n")
        self.inner.take_changes(changes.append_column("s", changes.column(n).cast(pa.float64())))

    def take_other(self, frame: pl.DataFrame) -> None:
        """Take rows (ts, src, n), emitted at every refresh."""
        self.inner.take_other(frame.with_columns(s=pl.col("n").cast(pl.Float64)))

    def difference(self) -> str:
        """Compare the states."""
        return self.inner.difference()


TRIPLE = ("k", "ats", "bts", "cts", "av", "bv", "cv")


def of_triples(_scale: Scale) -> Check:
    """Compare bags of joined rows."""
    return SameRows(TRIPLE)


def from_kernel(name: str, title: str, of: str, output: rows.Rows) -> Task:
    """Return a workload of the kernel bars under the name that it has here."""
    found = next(work for work in kernel.WORKLOADS if work.name == of)
    return Task(name, title, found.text, found.reads, found.forms[0], found.check, output)


TASKS = (
    from_kernel("W1", "window join", "join", rows.PAIRS),
    from_kernel("W2", "COUNT, SUM, MAX per key, 60 s SLIDE 1 s", "group_slide", rows.REFRESHES),
    from_kernel("W3", "the same per tuple", "group", rows.ARRIVALS),
    Task(
        "W4",
        "count distinct per key, 60 s SLIDE 1 s",
        "SELECT src, COUNT(DISTINCT k) AS n FROM a [RANGE {window} {slide}] GROUP BY src",
        ("a",),
        rows.count_distinct,
        SameCounts,
        rows.COUNTS,
    ),
    from_kernel("W5", "window negation", "negation", rows.FREE),
    from_kernel("W6", "window join, then COUNT, SUM per key", "join_group", rows.PAIR_GROUPS),
    Task(
        "W7",
        "three-way window join",
        "ISTREAM(SELECT a.k AS k, a.ts AS ats, b.ts AS bts, c.ts AS cts, a.v AS av, b.v AS bv, "
        "c.v AS cv FROM a, b, c WHERE a.k = b.k AND b.k = c.k AND WINDOW = {window})",
        ("a", "b", "c"),
        rows.three_way,
        of_triples,
        rows.TRIPLES,
    ),
)

POLARS: dict[str, Form] = {task.name: task.form for task in TASKS} | {
    "W3": polars_forms.group_by_columns
}
"""Polars' fastest form of each workload: what is timed."""
