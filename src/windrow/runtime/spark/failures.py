"""What went wrong in a run, in our own words: out of Spark's traces, the sentence that matters."""

from __future__ import annotations

import re
from collections.abc import Collection

from windrow.core import errors
from windrow.core.errors import RunError, WindrowError
from windrow.runtime.shards.repeats import REPEATING

OURS = re.compile(
    r"windrow\.core\.errors\.(\w+): (error: .*?)(?=\n\s*SQLSTATE|\n\tat |\n\n|\Z)", re.S
)
"""One of our errors at the end of a Python traceback, inside whatever Spark makes of it."""

SENTENCE = re.compile(
    r"^(?:: |Caused by: )?(?:[\w$]+[.$])*(\w*(?:Error|Exception|Failure))\b: (.*)$", re.M
)
"""The last line of a traceback of Python; in one of Java each that names an exception: the first,
which py4j puts after a colon, and those of the causes."""

WRAPPERS = ("Py4JException", "Py4JJavaError", "StreamingQuery", "ExecutionException")
"""Exceptions that only say that there was another."""

EMPTY = ("Exception thrown in awaitResult", "An error occurred while calling")

READING = re.compile(r"Encountered error while reading file (\S+?)\.(?=\s|$)")
"""Spark's word on a file: in its own encoding, so without blanks."""

TOGETHER = "because barrier task"
"""What Spark says when it gives a batch up because one of the tasks that run at once has failed."""

NO_ROOM = "No space left on device"
"""What Java and Python say of a full disk."""

STREAM = re.compile(r"^\[STREAM_FAILED\] .*? terminated with exception: ")
SQLSTATE = re.compile(r"\s*SQLSTATE: \w+\s*$")
NEXT_STEP = "Mend that, then start it again with the same checkpoint: it goes on where it was."


def explained(failure: BaseException, queries: Collection[str] = ()) -> WindrowError:
    """Return the error that a run of these queries ended with, as the user should read it."""
    if isinstance(failure, WindrowError):
        return failure
    text = str(failure)
    found = OURS.findall(text)
    if found:
        return rebuilt(*found[-1])
    named = f"the run of {', '.join(queries)}" if queries else "the run"
    file = unread_file(text)
    if file is None:
        return RunError(f"{named} has failed", detail=reason(text), hint=NEXT_STEP)
    return RunError(
        f"{named} has failed: it cannot read {file}",
        detail=reason(text),
        hint="Mend the file in place, then start it again with the same checkpoint.",
    )


def unread_file(text: str) -> str | None:
    """Return the file that Spark could not read, if a trace names one."""
    found = READING.findall(text)
    return found[-1] if found else None


def lost_together(failure: BaseException) -> bool:
    """Return whether a batch was given up for one task, which Spark repeats in other stages."""
    return TOGETHER in str(failure)


def will_repeat(failure: BaseException) -> bool:
    """Return whether a batch would fail in the same way again: there is no room for it."""
    text = str(failure)
    return NO_ROOM in text or any(name in REPEATING for name, _ in OURS.findall(text))


def rebuilt(name: str, text: str) -> WindrowError:
    r"""Return an error as it was before it became text.

    >>> rebuilt("StateError", "error: it is damaged\ndetail: Byte 7.\nhint: Copy it.").detail
    'Byte 7.'
    """
    kind = getattr(errors, name, RunError)
    parts = re.split(r"^(detail|hint): ", SQLSTATE.sub("", text), flags=re.M)
    named = dict(zip(parts[1::2], (p.strip() for p in parts[2::2]), strict=True))
    message = parts[0].removeprefix("error: ").strip()
    made = kind(message, detail=named.get("detail", ""), hint=named.get("hint", ""))
    assert isinstance(made, WindrowError), f"{name} is no error of ours"
    return made


def reason(text: str) -> str:
    """Return the sentence of a trace that says most: the last cause that it names."""
    said = [
        f"{name}: {SQLSTATE.sub('', what).strip()}"
        for name, what in SENTENCE.findall(text)
        if what.strip() and not name.startswith(WRAPPERS) and not what.startswith(EMPTY)
    ]
    first = text.strip().splitlines()[0] if text.strip() else "Spark gives no reason."
    return (said or [SQLSTATE.sub("", STREAM.sub("", first))])[-1][:500]
