"""Texts of Nexmark: drawn from pools that the seed makes, so that a column of them is one take.

A pool holds some thousand texts of random letters with the lengths that are wanted. Filler need
not differ from row to row: nothing groups or joins by it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pyarrow as pa

from windrow_lab.generate.nexmark.draws import F64, I64, Draws

FIRST_NAMES = (
    *("Peter", "Paul", "Luke", "John", "Saul", "Vicky"),
    *("Kate", "Julie", "Sarah", "Deiter", "Walter"),
)
LAST_NAMES = (
    *("Shultz", "Abrams", "Spencer", "White", "Bartels"),
    *("Walton", "Smith", "Jones", "Noris"),
)
CITIES = (
    *("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland"),
    *("Bend", "Redmond", "Seattle", "Kent", "Cheyenne"),
)
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
COLD_CHANNELS = 10_000
WITH_CHANNEL_ID = 0.9
"""The share of cold channels whose addresses have their number."""
POOL = 4_096
"""Texts of a pool of filler."""
SPREAD = 0.2
"""By how much of its mean a filler's length varies, in both directions."""
LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)
DIGITS = np.frombuffer(b"0123456789", np.uint8)


def pool_draws(seed: int, count: int, salt: int) -> Draws:
    """Return draws for texts that belong to no event: numbered apart from all events."""
    return Draws.of(seed, np.arange(count) - (salt + 1) * (1 << 40))


def letters(draws: Draws, first: int, length: int) -> np.ndarray:
    """Return a row of so many random letters for each of the draws' events."""
    columns = [LETTERS[draws.below(first + i, len(LETTERS))] for i in range(length)]
    return np.stack(columns, axis=1)


def as_texts(rows: np.ndarray, lengths: I64 | None = None) -> pa.Array:
    """Return rows of bytes as texts, each cut to its length."""
    count, width = rows.shape
    if lengths is None:
        kept, ends = rows, np.arange(count + 1, dtype=np.int32) * width
    else:
        kept = rows[np.arange(width) < lengths[:, None]]
        ends = np.concatenate([[0], np.cumsum(lengths)])
    offsets = pa.py_buffer(ends.astype(np.int32))
    return pa.StringArray.from_buffers(count, offsets, pa.py_buffer(np.ascontiguousarray(kept)))


@lru_cache(maxsize=64)
def filler(seed: int, mean: int, salt: int) -> pa.Array:
    """Return a pool of texts whose lengths are spread around a mean.

    Random letters are cut out of one long run of them.
    """
    low, high = round(mean * (1 - SPREAD)), round(mean * (1 + SPREAD))
    draws = pool_draws(seed, POOL, salt)
    lengths = low + draws.below(0, high - low + 1)
    run = LETTERS[pool_draws(seed, POOL * high, salt + 1).below(0, len(LETTERS))]
    return as_texts(run.reshape(POOL, high), lengths)


@lru_cache(maxsize=4)
def channels(seed: int) -> tuple[pa.Array, pa.Array]:
    """Return the channels and the address of each: four hot ones, then ten thousand others."""
    count = len(HOT_CHANNELS) + COLD_CHANNELS
    draws = pool_draws(seed, count, 100)
    has_id = draws.unit(0) < WITH_CHANNEL_ID
    has_id[: len(HOT_CHANNELS)] = False
    folders = [as_texts(letters(draws, 1 + 5 * n, 5)).to_pylist() for n in range(3)]
    names = [*HOT_CHANNELS, *(f"channel-{k}" for k in range(COLD_CHANNELS))]
    urls = [
        f"https://www.nexmark.com/{a}/{b}/{c}/item.htm?query=1"
        + (f"&channel_id={n - len(HOT_CHANNELS)}" if named else "")
        for n, (a, b, c, named) in enumerate(zip(*folders, has_id, strict=True))
    ]
    return pa.array(names), pa.array(urls)


def full_names() -> pa.Array:
    """Return every first name with every last name."""
    return pa.array([f"{first} {last}" for first in FIRST_NAMES for last in LAST_NAMES])


def emails(draws: Draws, first: int) -> pa.Array:
    """Return addresses of 7 + 5 letters, from 12 draws."""
    text = letters(draws, first, 12)
    at = np.full((len(text), 1), ord("@"), np.uint8)
    end = np.tile(np.frombuffer(b".com", np.uint8), (len(text), 1))
    return as_texts(np.hstack([text[:, :7], at, text[:, 7:], end]))


def credit_cards(draws: Draws, first: int) -> pa.Array:
    """Return cards of four times four digits, from 4 draws."""
    blank = np.full((len(draws.base), 1), ord(" "), np.uint8)
    parts = [blank]
    for n in range(4):
        number = draws.below(first + n, 10_000)
        parts += [DIGITS[number[:, None] // [1000, 100, 10, 1] % 10], blank]
    return as_texts(np.hstack(parts[1:-1]))


def prices(unit: F64) -> I64:
    """Return prices, log-uniform on [100, 100,000,000]."""
    return np.rint(100 * 10 ** (6 * unit)).astype(np.int64)
