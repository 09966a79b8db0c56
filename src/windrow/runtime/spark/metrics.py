"""Progress as Prometheus reads it, on a port of this machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import accumulate

from windrow.core.errors import RunError
from windrow.runtime.spark.dead import LATE, POISON
from windrow.runtime.spark.progress import BOUNDS, BatchTimes, Progress
from windrow.runtime.spark.reports import KERNEL, STATE, TRANSFER

Sample = tuple[dict[str, str], float]

PARTS = ("spark", TRANSFER, KERNEL, STATE)
KINDS = (POISON, LATE)
DOING = ("starting", "working", "idle", "draining", "stopping", "ended", "failed")
"""What series there are from the start, before anything of them has happened."""

HELP: dict[str, tuple[str, str]] = {
    "windrow_active": ("gauge", "1 while the run is at work"),
    "windrow_batches_total": ("counter", "micro-batches since this process started"),
    "windrow_input_rows_total": ("counter", "rows read since this process started"),
    "windrow_batch_id": ("gauge", "the last micro-batch"),
    "windrow_input_rows_per_second": ("gauge", "rows of the last batch by its time"),
    "windrow_batch_seconds": ("gauge", "time of the last batch"),
    "windrow_batch_part_seconds": ("gauge", "the same, by where it went"),
    "windrow_batch_duration_seconds": ("histogram", "times of all batches"),
    "windrow_seconds_since_batch": ("gauge", "since the last batch was done"),
    "windrow_doing": ("gauge", "1 for what the run does now: idle, working, ..."),
    "windrow_failures_total": ("counter", "failed batches: retried, or fatal for the run"),
    "windrow_seconds_behind": ("gauge", "how far the event time of a query is behind the clock"),
    "windrow_clock_seconds": ("gauge", "event time that a query has reached, since 1970"),
    "windrow_clock_ticks": ("gauge", "ticks that a query has reached"),
    "windrow_behind": ("gauge", "seconds, or ticks, that a pace holds a query back"),
    "windrow_held_back": ("gauge", "1 if a query waits for this stream, 0 for others"),
    "windrow_late_total": ("counter", "tuples that came too late"),
    "windrow_dead_letters_total": ("counter", "rows set aside, by kind"),
    "windrow_unreadable_files_total": ("counter", "files set aside as a whole"),
    "windrow_missing_columns_total": ("counter", "files that lacked a column which may be NULL"),
    "windrow_state_rows": ("gauge", "rows in the state of a shard"),
    "windrow_state_bytes": ("gauge", "bytes of the state of a shard"),
    "windrow_process_bytes": ("gauge", "memory of a shard's process"),
}
"""Each metric with its kind and what it means."""


def samples(progress: Progress) -> Iterator[tuple[str, Sample]]:
    """Yield each number with its metric and labels."""
    yield "windrow_active", ({}, float(progress.active))
    yield "windrow_batches_total", ({}, progress.batches)
    yield "windrow_input_rows_total", ({}, progress.total_rows)
    yield from _of_batches(progress)
    for kind, count in progress.failures.items():
        yield "windrow_failures_total", ({"kind": kind}, count)
    yield from _of_queries(progress)
    for stream, count in progress.late.items():
        yield "windrow_late_total", ({"stream": stream}, count)
    for stream in dict.fromkeys([*progress.late, *progress.dead_letters]):
        kinds = {**dict.fromkeys(KINDS, 0), **progress.dead_letters.get(stream, {})}
        for kind, count in kinds.items():
            yield "windrow_dead_letters_total", ({"stream": stream, "kind": kind}, count)
    for stream, files in progress.unreadable.items():
        yield "windrow_unreadable_files_total", ({"stream": stream}, files)
    for stream, columns in progress.missing_columns.items():
        for column, files in columns.items():
            label = {"stream": stream, "column": column}
            yield "windrow_missing_columns_total", (label, files)
    for shard in progress.shards:
        label = {"shard": str(shard.shard)}
        yield "windrow_state_rows", (label, shard.state_rows)
        yield "windrow_state_bytes", (label, shard.state_bytes)
        yield "windrow_process_bytes", (label, shard.process_bytes)


def _of_batches(progress: Progress) -> Iterator[tuple[str, Sample]]:
    if progress.batch is not None:
        yield "windrow_batch_id", ({}, progress.batch)
    yield "windrow_input_rows_per_second", ({}, progress.rows_per_second)
    yield "windrow_batch_seconds", ({}, progress.batch_seconds)
    for part in PARTS:
        yield "windrow_batch_part_seconds", ({"part": part}, progress.seconds.get(part, 0.0))
    since = progress.activity.since_batch
    if since is not None:
        yield "windrow_seconds_since_batch", ({}, since)
    for doing in DOING:
        yield "windrow_doing", ({"doing": doing}, float(doing == progress.activity.doing))


def _of_queries(progress: Progress) -> Iterator[tuple[str, Sample]]:
    for name, query in progress.queries.items():
        if isinstance(query.clock, int):
            yield "windrow_clock_ticks", ({"query": name}, query.clock)
        elif query.clock is not None:
            reached = datetime.fromisoformat(query.clock)
            yield "windrow_clock_seconds", ({"query": name}, reached.timestamp())
            behind = max(0.0, progress.at - reached.timestamp())
            yield "windrow_seconds_behind", ({"query": name}, behind)
        yield "windrow_behind", ({"query": name}, query.behind)
        for stream in progress.late:
            held = float(stream == query.held_back_by)
            yield "windrow_held_back", ({"query": name, "stream": stream}, held)


def histogram(name: str, times: BatchTimes) -> list[str]:
    """Return the times of batches as Prometheus reads a histogram: classes hold those below, too.

    >>> histogram("t", BatchTimes().with_one(0.2))[1:4]
    ['t_bucket{le="0.1"} 0', 't_bucket{le="0.25"} 1', 't_bucket{le="0.5"} 1']
    """
    bounds = [*(f"{bound:g}" for bound in BOUNDS), "+Inf"]
    below = list(accumulate(times.counts))
    counted = zip(bounds, below, strict=True)
    lines = [f'{name}_bucket{{le="{bound}"}} {count}' for bound, count in counted]
    return [*lines, f"{name}_sum {times.seconds:.16g}", f"{name}_count {below[-1]}"]


def exposition(progress: Progress) -> str:
    """Return all numbers in Prometheus' text format."""
    found: dict[str, list[Sample]] = {}
    for name, sample in samples(progress):
        found.setdefault(name, []).append(sample)
    lines = []
    for name, (kind, meaning) in HELP.items():
        if kind == "histogram":
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
            lines += histogram(name, progress.batch_times)
        elif name in found:
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
            lines += [f"{name}{_labels(labels)} {value:.16g}" for labels, value in found[name]]
    return "\n".join(lines) + "\n"


def _labels(labels: dict[str, str]) -> str:
    r"""Return labels as they stand behind a name.

    >>> _labels({"query": 'a "b"'}), _labels({})
    ('{query="a \\"b\\""}', '')
    """
    escaped = {
        k: v.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        for k, v in labels.items()
    }
    inside = ",".join(f'{name}="{value}"' for name, value in escaped.items())
    return f"{{{inside}}}" if inside else ""


class MetricsServer:
    """Serves ``/metrics`` until it is closed. Port 0 takes any that is free."""

    def __init__(
        self, port: int, progress: Callable[[], Progress], host: str = "127.0.0.1"
    ) -> None:
        try:
            self._server = ThreadingHTTPServer((host, port), _handler(progress))
        except OSError as error:
            raise RunError(
                f"cannot serve metrics on {host} port {port}",
                detail=str(error.strerror),
                hint="Choose another port with --metrics-port, or a host of this machine with "
                "--metrics-host.",
            ) from error
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self._server.server_address[1])

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(progress: Callable[[], Progress]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.partition("?")[0] != "/metrics":
                self.send_error(404, "look at /metrics")
                return
            body = exposition(progress()).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Requests are nobody's news."""

    return Handler
