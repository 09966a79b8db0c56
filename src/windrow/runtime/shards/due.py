"""When a snapshot is due: what a restart would replay is bounded, in rows and in seconds.

    log since the newest snapshot      due when it has
    ---------------------------------  ---------------------------------------------------------
    no snapshot yet                    100,000 rows, a second of work, or 16 versions
    bytes, both on the disk            2.5 times the bytes of the last snapshot, and 32 MB
    rows                               as many as the state, and 4 million; or what is asked for
    seconds that applying it took      10 seconds, and twice what writing the last snapshot took
    versions                           256: many small files are slow to read as well

The rule of bytes bounds what is written: on average at most 1.4 times the log, however large the
state is. The rules of rows and of seconds bound a restart, and write more where the state is large.

A process that ends in order leaves a snapshot as well, if the log since the newest one would take
a second, or has 100,000 rows: who starts again loads it, and replays nothing.

Pure: no clock, no file.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.core.errors import LimitError

ENVIRONMENT = "WINDROW_SNAPSHOT_ROWS"
"""Where a user says how many rows a shard may have to replay, whatever that costs."""

FIRST_ROWS, FIRST_SECONDS, FIRST_VERSIONS = 100_000, 1.0, 16
SMALLEST_LOG = 32 << 20
BYTES_RATIO = 2.5
MOST_ROWS = 4_000_000
MOST_SECONDS, SECONDS_RATIO = 10.0, 2.0
MOST_VERSIONS = 256


@dataclass(slots=True)
class LogSize:
    """How much log lies behind a snapshot. `seconds`: what its rows took to apply."""

    versions: int = 0
    rows: int = 0
    size: int = 0
    seconds: float = 0.0

    def add(self, rows: int, size: int, seconds: float = 0.0) -> None:
        """Count what a file holds, or what applying it took."""
        self.rows += rows
        self.size += size
        self.seconds += seconds

    def plus(self, other: LogSize) -> LogSize:
        """Return both together."""
        return LogSize(
            self.versions + other.versions,
            self.rows + other.rows,
            self.size + other.size,
            self.seconds + other.seconds,
        )

    def halved(self) -> LogSize:
        """Return half of it: after a failure, the next try comes when as much has come again."""
        return LogSize(self.versions // 2, self.rows // 2, self.size // 2, self.seconds / 2)


@dataclass(frozen=True, slots=True)
class Written:
    """A snapshot: its bytes on the disk, and the seconds that writing it took."""

    size: int
    seconds: float = 0.0


def is_worth_a_last(log: LogSize) -> bool:
    """Return whether a process that ends should write a snapshot: the replay would take long."""
    return log.rows >= FIRST_ROWS or log.seconds >= FIRST_SECONDS


def asked_rows(text: str | None) -> int | None:
    """Return the rows that a user asks for, if any.

    >>> asked_rows("250000"), asked_rows(None)
    (250000, None)
    """
    if text is None or not text.strip():
        return None
    if not text.strip().isdecimal() or int(text) < 1:
        raise LimitError(
            f"{ENVIRONMENT}={text} is no number of rows", hint="Write for example 250000."
        )
    return int(text)


def why_due(
    log: LogSize, state_rows: int, last: Written | None, asked: int | None = None
) -> str | None:
    """Return the rule by which a snapshot is due; None if none is. `asked`: rows, by the user.

    >>> why_due(LogSize(3, 200_000, 8 << 20, 0.1), 1_000_000, None)
    'first'
    >>> why_due(LogSize(3, 200_000, 8 << 20, 0.1), 1_000_000, Written(80 << 20)) is None
    True
    >>> why_due(LogSize(40, 5_000_000, 190 << 20, 3.0), 4_500_000, Written(360 << 20))
    'rows'
    """
    if asked is not None and log.rows >= asked:
        return "rows"
    if last is None:
        early = (log.rows >= FIRST_ROWS, log.seconds >= FIRST_SECONDS)
        return "first" if any(early) or log.versions >= FIRST_VERSIONS else None
    if log.size >= max(SMALLEST_LOG, BYTES_RATIO * last.size):
        return "bytes"
    if asked is None and log.rows >= max(MOST_ROWS, state_rows):
        return "rows"
    if log.seconds >= max(MOST_SECONDS, SECONDS_RATIO * last.seconds):
        return "seconds"
    return "versions" if log.versions >= MOST_VERSIONS else None
