r"""Saved state as bytes: one block, checked before anything of it is believed.

    bytes    what
    8        "windrow\0"
    4        version of this format
    4        CRC-32 of all that follows
    8        length of the outline
    8        length of the whole block
    ...      the outline: JSON, UTF-8, blanks up to a multiple of 64
    ...      the bodies of arrays and bytes, each at a multiple of 64

Numbers are little-endian. In the outline, numbers, strings, booleans and None stand for
themselves, a list is {"list": [...]}, a dict {"dict": [[key, value], ...]}, an array
{"array": [dtype, shape, place]}, and bytes {"bytes": [length, place]}, where `place` counts from
the first body.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.core.errors import StateError

if TYPE_CHECKING:  # tasks compile; who only reads and writes state need not
    from windrow.operators.task import Saved

MAGIC = b"windrow\0"
VERSION = 1
HEAD = struct.Struct("<8sIIQQ")
CHECKED_FROM = 16
ALIGNMENT = 64


class _Bodies:
    """Bodies laid one after the other."""

    def __init__(self) -> None:
        self.parts: list[memoryview | bytes] = []
        self.length = 0

    def add(self, raw: memoryview | bytes) -> int:
        """Lay one body down; return its place."""
        place = self.length
        self.parts += [raw, bytes(-len(raw) % ALIGNMENT)]
        self.length += len(raw) + len(self.parts[-1])
        return place


def to_bytes(saved: Saved) -> bytes:
    """Return state as one block of bytes. Arrays are copied once."""
    return b"".join(to_parts(saved))


def to_parts(saved: Saved) -> list[memoryview | bytes]:
    """Return state as the pieces of its block. Arrays are not copied: use them at once."""
    bodies = _Bodies()
    outline = json.dumps(_outline(saved, bodies), separators=(",", ":")).encode()
    outline += b" " * (-(HEAD.size + len(outline)) % ALIGNMENT)
    length = HEAD.size + len(outline) + bodies.length
    crc = zlib.crc32(HEAD.pack(MAGIC, VERSION, 0, len(outline), length)[CHECKED_FROM:])
    for part in (outline, *bodies.parts):
        crc = zlib.crc32(part, crc)
    return [HEAD.pack(MAGIC, VERSION, crc, len(outline), length), outline, *bodies.parts]


def _outline(value: object, bodies: _Bodies) -> object:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case np.bool_() | np.integer() | np.floating():
            return value.item()
        case bytes():
            return {"bytes": [len(value), bodies.add(value)]}
        case np.ndarray():
            assert not value.dtype.hasobject, "arrays of objects are no plain values"
            raw = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
            return {"array": [value.dtype.str, list(value.shape), bodies.add(raw.data)]}
        case list() | tuple():
            return {"list": [_outline(v, bodies) for v in value]}
        case dict():
            return {"dict": [[_outline(k, bodies), _outline(v, bodies)] for k, v in value.items()]}
    raise TypeError(f"state holds a {type(value).__name__}")


def from_bytes(block: bytes | memoryview) -> Saved:
    """Return the state that a block holds; its arrays may be written to.

    They lie in the block itself if that may be written to, else in one copy of it.

    Raises `StateError` if the block is cut short, damaged, or of another version.
    """
    if len(block) < HEAD.size or block[: len(MAGIC)] != MAGIC:
        raise StateError("these bytes are no saved state of windrow")
    _, version, crc, outline_length, length = HEAD.unpack_from(block)
    if version != VERSION:
        raise StateError(
            f"the saved state has version {version}, and this windrow reads version {VERSION}",
            hint="Start the query anew, or with the windrow that saved it.",
        )
    if length != len(block):
        raise StateError(
            "the saved state is cut short", detail=f"It has {len(block)} of {length} bytes."
        )
    if zlib.crc32(memoryview(block)[CHECKED_FROM:]) != crc:
        raise StateError("the saved state is damaged", detail="Its checksum does not fit.")
    first = HEAD.size + outline_length
    outline = json.loads(bytes(block[HEAD.size : first]))
    bodies = np.frombuffer(block, np.uint8, offset=first)
    if not bodies.flags.writeable:
        bodies = bodies.copy()
    value = _value(outline, bodies)
    assert isinstance(value, dict), "a saved state is a dict"
    return value


def _value(outline: Any, bodies: npt.NDArray[np.uint8]) -> object:
    match outline:
        case {"array": [dtype, shape, place]}:
            kind = np.dtype(dtype)
            size = kind.itemsize * math.prod(shape)
            return bodies[place : place + size].view(kind).reshape(shape)
        case {"bytes": [size, place]}:
            return bodies[place : place + size].tobytes()
        case {"list": values}:
            return [_value(v, bodies) for v in values]
        case {"dict": items}:
            return {_value(k, bodies): _value(v, bodies) for k, v in items}
    return outline


def arrow_table(saved: Saved) -> pa.Table:
    """Return saved state as a table of one row: a column a field, states inside as structs.

    >>> arrow_table({"ends": np.array([5, 9]), "left": {"rows": np.zeros((3, 2))}}).schema
    ends: large_list<item: int64>
      child 0, item: int64
    left: struct<rows: large_list<item: fixed_size_list<item: double>[2]>>
      child 0, rows: large_list<item: fixed_size_list<item: double>[2]>
          child 0, item: fixed_size_list<item: double>[2]
              child 0, item: double
    """
    return pa.table({str(name): _arrow(value) for name, value in saved.items()})


def _arrow(value: object) -> pa.Array:
    """Return an array of one value."""
    match value:
        case np.ndarray():
            rows = pa.array(np.ascontiguousarray(value).reshape(-1))
            for width in reversed(value.shape[1:]):
                rows = pa.FixedSizeListArray.from_arrays(rows, width) if width else pa.nulls(0)
            return pa.LargeListArray.from_arrays(pa.array([0, len(rows)], pa.int64()), rows)
        case dict() if value:
            return pa.StructArray.from_arrays([*map(_arrow, value.values())], [*map(str, value)])
        case list() | tuple() if len(set(map(type, value))) > 1 or _nests(value):
            return _arrow(dict(enumerate(value)))
        case _:
            return pa.array([value])


def _nests(values: list[object] | tuple[object, ...]) -> bool:
    return any(isinstance(value, dict | list | tuple | np.ndarray) for value in values)
