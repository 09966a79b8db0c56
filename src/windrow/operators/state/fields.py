"""State declared as typed fields: saving, loading, measuring and checking are written once.

A structure or an operator names the attributes that are its state, and in what form:

    class Copies(State):
        stored_as = StateLayout("copies")
        state_fields = (
            TableField("table", fields="schema"),                    # a `KeyTable` of rows
            ArrayField("counts", length="table.entries", room="table.capacity"),
            ScratchField("marks", room="table.capacity", fill=-1),   # counted, not saved
            ScalarField("arrived"),
            ListField("seen"),                                       # of numbers, or of such lists
            NestedField("queue"),                                    # a State, a list of them, None
        )

and has `save`, `load`, `nbytes`, `live_codes` and `check` from that. Fields are loaded in the order
in which they are declared, so that a table comes before the arrays that are as long as it. By hand
remain: `invariants`, what `check` asserts besides the states inside; `rebuild`, which makes what
follows from the fields after these were loaded; and, where a state is saved in another form than it
has in memory (a ring as rows in order), `content` and `take_over`.

`length` is how many rows of an array are in use, `room` how many it must at least have: names of
attributes, with dots. `OF_OWNER` says that the owner knows: it declares
``NestedField("folds", rows="used")``, and to save such a state without is a `TypeError`.

A structure that operators share says as what it is `stored_as`: name and version are saved with it,
and one of another layout is refused. An operator says so in the physical plan (`Op.layout`), whose
identity must agree before any state is loaded. Who changes the form of a state raises that number.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from windrow.core.errors import StateError
from windrow.operators.state.aligned import aligned
from windrow.operators.task import Saved
from windrow.operators.vector import I64, is_interned
from windrow.physical.operators import StateLayout

__all__ = [
    "OF_OWNER",
    "ArrayField",
    "ListField",
    "NestedField",
    "ScalarField",
    "ScratchField",
    "State",
    "StateField",
    "StateLayout",
    "misfit",
]

OF_OWNER = "<rows of the owner>"
"""The length of an array that is indexed by codes of the structure around it."""

UNKNOWN = -1
"""The rows of an owner that has not said how many it has: no array may need them."""


@dataclass(frozen=True)
class StateField:
    """One attribute of a state. By itself it takes no bytes, and is not saved."""

    name: str
    saved: ClassVar[bool] = True

    def nbytes(self, owner: State) -> int:
        """Return the exact size of the attribute."""
        return 0

    def save(self, owner: State, rows: int) -> object:
        """Return the attribute as plain values; `rows`: see `OF_OWNER`."""
        return getattr(owner, self.name)

    def load(self, owner: State, saved: object) -> None:
        """Set the attribute from plain values."""
        setattr(owner, self.name, saved)

    def codes(self, owner: State) -> list[I64]:
        """Return the interned codes that the attribute refers to."""
        return []

    def check(self, owner: State) -> None:
        """Assert the invariants of what is inside."""


@dataclass(frozen=True)
class ScalarField(StateField):
    """A number, a text, a truth value, or None."""

    def load(self, owner: State, saved: object) -> None:
        """Set it, if it is plain."""
        if not isinstance(saved, int | float | str | None):
            raise misfit(owner, self.name, f"a {type(saved).__name__}, not a scalar")
        setattr(owner, self.name, saved)


@dataclass(frozen=True)
class ListField(StateField):
    """A list of numbers, or of such lists."""

    def save(self, owner: State, rows: int) -> object:
        """Return a copy."""
        return _listed(getattr(owner, self.name))

    def load(self, owner: State, saved: object) -> None:
        """Take over a copy."""
        if not isinstance(saved, list):
            raise misfit(owner, self.name, f"a {type(saved).__name__}, not a list")
        setattr(owner, self.name, _listed(saved))


def _listed(value: Any) -> Any:
    return list(map(_listed, value)) if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class ArrayField(StateField):
    """An array, of which the first `length` rows are in use; all of them without it.

    `fields` names the attribute with the `Field`s of its columns, if these can be interned.
    `any_width`: its rows may be wider or narrower than those of a fresh state.
    """

    length: str | None = None
    room: str | None = None
    fill: int = 0
    fields: str | None = None
    any_width: bool = False

    def nbytes(self, owner: State) -> int:
        """Return the size of all rows, in use or not."""
        return int(getattr(owner, self.name).nbytes)

    def _used(self, owner: State, rows: int) -> npt.NDArray[Any]:
        array = getattr(owner, self.name)
        if self.length is None:
            return cast("npt.NDArray[Any]", array)
        if self.length is not OF_OWNER:
            rows = attrgetter(self.length)(owner)
        elif rows == UNKNOWN:
            name = f"{type(owner).__name__}.{self.name}"
            raise TypeError(f"{name} is as long as its owner says: NestedField(..., rows=...)")
        return cast("npt.NDArray[Any]", array[:rows])

    def save(self, owner: State, rows: int) -> object:
        """Return a copy of the rows in use."""
        return self._used(owner, rows).copy()

    def load(self, owner: State, saved: object) -> None:
        """Take over a copy, with as much room as a fresh state has, or as `room` says.

        Of an array that its owner indexes, only the rows in use: the owner makes room for more.
        """
        fresh = getattr(owner, self.name)
        if not isinstance(saved, np.ndarray) or saved.dtype != fresh.dtype:
            found = saved.dtype if isinstance(saved, np.ndarray) else type(saved).__name__
            raise misfit(owner, self.name, f"{found} instead of {fresh.dtype}")
        if saved.ndim != fresh.ndim or not (self.any_width or saved.shape[1:] == fresh.shape[1:]):
            raise misfit(owner, self.name, f"shape {saved.shape} instead of {fresh.shape}")
        # No more than was saved: all arrays of one owner must grow alike from here.
        size = 0 if self.length is OF_OWNER else len(fresh)
        if self.room is not None:
            size = attrgetter(self.room)(owner)
        made = aligned((max(len(saved), size), *saved.shape[1:]), saved.dtype)
        made[: len(saved)] = saved
        if self.fill:
            # Room beyond the saved rows looks as if it had never been used.
            made[len(saved) :] = self.fill
        setattr(owner, self.name, made)

    def codes(self, owner: State) -> list[I64]:
        """Return the columns in use that are of interned types."""
        if self.fields is None:
            return []
        used = self._used(owner, UNKNOWN)
        return [
            np.ascontiguousarray(used[:, k])
            for k, f in enumerate(getattr(owner, self.fields))
            if is_interned(f.type)
        ]


@dataclass(frozen=True)
class ScratchField(StateField):
    """What is counted but not saved: work space, or what `rebuild` makes. An array, or a state."""

    room: str | None = None
    fill: int = 0
    saved: ClassVar[bool] = False

    def nbytes(self, owner: State) -> int:
        """Return its size."""
        value = getattr(owner, self.name)
        return 0 if value is None else int(value.nbytes)

    def load(self, owner: State, saved: object) -> None:
        """Make it anew, filled, if it is known how long it is."""
        if self.room is not None:
            array = getattr(owner, self.name)
            shape = (attrgetter(self.room)(owner), *array.shape[1:])
            setattr(owner, self.name, np.full(shape, self.fill, array.dtype))


@dataclass(frozen=True)
class NestedField(StateField):
    """A state inside: a `State`, a list of them, a dict of them, or None where there is none.

    `rows` names the attribute that says how many codes of the owner are in use.
    """

    rows: str | None = None

    def _inside(self, owner: State) -> list[State]:
        value = getattr(owner, self.name)
        if value is None:
            return []
        if isinstance(value, dict):
            return list(value.values())
        return list(value) if isinstance(value, list | tuple) else [value]

    def nbytes(self, owner: State) -> int:
        """Return the size of what is inside."""
        return sum(state.nbytes for state in self._inside(owner))

    def save(self, owner: State, rows: int) -> object:
        """Return what is inside, saved: a list of a list, pairs of a dict, None of None."""
        if self.rows is not None:
            rows = attrgetter(self.rows)(owner)
        made = [state.save(rows) for state in self._inside(owner)]
        value = getattr(owner, self.name)
        if isinstance(value, dict):
            return [list(pair) for pair in zip(map(_listed, value), made, strict=True)]
        return made if isinstance(value, list | tuple) else made[0] if made else None

    def load(self, owner: State, saved: object) -> None:
        """Load into the states that are there."""
        inside = self._inside(owner)
        given = saved if isinstance(saved, list) else [] if saved is None else [saved]
        value = getattr(owner, self.name)
        if isinstance(value, dict):
            pairs = cast("list[tuple[object, Saved]]", given)
            given = [kept for key in map(_listed, value) for k, kept in pairs if k == key]
        if len(given) != len(inside):
            raise misfit(owner, self.name, f"{len(given)} states instead of {len(inside)}")
        for state, one in zip(inside, given, strict=True):
            state.load(one)

    def codes(self, owner: State) -> list[I64]:
        """Return the codes that the states inside refer to."""
        return [codes for state in self._inside(owner) for codes in state.live_codes()]

    def check(self, owner: State) -> None:
        """Check the states inside."""
        for state in self._inside(owner):
            state.check()


class State:
    """What is stored between steps, declared in `state_fields`: see the module."""

    __slots__ = ()
    stored_as: ClassVar[StateLayout | None] = None
    state_fields: ClassVar[tuple[StateField, ...]] = ()

    @property
    def nbytes(self) -> int:
        """Exact size of the state."""
        return sum([field.nbytes(self) for field in self.state_fields])

    def save(self, rows: int = UNKNOWN) -> Saved:
        """Return the state for `load` of a fresh one of the same class; `rows`: see `OF_OWNER`."""
        layout = self.stored_as
        said: Saved = {} if layout is None else {"layout": [layout.name, layout.version]}
        return said | self.content(rows)

    def content(self, rows: int) -> Saved:
        """Return all fields that are saved, as plain values."""
        return {f.name: f.save(self, rows) for f in self.state_fields if f.saved}

    def load(self, saved: Saved) -> None:
        """Take over a saved state. Raises `StateError` if it is of another layout."""
        layout, found = self.stored_as, saved.get("layout")
        if layout is not None and found != [layout.name, layout.version]:
            raise StateError(
                f'the saved state of "{layout.name}" has layout {found},'
                f" and this windrow reads {layout.version}",
                hint="Start the query anew, or with the windrow that saved it.",
            )
        self.take_over(saved)
        self.rebuild()

    def take_over(self, saved: Saved) -> None:
        """Set all fields from what `content` returned."""
        for field in self.state_fields:
            if field.saved and field.name not in saved:
                raise misfit(self, field.name, "nothing")
            field.load(self, saved.get(field.name))

    def rebuild(self) -> None:
        """Make what follows from the fields, after these were loaded."""

    def live_codes(self) -> list[I64]:
        """Return the interned codes that the state refers to."""
        return [codes for field in self.state_fields for codes in field.codes(self)]

    def check(self) -> None:
        """Assert the invariants of the states inside, then those of this one."""
        for field in self.state_fields:
            field.check(self)
        self.invariants()

    def invariants(self) -> None:
        """Assert what is true of this state besides the states inside."""


def misfit(owner: State, name: str, found: str) -> StateError:
    """Return the error of a saved field that its state cannot take over."""
    stored = type(owner).__name__ if owner.stored_as is None else owner.stored_as.name
    return StateError(
        f'the saved state of "{stored}" does not fit',
        detail=f"Its field {name} has {found}.",
        hint="Start the query anew, or with the windrow that saved it.",
    )
