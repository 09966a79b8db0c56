"""A shard's process at work: each connection in a thread, one request at a time.

It ends when all processes that it watches are gone, when nobody has asked for long, or when it is
asked to.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain

from windrow.core.errors import StateError
from windrow.operators import threads
from windrow.runtime.local.memory import keep_freed_memory
from windrow.runtime.shards import wire
from windrow.runtime.shards.checkpoint import read_checkpoint, use_published_plans
from windrow.runtime.shards.entry import INGEST, STEP, LogStep
from windrow.runtime.shards.faults import fault
from windrow.runtime.shards.files import open_files
from windrow.runtime.shards.keeper import Keeper
from windrow.runtime.shards.launch import ProcessPlace, lives
from windrow.runtime.shards.layout import layout_of
from windrow.runtime.shards.limits import shard_limit
from windrow.runtime.shards.receipt import Receipt, received
from windrow.runtime.shards.store import Store
from windrow.runtime.shards.wire import Stepped

WATCH_SECONDS = 0.5
END_SECONDS = 5.0


class Server:
    """Connections to one shard."""

    def __init__(self, place: ProcessPlace, listener: socket.socket) -> None:
        self.place = place
        self.listener = listener
        self.keeper: Keeper | None = None
        self.failure: Exception | None = None
        self.ended = threading.Event()
        self.work = threading.Lock()
        self.watched: dict[int, str] = {}
        self.connections: set[socket.socket] = set()
        self.last = time.monotonic()

    def run(self) -> None:
        """Serve until the end."""
        try:
            self.keeper = load_keeper(self.place)
        except Exception as error:
            self.failure = error
        threading.Thread(target=self._accept, daemon=True).start()
        threading.Thread(target=self._rebuild_ahead, daemon=True).start()
        while not self.ended.wait(WATCH_SECONDS) and not self._nobody():
            pass
        self._end()

    def _rebuild_ahead(self) -> None:
        """Rebuild the state while Spark still gets ready; who asks meanwhile waits for it."""
        with self.work:
            if self.keeper is not None:
                try:
                    self.keeper.rebuild_ahead()
                except Exception:
                    note()  # the next request is answered with it

    def _nobody(self) -> bool:
        """Return whether there is nobody to work for."""
        watched = list(self.watched.items())
        if watched and not any(lives(pid, started) for pid, started in watched):
            return True
        return not self.connections and time.monotonic() - self.last > self.place.idle

    def _end(self) -> None:
        """Leave. What is in the middle need not be waited for: a version is whole or it is not."""
        self.ended.set()
        with suppress(FileNotFoundError):
            self.place.path("sock").unlink()
        self.listener.close()
        if self.work.acquire(timeout=END_SECONDS) and self.keeper is not None:
            try:
                self.keeper.finish()
                self.keeper.close()
            except Exception:
                note()  # the log is enough to go on
        os._exit(0)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                if self.ended.wait(WATCH_SECONDS):
                    return
                continue  # too many files are open, for example
            self.connections.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with wire.tune(connection), suppress(ConnectionError):
            try:
                while True:
                    self._respond(connection, wire.receive(connection)[0])
            finally:
                self.last = time.monotonic()
                self.connections.discard(connection)

    def _respond(self, connection: socket.socket, head: wire.Head) -> None:
        try:
            self._answer(connection, head)
        except ConnectionError:
            raise
        except Exception as error:
            note()
            wire.send(connection, wire.error_head(error, traceback.format_exc()))

    def _answer(self, connection: socket.socket, head: wire.Head) -> None:
        match head:
            case {"hello": claim, "watch": [pid, started]}:
                self._greet(connection, claim, pid, started)
            case {"ingest": version}:
                self._ingest(connection, version)
            case {"step": version, "level": level, "moment": batch_clock}:
                self._step(connection, version, level, batch_clock)
            case {"stats": _}:
                with self.work:
                    wire.send(connection, {"stats": self._keeper().stats()})
            case {"shutdown": _}:
                self.ended.set()
                wire.send(connection, {"bye": os.getpid()})
            case _:
                raise AssertionError(f"no such request: {head}")

    def _keeper(self) -> Keeper:
        assert self.keeper is not None, "greeted before it was loaded"
        return self.keeper

    def _greet(self, connection: socket.socket, claim: str, pid: int, started: str) -> None:
        assert claim == self.place.claim, "the socket is named by the claim"
        if pid:
            self.watched[pid] = started
        if self.failure is not None:
            self.ended.set()
            raise self.failure
        compression = self._keeper().store.files.compression
        wire.send(connection, {"ready": os.getpid(), "compression": compression})

    def _ingest(self, connection: socket.socket, version: int) -> None:
        keeper = self._keeper()
        with self.work:
            times = keeper.known_times(version)
        if times is None:
            receipt = self._received(connection, LogStep(version, 0, INGEST))
            with self.work:
                times = keeper.ingest(version, receipt)
        wire.send(connection, {"times": wire.times_to_json(times)})

    def _received(self, connection: socket.socket, step: LogStep) -> Receipt:
        """Ask the client for its rows, and take them."""
        keeper = self._keeper()
        wire.send(connection, {"go": True})
        return received(connection, keeper.store.writer(step), keeper.limit)

    def _step(
        self, connection: socket.socket, version: int, level: int, head: wire.Head | None
    ) -> None:
        keeper = self._keeper()
        with self.work:
            known = keeper.known_answer(version, level)
        if known is not None:
            give(connection, iter(known))
        else:
            receipt = self._received(connection, LogStep(version, level, STEP))
            batch_clock = None if head is None else wire.batch_clock_from_json(head)
            with self.work:
                give(connection, keeper.step(version, level, receipt, batch_clock))
        with self.work:
            wire.send_end(connection, keeper.stats() if keeper.is_whole else {})
        fault("after-answer")
        with self.work:
            try:
                keeper.settle()
            except Exception:
                note()  # the answer is given; the log is enough to go on


def give(connection: socket.socket, pieces: Iterator[Stepped]) -> None:
    """Send an answer while it is made, but for its end.

    If nobody takes it any more, it is made all the same.
    """
    first = next(pieces, Stepped())
    try:
        wire.send(connection, {"answer": True})
        for piece in chain([first], pieces):
            for _ in wire.send_piece(connection, piece):
                fault("half-answer")
    except ConnectionError:
        for _ in pieces:
            pass
        raise


def note() -> None:
    """Print the error of the moment, if there is room for it."""
    with suppress(OSError, ValueError):
        traceback.print_exc()
        sys.stderr.flush()


def load_keeper(place: ProcessPlace) -> Keeper:
    """Return the shard's keeper, from what the checkpoint says."""
    checkpoint = read_checkpoint(place.checkpoint)
    if checkpoint.claim != place.claim:
        raise StateError(
            f"the checkpoint {place.checkpoint} is another run's by now",
            hint="Start the query again, or give it a checkpoint of its own.",
        )
    keep_freed_memory(alone=True)
    threads.use(1)
    program = checkpoint.program
    use_published_plans(place.checkpoint, checkpoint)
    levels = layout_of(program).levels
    store = Store(open_files(place.checkpoint), place.shard, levels, checkpoint.fingerprint)
    keeper = Keeper(program, place.shard, store, place.memory or shard_limit(program.shards))
    keeper.ledger.asked = place.snapshot_rows or None
    return keeper
