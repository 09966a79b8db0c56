"""State that is declared as fields is saved, loaded, measured and checked by the declaration."""

import re
from collections.abc import Iterator

import numpy as np
import pytest

import windrow.operators.open  # noqa: F401 - with all operators
from windrow.core.errors import StateError
from windrow.core.schema import Field, Schema
from windrow.core.types import BIGINT, STRING
from windrow.operators.state.fields import (
    OF_OWNER,
    ArrayField,
    NestedField,
    ScalarField,
    ScratchField,
    State,
    StateLayout,
)
from windrow.operators.state.key_table import KeyTable, TableField
from windrow.operators.state.saved import from_bytes, to_bytes


class Sums(State):
    stored_as = StateLayout("sums")
    state_fields = (ArrayField("values", length=OF_OWNER),)

    def __init__(self) -> None:
        self.values = np.zeros(4, np.int64)


class Counted(State):
    stored_as = StateLayout("counted", 2)
    state_fields = (
        TableField("table", fields="schema"),
        ArrayField("counts", length="table.entries", room="table.capacity", fill=-1),
        ScratchField("marks", room="table.capacity", fill=-1),
        ScalarField("arrived"),
        NestedField("sums", rows="table.entries"),
        NestedField("absent"),
    )

    def __init__(self) -> None:
        self.schema = Schema((Field("k", BIGINT), Field("s", STRING)))
        self.table = KeyTable(2)
        self.counts = np.full(self.table.capacity, -1, np.int64)
        self.marks = np.full(self.table.capacity, -1, np.int64)
        self.arrived = 0
        self.sums = [Sums(), Sums()]
        self.absent: State | None = None

    def add(self, rows: list[tuple[int, int]]) -> None:
        codes = self.table.encode(np.array(rows, np.int64).reshape(-1, 2))
        self.counts[codes] = 1
        self.sums[1].values[codes] = 7
        self.arrived += len(rows)

    def invariants(self) -> None:
        assert (self.counts[self.table.live()] > 0).all(), "a row has no copies"


def filled() -> Counted:
    state = Counted()
    state.add([(1, 10), (2, 20), (3, 10)])
    state.table.release(np.array([1]))
    return state


def test_a_saved_state_is_the_same_when_loaded() -> None:
    state, loaded = filled(), Counted()
    loaded.load(from_bytes(to_bytes(state.save())))
    loaded.check()
    assert loaded.table.live().tolist() == [0, 2]
    assert loaded.counts[:4].tolist() == [1, 1, 1, -1]
    assert loaded.arrived == 3
    assert loaded.sums[1].values.tolist() == [7, 7, 7]
    assert (loaded.marks == -1).all()
    assert loaded.save().keys() == state.save().keys()


def test_bytes_are_those_of_all_arrays() -> None:
    state = filled()
    arrays = [state.counts, state.marks, *(s.values for s in state.sums)]
    table = state.table
    arrays += [table.words, table.hashes, table.free, table.meta, table.slots, table.tags]
    assert state.nbytes == sum(a.nbytes for a in arrays)


def test_only_interned_columns_of_live_rows_are_live_codes() -> None:
    assert [codes.tolist() for codes in filled().live_codes()] == [[10, 10]]


def test_invariants_of_states_inside_are_checked() -> None:
    state = filled()
    state.table.slots[:] = 0
    with pytest.raises(AssertionError, match="an entry is lost"):
        state.check()


def test_another_layout_is_refused_in_words() -> None:
    saved = filled().save() | {"layout": ["counted", 1]}
    with pytest.raises(StateError, match='the saved state of "counted" has layout'):
        Counted().load(saved)


@pytest.mark.parametrize(
    ("name", "value", "detail"),
    [
        ("counts", np.zeros(3), "counts has float64 instead of int64"),
        ("counts", np.zeros((3, 2), np.int64), r"counts has shape \(3, 2\)"),
        ("arrived", [1], "arrived has a list, not a scalar"),
        ("sums", [], "sums has 0 states instead of 2"),
    ],
)
def test_a_field_of_another_form_is_refused_in_words(name: str, value: object, detail: str) -> None:
    saved = filled().save() | {name: value}
    with pytest.raises(StateError) as refused:
        Counted().load(saved)
    assert refused.match("does not fit")
    assert re.search(detail, str(refused.value.detail))


class Forgetful(State):
    stored_as = StateLayout("forgetful")
    state_fields = (NestedField("sums"),)

    def __init__(self) -> None:
        self.sums = Sums()


def test_an_owner_that_does_not_say_how_many_rows_it_has_cannot_be_saved() -> None:
    with pytest.raises(TypeError, match=r"Sums\.values is as long as its owner says"):
        Forgetful().save()


def test_a_state_says_its_layout_in_one_place() -> None:
    """As `stored_as`; an attribute of another name would be ignored, and its version not saved."""

    def below(kind: type[State]) -> Iterator[type[State]]:
        for inner in kind.__subclasses__():
            yield inner
            yield from below(inner)

    named = [kind for kind in below(State) if kind.__module__.startswith("windrow.")]
    assert len(named) > 20, "states are loaded with the operators"
    said = {kind.__name__: vars(kind).get("layout") for kind in named}
    assert [name for name, value in said.items() if isinstance(value, str | tuple)] == []
