"""Mutated texts through the parser: nothing but errors with a place may come out, and soon.

    python -m tests.fuzz.fuzz_language --seconds 60
    python -m tests.fuzz.fuzz_language --count 100000 --seed 7

`targets` lists what each text is run through; whoever builds on the tree adds to it.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from tests.fuzz.corpus import CORPUS, SPICE

from windrow.core.errors import WindrowError
from windrow.language import parse_script, print_script
from windrow.plan.catalog import Catalog
from windrow.plan.explain import explain_text
from windrow.plan.nodes import Query
from windrow.plan.session import Session

Target = Callable[[str], None]

SLOW = 1.0  # seconds that one text may take
TOKEN = re.compile(r"\w+|\s+|'[^']*'|.", re.DOTALL)
CHARACTERS = " \n\t()[]{}<>,;:.'\"`“”‘’-+*/%=|&!~?@#$\\_0159aZé𝄞\x00τ"


class FuzzError(AssertionError):
    """A text that broke a rule; the text is in the message, so that it can become a test."""


def targets() -> tuple[Target, ...]:
    """Return what each text is run through."""
    return (parses_and_prints, binds_and_explains)


def parses_and_prints(text: str) -> None:
    """What parses prints and parses to the same; the rest fails with an error that has a place."""
    try:
        statements = parse_script(text)
    except WindrowError as error:
        check_error(error, text)
        return
    printed = print_script(statements)
    again = parse_script(printed)
    assert again == statements, f"parsed differently after printing: {printed!r}"
    assert print_script(again) == printed, f"printed differently the second time: {printed!r}"


def binds_and_explains(text: str) -> None:
    """What parses binds over a rich catalog and explains itself, or fails with a place as well."""
    session = Session(Catalog(dict(declared().entries)))
    try:
        results = session.execute(text)
    except WindrowError as error:
        check_error(error, text)
        return
    for result in results:
        if isinstance(result, Query):
            assert explain_text(result), "the plan explains to nothing"


@cache
def declared() -> Catalog:
    """Return a catalog in which most names of the corpus mean something."""
    session = Session()
    columns = "a BIGINT, b BIGINT, c BIGINT, d STRING, x DOUBLE, src STRING, length BIGINT"
    for name in ("s", "t", "u", "v", "link1", "link2", "S1", "S2", "Stream1", "Stream2"):
        session.execute(f"CREATE STREAM {name} (ts TIMESTAMP, {columns}) TIMESTAMP BY ts")
    for name in ("k", "Camera1", "Camera2", "Store1", "Store2"):
        session.execute(f"CREATE STREAM {name} (ts BIGINT, {columns}, ObjID INT) TIMESTAMP BY ts")
    for name in ("w", "hosts"):
        session.execute(f"CREATE RELATION {name} ({columns})")
    session.execute(f"CREATE NON RETROACTIVE RELATION y ({columns})")
    return session.catalog


def check_error(error: WindrowError, text: str) -> None:
    """An error has a message, a place in the text, and a next step."""
    assert error.span is not None, "the error has no place"
    assert 0 <= error.span.start <= error.span.end <= len(text), f"{error.span} is outside"
    assert error.text == text, "the error does not know its text"
    assert error.hint, f"the error tells no next step: {error.message}"
    assert error.render(), "the error renders to nothing"


# -- mutations ------------------------------------------------------------------------------------


def mutated(rng: random.Random) -> str:
    """Return a text of the corpus with a few things changed."""
    text = rng.choice(CORPUS)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
        text = rng.choice((change_tokens, change_tokens, change_characters))(rng, text)
    return text


def change_tokens(rng: random.Random, text: str) -> str:
    """Drop, double, swap, replace or splice tokens."""
    tokens = TOKEN.findall(text) or [""]
    at = rng.randrange(len(tokens))
    match rng.randrange(6):
        case 0:
            del tokens[at]
        case 1:
            tokens.insert(at, tokens[at])
        case 2:
            other = rng.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        case 3:
            tokens[at] = f" {rng.choice(SPICE)} "
        case 4:
            tokens.insert(at, f" {rng.choice(SPICE)} ")
        case _:
            donor = TOKEN.findall(rng.choice(CORPUS))
            start = rng.randrange(len(donor))
            tokens[at:at] = donor[start : start + rng.randrange(1, 12)]
    return "".join(tokens)


def change_characters(rng: random.Random, text: str) -> str:
    """Drop, insert, replace or repeat characters."""
    at = rng.randrange(len(text) + 1)
    match rng.randrange(4):
        case 0:
            return text[:at] + text[at + rng.randrange(1, 4) :]
        case 1:
            return text[:at] + rng.choice(CHARACTERS) + text[at:]
        case 2:
            return text[:at] + rng.choice(CHARACTERS) + text[at + 1 :]
        case _:
            return text[:at] + text[max(0, at - 3) : at] * rng.randrange(1, 60) + text[at:]


# -- runs -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class Report:
    """What a run saw."""

    seed: int
    texts: int = 0
    seconds: float = 0.0
    slowest: float = 0.0

    def __str__(self) -> str:
        rate = self.texts / self.seconds if self.seconds else 0.0
        return (
            f"seed {self.seed}: {self.texts} texts in {self.seconds:.1f} s ({rate:.0f} a second), "
            f"slowest {self.slowest * 1000:.0f} ms"
        )


def texts(seed: int) -> Iterator[str]:
    """Yield the corpus as it stands, then mutations for ever."""
    yield from CORPUS
    rng = random.Random(seed)
    while True:
        yield mutated(rng)


def run(seed: int, *, count: int | None = None, seconds: float | None = None) -> Report:
    """Run texts through all targets until `count` or `seconds` is reached."""
    report = Report(seed)
    started = time.perf_counter()
    for text in texts(seed):
        if (count is not None and report.texts >= count) or (
            seconds is not None and time.perf_counter() - started >= seconds
        ):
            break
        for target in targets():
            report.slowest = max(report.slowest, timed(target, text))
        report.texts += 1
    report.seconds = time.perf_counter() - started
    return report


def timed(target: Target, text: str) -> float:
    """Run one text through one target; fail if it breaks a rule or takes too long."""
    started = time.process_time()
    try:
        target(text)
    except Exception as error:
        message = f"{target.__name__}: {type(error).__name__}: {error}\ntext: {text!r}"
        raise FuzzError(message) from error
    taken = time.process_time() - started
    if taken > SLOW:
        raise FuzzError(f"{target.__name__} took {taken:.1f} s\ntext: {text!r}")
    return taken


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    options = parser.parse_args(arguments)
    sys.stdout.write(f"seed {options.seed}\n")
    seconds = 60.0 if options.seconds is None and options.count is None else options.seconds
    report = run(options.seed, count=options.count, seconds=seconds)
    sys.stdout.write(f"{report}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
