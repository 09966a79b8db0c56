"""On Spark every query tells what it tells in this process: any shards, any split into batches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import count, islice
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

import windrow
from tests.generate.catalog import DECLARATIONS
from tests.generate.queries import random_query
from tests.generate.streams import random_world
from tests.reference.drive import events, net_at, read
from tests.reference.histories import Change, same_rows
from tests.spark.feeding import Event, Scene, told_locally, written
from tests.test_streams import STORIES, value
from windrow.core.time import BEGINNING

pytestmark = pytest.mark.spark

SHARDS = (1, 2, 5)
MOST_BATCHES = 4
SEEDS = range(3)
QUERIES = 8
"""Random queries that run together over one world."""
TELLING = 6
"""Changes that a random query must have: most have none over so small a world."""
BEATS = "CREATE STREAM beats (ts BIGINT) TIMESTAMP BY ts"
"""Heartbeats as a stream of their own: at the end all streams have come as far as the farthest."""


def story(path: Path) -> Scene:
    """Return a story's inputs, query and events."""
    declarations = [BEATS]
    query = ""
    happened: list[Event] = []
    for verb, rest in lines(path):
        match verb:
            case "declare":
                declarations.append(rest)
            case "query":
                query = rest
            case "feed":
                name, *pairs = rest.split()
                row = {k: value(v) for k, v in (p.split("=", 1) for p in pairs)}
                ts = row.get("ts", BEGINNING)
                assert isinstance(ts, int)
                happened.append(Event(ts, name, tuple(row.values())))
            case "advance":
                happened.append(Event(int(rest), "beats", (int(rest),)))
    happened.sort(key=lambda event: event.ts)
    queries = {"story": query, "beat": "SELECT ts FROM beats [NOW]"}
    return Scene(tuple(declarations), queries, tuple(happened))


def lines(path: Path) -> Iterator[tuple[str, str]]:
    for line in path.read_text().splitlines():
        verb, _, rest = line.split("#", 1)[0].strip().partition(" ")
        if verb:
            yield verb, rest.strip()


@cache
def chance(seed: int) -> Scene:
    """Return random queries over a random world: in seconds, as most that are tried tell little."""
    world = random_world(seed, rows=10)
    happened = [Event(ts, name, row[-6:], sign) for ts, name, sign, row in events(world)]
    declared = tuple(filter(None, re.split(r";\s*", DECLARATIONS)))
    tried = (
        Scene(declared, {f"q{n}": random_query(n)}, tuple(happened)) for n in count(1_000 * seed)
    )
    emitting = (
        s for s in tried if len(next(iter(told_locally(s, [s.events]).values()))) >= TELLING
    )
    queries = {name: text for s in islice(emitting, QUERIES) for name, text in s.queries.items()}
    return Scene(declared, queries, tuple(happened))


def told_on_spark(
    spark: SparkSession, scene: Scene, declared: list[str], shards: int, folder: Path
) -> dict[str, list[Change]]:
    """Return each query's changes: one run of all of them."""
    checkpoint = str(folder / "checkpoint")
    with windrow.connect("spark", spark=spark, checkpoint=checkpoint, shards=shards) as db:
        db.execute("; ".join(declared))
        handles = {name: db.query(text, name=name) for name, text in scene.queries.items()}
        run = db.start("memory", drain=True)
        run.wait()
        return {name: read(handle.changes()) for name, handle in handles.items()}


def assert_same(spark: SparkSession, scene: Scene, shards: int, seed: int, folder: Path) -> None:
    batches = scene.split(Random(seed), MOST_BATCHES)
    expected = told_locally(scene, batches)
    got = told_on_spark(spark, scene, written(scene, batches, folder), shards, folder)
    first, last = scene.first(), scene.last()
    for name, text in scene.queries.items():
        told = {ts for ts, _, _ in (*expected[name], *got[name])}
        instants = sorted({first, *(ts for ts in told if first <= ts <= last)})
        if not scene.reads_stream(text):  # rows without a time take effect when they are read
            instants = [last]
        pairs = zip(net_at(got[name], instants), net_at(expected[name], instants), strict=True)
        for at, (mine, true) in zip(instants, pairs, strict=True):
            assert same_rows(mine, true), f"{text}\nat {at}: {mine}, in this process {true}"


@pytest.mark.parametrize("shards", SHARDS)
@pytest.mark.parametrize("path", STORIES, ids=lambda p: p.stem)
def test_a_story_is_the_same_on_spark(
    spark: SparkSession, tmp_path: Path, path: Path, shards: int
) -> None:
    assert_same(spark, story(path), shards, shards, tmp_path)


@pytest.mark.parametrize("shards", SHARDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_queries_are_the_same_on_spark(
    spark: SparkSession, tmp_path: Path, seed: int, shards: int
) -> None:
    assert_same(spark, chance(seed), shards, 10 * seed + shards, tmp_path)
