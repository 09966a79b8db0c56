"""``python -m tests.papers.mutants``: bugs put back on purpose, each found by the random cases.

A mutant is a patch of the engine that brings one bug back. It is found if a case among the first
`CASES` differs. A patch replaces a name of the engine for the time of the search.
"""
# ruff: noqa: T201 - a command prints

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from unittest import mock

from tests.papers import bugs
from tests.papers.__main__ import Options, judged, written
from windrow.plan.nodes import Istream

CASES = 2000
"""Within so many cases each bug must be found."""

Patch = Callable[[], AbstractContextManager[object]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A bug: its number, what it does, and how it is put back."""

    number: str
    what: str
    patches: tuple[Patch, ...]


def replacing(target: str, wrong: object) -> Patch:
    """Return a patch that replaces a name of the engine, such as ``windrow.a.b.Class.method``."""
    return lambda: mock.patch(target, wrong)


OUTPUTS, DATABASE = "windrow.plan.binding.outputs", "windrow.runtime.local.database.Database"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "1",
        "INTERNAL and windows on sub-queries emit the net of an instant",
        (replacing(f"{OUTPUTS}.Produced", Istream),),
    ),
    Mutant(
        "2",
        "an NRR is read at the time of a relation's row",
        (replacing("windrow.optimize.passes.prepared", lambda plan: plan),),
    ),
    Mutant(
        "3",
        "an aggregate over [ROWS n SLIDE m INTERNAL] skips a value that does not change",
        (replacing("windrow.plan.binding.blocks._slide_instants", lambda *_: ()),),
    ),
    Mutant(
        "4",
        "RESTORE counts rows by value, not results",
        (replacing("windrow.optimize.passes.identify_results", bugs.identify_but_restored),),
    ),
    Mutant(
        "4b",
        "ISTREAM RESTORE streams net insertions",
        (replacing(f"{OUTPUTS}.Delay", bugs.delay_of_net),),
    ),
    Mutant(
        "5",
        "a query over relations with rows is empty until one of them changes",
        (replacing(f"{DATABASE}._show_relations", bugs.show_rows_later),),
    ),
    Mutant(
        "5b",
        "a view over relations alone emits no changes",
        (
            replacing(
                "windrow.runtime.local.query.RunningQuery.changes", bugs.no_changes_of_relations
            ),
        ),
    ),
    Mutant(
        "6",
        "an error of one query loses the push for the queries after it",
        (replacing(f"{DATABASE}._bring_up", bugs.raise_at_once),),
    ),
    Mutant(
        "7",
        "a relation's late change takes effect at the clock",
        (replacing(f"{DATABASE}._reached", bugs.never_late),),
    ),
    Mutant(
        "8",
        "answer() with LIMIT by a key that is not selected is shown in any order",
        (replacing("windrow.runtime.local.query.sort_table", bugs.shown_by_selected_keys),),
    ),
    Mutant(
        "8b",
        "before the first event answer() has a row that no change has emitted",
        (
            replacing(
                "windrow.runtime.local.query.RunningQuery._answer_now",
                bugs.answered_before_the_first_event,
            ),
        ),
    ),
)


def search(mutant: Mutant, cases: int = CASES, first: int = 1) -> tuple[int, str] | None:
    """Return the number of cases after which a mutant is found, and the smallest case."""
    options = Options(duckdb_share=0.0)
    with ExitStack() as stack:
        for patch in mutant.patches:
            stack.enter_context(patch())
        for count, seed in enumerate(range(first, first + cases), 1):
            differences = judged(seed, options).differences
            if differences:
                return count, written(*differences[0], options)
    return None


def main(arguments: list[str]) -> int:
    """Search for all mutants, or for those whose numbers are given; 1 if one is not found."""
    missed = 0
    for mutant in MUTANTS:
        if arguments and mutant.number not in arguments:
            continue
        found = search(mutant)
        missed += found is None
        after = "NOT FOUND" if found is None else f"found after {found[0]} cases"
        print(f"{mutant.number:3} {after}: {mutant.what}", flush=True)
        if found is not None:
            print(found[1], end="\n\n", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
