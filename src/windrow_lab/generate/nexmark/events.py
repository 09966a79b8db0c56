"""The three streams: what an event of each kind holds.

Bids refer to the newest auctions and persons, most of them to hot ones that move on as ids grow,
a few to ones that are still to come:

    auctions   ... ─ 4100 ──────────── 4187 ┄┄┄ 4197
                      ▲ hot              ▲ newest, then ten of the future
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from windrow_lab.generate.nexmark import texts
from windrow_lab.generate.nexmark.draws import I64, Draws
from windrow_lab.generate.nexmark.scale import (
    AUCTIONS,
    CYCLE,
    FIRST_ID,
    IN_FLIGHT,
    MILLISECOND,
    PERSONS,
    Nexmark,
    newest_auction,
    newest_person,
    timestamps,
)

STREAMS = ("person", "auction", "bid")
SIDE_INPUT = "side_input"
SIDE_ROWS = 10_000
HOT_EVERY = 100
"""Of so many persons, or auctions, one is hot."""
ACTIVE_PERSONS = 1_000
LEAD = 10
"""Ids of the future that can be referred to."""
FIRST_CATEGORY, CATEGORIES = 10, 5
EXTRA = {"person": 127, "auction": 357, "bid": 68}
"""Mean length of the filler: rows have 200, 500 and 100 bytes, on average; as Nexmark counts them,
without a bid's channel and address."""
BATCH = 250_000
"""Events that are made at once: their columns stay near the processor."""


def stretch(scale: Nexmark, low: int, high: int) -> dict[str, pa.Table]:
    """Return the events at places low .. high-1, in the order of their coming, by stream."""
    events = scale.numbers(low, high)
    within = events % CYCLE
    person = within < PERSONS
    auction = ~person & (within < PERSONS + AUCTIONS)
    return {
        "person": persons(scale, events[person]),
        "auction": auctions(scale, events[auction]),
        "bid": bids(scale, events[~person & ~auction]),
    }


def batches(scale: Nexmark, size: int = BATCH) -> Iterator[dict[str, pa.Table]]:
    """Yield all events in stretches of so many, ready to be pushed."""
    for low in range(0, scale.events, size):
        yield stretch(scale, low, min(low + size, scale.events))


def side_input() -> pa.Table:
    """Return the relation that bids are looked up in: rows (i, i)."""
    return pa.table({"key": np.arange(SIDE_ROWS), "value": np.arange(SIDE_ROWS)})


def persons(scale: Nexmark, events: I64) -> pa.Table:
    """Return the persons of some events."""
    draws = Draws.of(scale.seed, events)
    return pa.table(
        {
            "id": FIRST_ID + newest_person(events),
            "name": drawn(texts.full_names(), draws, 0),
            "emailAddress": texts.emails(draws, 10),
            "creditCard": texts.credit_cards(draws, 1),
            "city": drawn(pa.array(texts.CITIES), draws, 5),
            "state": drawn(pa.array(texts.STATES), draws, 6),
            "dateTime": timestamps(scale.times(events)),
            "extra": drawn(texts.filler(scale.seed, EXTRA["person"], 0), draws, 7),
        }
    )


def auctions(scale: Nexmark, events: I64) -> pa.Table:
    """Return the auctions of some events."""
    draws = Draws.of(scale.seed, events)
    at = scale.times(events)
    initial = texts.prices(draws.unit(0))
    return pa.table(
        {
            "id": FIRST_ID + newest_auction(events),
            "itemName": drawn(texts.filler(scale.seed, 12, 10), draws, 1),
            "description": drawn(texts.filler(scale.seed, 52, 12), draws, 2),
            "initialBid": initial,
            "reserve": initial + texts.prices(draws.unit(3)),
            "dateTime": timestamps(at),
            "expires": timestamps(at + lifetimes(scale, events, draws, 4)),
            "seller": FIRST_ID + sellers(scale, events, draws, 5),
            "category": FIRST_CATEGORY + draws.below(7, CATEGORIES),
            "extra": drawn(texts.filler(scale.seed, EXTRA["auction"], 14), draws, 8),
        }
    )


def bids(scale: Nexmark, events: I64) -> pa.Table:
    """Return the bids of some events. A bidder is a person's id: FIRST_ID is added once."""
    draws = Draws.of(scale.seed, events)
    names, urls = texts.channels(scale.seed)
    channel = bid_channels(draws, 5)
    return pa.table(
        {
            "auction": FIRST_ID + bid_auctions(scale, events, draws, 0),
            "bidder": FIRST_ID + bidders(scale, events, draws, 2),
            "price": texts.prices(draws.unit(4)),
            "channel": names.take(channel),
            "url": urls.take(channel),
            "dateTime": timestamps(scale.times(events)),
            "extra": drawn(texts.filler(scale.seed, EXTRA["bid"], 20), draws, 7),
        }
    )


def drawn(pool: pa.Array, draws: Draws, n: int) -> pa.Array:
    """Return a text of the pool for each event, by draw n."""
    return pool.take(pa.array(draws.below(n, len(pool))))


def lifetimes(scale: Nexmark, events: I64, draws: Draws, n: int) -> I64:
    """Return how long auctions run, in µs: while a hundred others open, on average."""
    ahead = scale.times(events + IN_FLIGHT * CYCLE // AUCTIONS) - scale.times(events)
    horizon = np.maximum(1, 2 * (ahead // MILLISECOND))
    return (1 + draws.below(n, horizon)) * MILLISECOND


def some_person(newest: I64, draws: Draws, n: int) -> I64:
    """Return one of the newest thousand persons, or one of the next ten."""
    active = np.minimum(newest + 1, ACTIVE_PERSONS)
    return newest + 1 - active + draws.below(n, active + LEAD)


def sellers(scale: Nexmark, events: I64, draws: Draws, n: int) -> I64:
    """Return who opens each auction, from two draws."""
    newest = newest_person(events)
    hot = newest // HOT_EVERY * HOT_EVERY
    return np.where(draws.hot(n, scale.hot_sellers), hot, some_person(newest, draws, n + 1))


def bidders(scale: Nexmark, events: I64, draws: Draws, n: int) -> I64:
    """Return who bids, from two draws. The hot bidder is the one after the hot seller."""
    newest = newest_person(events)
    hot = newest // HOT_EVERY * HOT_EVERY + 1
    return np.where(draws.hot(n, scale.hot_bidders), hot, some_person(newest, draws, n + 1))


def bid_auctions(scale: Nexmark, events: I64, draws: Draws, n: int) -> I64:
    """Return what is bid for, from two draws: the hot auction, or one in flight or to come."""
    newest = newest_auction(events)
    oldest = np.maximum(newest - IN_FLIGHT, 0)
    cold = oldest + draws.below(n + 1, newest - oldest + 1 + LEAD)
    return np.where(draws.hot(n, scale.hot_auctions), newest // HOT_EVERY * HOT_EVERY, cold)


def bid_channels(draws: Draws, n: int) -> pa.Array:
    """Return positions of channels, from two draws: half of the bids come by a hot one."""
    hot = draws.below(n + 1, len(texts.HOT_CHANNELS))
    cold = len(texts.HOT_CHANNELS) + draws.below(n + 1, texts.COLD_CHANNELS)
    return pa.array(np.where(draws.hot(n, 2), hot, cold))
