"""Merges the tuples of a port by pane and group, as Spark does, with DuckDB and a Python loop."""

from __future__ import annotations

import random
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa

from windrow.operators.evaluate import evaluate
from windrow.operators.vector import Bools
from windrow.runtime.shards.ports import FIRST, TIME, TUPLES, Port


@dataclass(frozen=True, slots=True)
class Split:
    """A port's tuples: those that cross as they are, and the rest merged, by port."""

    single: pa.Table
    merged: dict[int, pa.Table]


def split(ports: list[Port], table: pa.Table, frontier: int, chance: random.Random) -> Split:
    """Merge what may be. A group's tuples of a pane may be seen in several places."""
    ts = table[TIME].to_numpy()
    single = (ts < frontier) | ~np.any([_holds(port, table) for port in ports], axis=0)
    for port in ports:
        single |= ~_small(port, table)
    merged = {p.number: _merged(p, table, ~single & _holds(p, table), chance) for p in ports}
    return Split(table.filter(pa.array(single)), {n: t for n, t in merged.items() if len(t)})


def _columns(port: Port, table: pa.Table) -> dict[str, pa.Array]:
    assert port.merges is not None
    given = {n: table[n].combine_chunks() for n in table.column_names}
    made = port.merges.source.columns
    return {c.name: evaluate(c.expr, given, len(table)).cast(c.expr.type) for c in made}


def _holds(port: Port, table: pa.Table) -> Bools:
    assert port.merges is not None
    predicate = port.merges.source.predicate
    if predicate is None:
        return np.ones(len(table), np.bool_)
    given = {n: table[n].combine_chunks() for n in table.column_names}
    truths = evaluate(predicate, given, len(table)).to_pylist()
    return np.array([t is True for t in truths], np.bool_)


def _small(port: Port, table: pa.Table) -> Bools:
    """Tell which tuples have values below the limits of their parts."""
    assert port.merges is not None
    columns, kept = _columns(port, table), np.ones(len(table), np.bool_)
    for part in port.merges.partials.parts:
        if part.limit is not None and part.name in columns:
            values = columns[part.name].to_pylist()
            kept &= np.array([v is None or abs(v) < part.limit for v in values], np.bool_)
    return kept


def _merged(port: Port, table: pa.Table, which: Bools, chance: random.Random) -> pa.Table:
    assert port.merges is not None
    partials = port.merges.partials
    columns = _columns(port, table)
    panes = [partials.pane.of(t) for t in table[TIME].to_pylist()]
    where = [chance.randrange(2) for _ in panes]
    rows = pa.table(
        {
            TIME: table[TIME],
            "enter": pa.array([p[0] for p in panes], pa.int64()),
            "leave": pa.array([p[1] for p in panes], pa.int64()),
            "place": pa.array(where, pa.int64()),
            **columns,
        }
    ).filter(pa.array(which))
    folds = {part.name: part.merge.value for part in partials.parts}
    listed = [f"max({TIME}) AS {TIME}", f"min({TIME}) AS {FIRST}", f"count(*) AS {TUPLES}"]
    listed += [f'{folds[n]}("{n}") AS "{n}"' if n in folds else f'"{n}"' for n in port.schema.names]
    keys = ['"enter"', '"leave"', '"place"', *(f'"{n}"' for n in columns if n not in folds)]
    sql = f"SELECT {', '.join(listed)} FROM rows GROUP BY {', '.join(keys)}"
    with duckdb.connect() as base:
        found = base.register("rows", rows).sql(sql).to_arrow_table()
    types = {TIME: pa.int64(), FIRST: pa.int64(), TUPLES: pa.int64()}
    types |= {f.name: f.type for f in port.schema}
    return found.cast(pa.schema(list(types.items())))
