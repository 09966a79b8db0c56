"""The six workloads: a query, what Polars and plain Python have against it, how to compare."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import polars as pl

from windrow_lab.bench import plain_twins as twins
from windrow_lab.bench import polars_forms as forms
from windrow_lab.bench.answers import (
    Check,
    SameAtArrivals,
    SameGroups,
    SameNet,
    SameRows,
    states_of_changes,
    states_of_refreshes,
    states_of_sparse,
)
from windrow_lab.bench.data import Scale

Form = Callable[[forms.Frames, Scale], Iterator[pl.DataFrame]]
Twin = Callable[[list[twins.Arrival], Scale], list[twins.Change]]
Schema = dict[str, pl.DataType | type[pl.DataType]]


@dataclass(frozen=True, slots=True)
class Workload:
    """A query and its opponents. The first of `forms` is the one that the bar is about."""

    name: str
    text: str
    reads: tuple[str, ...]
    columns: Schema
    forms: tuple[Form, ...]
    twin: Twin
    check: Callable[[Scale], Check]
    check_twin: Callable[[Scale], Check]
    per_tuple: str = ""

    def sql(self, scale: Scale, text: str = "") -> str:
        """Return the query with the windows of a scale."""
        window = f"{scale.window} MILLISECONDS"
        slide = f"SLIDE {scale.slide} MILLISECONDS"
        return (text or self.text).format(window=window, slide=slide)

    def twin_frame(self, changes: list[twins.Change]) -> pl.DataFrame:
        """Return the twin's changes as a frame of the changelog's columns."""
        schema: Schema = {"_ts": pl.Int64, "_sign": pl.Int8, **self.columns}
        times = [name for name, type_ in schema.items() if type_ == forms.TIME]
        schema.update(dict.fromkeys(times, pl.Int64))
        frame = pl.DataFrame(changes, orient="row", schema=schema)
        return frame.with_columns(pl.col("_ts", *times).cast(forms.TIME))


def of_changes(_scale: Scale) -> Check:
    """Compare groups with another changelog."""
    return SameGroups(states_of_changes)


def of_refreshes(scale: Scale) -> Check:
    """Compare groups with rows emitted at every refresh."""
    return SameGroups(partial(states_of_refreshes, scale=scale))


def of_sparse(_scale: Scale) -> Check:
    """Compare groups with rows emitted where they may have changed."""
    return SameGroups(states_of_sparse)


def of_arrivals(_scale: Scale) -> Check:
    """Compare the insertions at arrivals."""
    return SameAtArrivals()


def of_nets(_scale: Scale) -> Check:
    """Compare net changelogs."""
    return SameNet()


PAIR: Schema = {
    "ts": forms.TIME,
    "k": pl.Int64,
    "src": pl.String,
    "v": pl.Float64,
    "bts": forms.TIME,
    "bsrc": pl.String,
    "bv": pl.Float64,
}
GROUP: Schema = {"src": pl.String, "n": pl.Int64, "s": pl.Float64, "m": pl.Float64}
KEY: Schema = {"k": pl.Int64}
JOIN_GROUP = (
    "SELECT a.src, COUNT(*) AS n, SUM(b.v) AS s FROM a [RANGE {window}%s], b [RANGE {window}%s] "
    "WHERE a.k = b.k GROUP BY a.src"
)


def of_pairs(_scale: Scale) -> Check:
    """Compare bags of joined rows."""
    return SameRows(tuple(PAIR))


WORKLOADS = (
    Workload(
        name="join",
        text="ISTREAM(SELECT a.ts, a.k, a.src, a.v, b.ts AS bts, b.src AS bsrc, b.v AS bv "
        "FROM a, b WHERE a.k = b.k AND WINDOW(a, b) = {window})",
        reads=("a", "b"),
        columns=PAIR,
        forms=(forms.join,),
        twin=twins.join,
        check=of_pairs,
        check_twin=of_pairs,
    ),
    Workload(
        name="group",
        text="SELECT src, COUNT(*) AS n, SUM(v) AS s, MAX(v) AS m FROM a [RANGE {window}] "
        "GROUP BY src",
        reads=("a",),
        columns=GROUP,
        forms=(forms.group, forms.group_by_columns),
        twin=twins.group,
        check=of_arrivals,
        check_twin=of_changes,
    ),
    Workload(
        name="group_slide",
        text="SELECT src, COUNT(*) AS n, SUM(v) AS s, MAX(v) AS m FROM a [RANGE {window} {slide}] "
        "GROUP BY src",
        reads=("a",),
        columns=GROUP,
        forms=(forms.group_slide,),
        twin=twins.group_slide,
        check=of_refreshes,
        check_twin=of_changes,
    ),
    Workload(
        name="distinct",
        text="SELECT DISTINCT k FROM a [RANGE {window}]",
        reads=("a",),
        columns=KEY,
        forms=(forms.distinct, forms.distinct_packed),
        twin=twins.distinct,
        check=of_nets,
        check_twin=of_nets,
    ),
    Workload(
        name="negation",
        text="SELECT k FROM a [RANGE {window}] "
        "WHERE NOT EXISTS (SELECT * FROM b [RANGE {window}] WHERE b.k = a.k)",
        reads=("a", "b"),
        columns=KEY,
        forms=(forms.negation, forms.negation_packed),
        twin=twins.negation,
        check=of_nets,
        check_twin=of_nets,
    ),
    Workload(
        name="join_group",
        text=JOIN_GROUP % (" {slide}", " {slide}"),
        reads=("a", "b"),
        columns={name: GROUP[name] for name in ("src", "n", "s")},
        forms=(forms.join_group,),
        twin=twins.join_group,
        check=of_sparse,
        check_twin=of_changes,
        per_tuple=JOIN_GROUP % ("", ""),
    ),
)
