"""Rows that are alive at the instant of a handover.

An ISTREAM made from insertions can replace one made from changes, and the other way round:

    from changes      +a@7 waits until 7 is over, as something may cancel it
    from insertions   +a@7 is emitted at 7     (`optimize/physical/streams.py` says where)

A plan has the second form only for queries in which nothing that appears at an instant expires at
it. So the insertions of the open instant are certain in either plan: if the first form is replaced,
what waits in it is emitted at the switch; if it replaces the second, it has nothing to wait for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windrow.core.schema import Field, Schema
from windrow.core.time import FOREVER
from windrow.core.types import BIGINT
from windrow.operators.codec import RowCodec
from windrow.operators.dataflow import Dataflow, Stage
from windrow.operators.delta import NO_TIMES, Delta
from windrow.operators.expire import InsertionsTask
from windrow.operators.handover.places import RelationPlace
from windrow.operators.state.key_table import KeyTable
from windrow.operators.streams import IstreamTask
from windrow.operators.vector import I64, Bools, Vector, empty_data


def differs_in_istream(old: Stage, new: Stage) -> bool:
    """Return whether one root makes ISTREAM from changes, the other from insertions."""
    return {type(old.task), type(new.task)} == {InsertionsTask, IstreamTask}


def pending_insertions(old: Dataflow, new: Dataflow) -> Delta | None:
    """Return the insertions that wait in the old plan and not in the new one, if any."""
    task = old.root.task
    if isinstance(task, IstreamTask) and differs_in_istream(old.root, new.root):
        return task.waiting()
    return None


@dataclass(frozen=True, slots=True)
class Deposit:
    """Live rows of a place that no operator below knows of, with the columns that are known.

    `spare` are those of the columns that can be computed anew from the others.
    """

    place: RelationPlace
    rows: Delta
    spare: frozenset[str] = frozenset()


def nothing(stage: Stage) -> Delta:
    """Return no rows, as they travel on the edge that leaves a stage."""
    empty = Delta.empty(stage.schema, signed=stage.signed and not stage.partly_signed)
    return Delta(NO_TIMES, empty.columns, NO_TIMES) if stage.partly_signed else empty


def alive(rows: Delta, clock: int) -> Delta:
    """Return the rows that have not ended by `clock`."""
    return rows if rows.exp is None else rows.take(np.flatnonzero(rows.exp > clock))


def in_order(rows: Delta) -> Delta:
    """Return the rows in an order in which they may have come: of one time, first to end first."""
    if rows.exp is None:
        return rows.take(np.argsort(rows.ts, kind="stable"))
    return rows.take(np.lexsort((rows.exp, rows.ts)))


def minus(rows: Delta, known: Delta, schema: Schema) -> Delta:
    """Return `rows` without those that are known: as many copies as are left, one by one.

    Rows are compared by the columns of `rows`, and by their ends if these are known.
    """
    rows = one_by_one(rows)
    return rows.take(np.flatnonzero(~_among(rows, known, schema)))


def common(rows: Delta, known: Delta, schema: Schema) -> Delta:
    """Return those of `rows` that are known, at most as many copies of each, one by one."""
    rows = one_by_one(rows)
    return rows.take(np.flatnonzero(_among(rows, known, schema)))


def _among(rows: Delta, known: Delta, schema: Schema) -> Bools:
    """Return which rows are known: of equal ones the first, as many as there are copies."""
    if not len(rows) or not len(known):
        return np.zeros(len(rows), np.bool_)
    fields = tuple(schema[name] for name in rows.columns)
    table = KeyTable(_codec(fields).width)
    codes = table.encode(_words(rows, fields))
    found = table.find(_words(known, fields))
    there = np.zeros(len(table), np.int64)
    np.add.at(there, found[found >= 0], known.weights()[found >= 0])
    found_among: Bools = _ranks(codes) < there[codes]
    return found_among


def _codec(fields: tuple[Field, ...]) -> RowCodec:
    return RowCodec((*fields, Field("#exp", BIGINT, nullable=False)))


def _words(rows: Delta, fields: tuple[Field, ...]) -> I64:
    exp = np.zeros(len(rows), np.int64) if rows.exp is None else rows.exp
    columns = [*(rows.columns[f.name] for f in fields), Vector(BIGINT, exp)]
    return _codec(fields).words(columns, len(rows))


def _ranks(codes: I64) -> I64:
    """Return how many equal codes stand before each."""
    order = np.argsort(codes, kind="stable")
    first = np.searchsorted(codes[order], codes[order])
    ranks = np.empty(len(codes), np.int64)
    ranks[order] = np.arange(len(codes)) - first
    return ranks


def one_by_one(rows: Delta) -> Delta:
    """Return each copy as a row of its own."""
    if rows.weight is None:
        return rows
    taken = rows.take(np.repeat(np.arange(len(rows)), rows.weight))
    return Delta(taken.ts, taken.columns, taken.exp)


def fitted(rows: Delta, stage: Stage) -> Delta:
    """Return rows, one by one, as they travel on the edge that leaves a stage.

    Columns that are not known are those that nobody above reads.
    """
    columns = {f.name: rows.columns.get(f.name) or _blank(f, len(rows)) for f in stage.schema}
    if stage.signed and not stage.partly_signed:
        return Delta(rows.ts, columns)
    exp = np.full(len(rows), FOREVER) if rows.exp is None else rows.exp
    return Delta(rows.ts, columns, exp)


def _blank(column: Field, rows: int) -> Vector:
    return Vector(column.type, np.zeros_like(empty_data(column.type, rows)))


def merged(first: Delta, second: Delta) -> Delta:
    """Return the rows of both, in order."""
    return in_order(Delta.concat([first, second]))


def returned(ends: Delta, clock: int) -> Delta:
    """Return the rows whose expirations after `clock` these retractions are."""
    copies = np.repeat(np.arange(len(ends)), -ends.weights())
    gone = ends.take(copies)
    return Delta(np.full(len(gone), clock), gone.columns, gone.ts)


def departures(rows: Delta, stage: Stage) -> Delta:
    """Return the expirations of rows as retractions on the signed edge above a stage."""
    assert rows.exp is not None
    ending = np.flatnonzero(rows.exp < FOREVER)
    leaving = rows.take(ending[np.argsort(rows.exp[ending], kind="stable")])
    columns = fitted(leaving, stage).columns
    assert leaving.exp is not None
    return Delta(leaving.exp, columns, None, np.full(len(leaving), -1))
