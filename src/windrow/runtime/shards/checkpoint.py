"""`windrow.json`: whose state lies in a checkpoint, and whether a program may go on with it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from uuid import uuid4

from windrow.core.errors import RunError, StateError, WindrowError
from windrow.runtime.shards.files import DRAFT, Files, open_files
from windrow.runtime.shards.lease import FOLDER as LEASE
from windrow.runtime.shards.optimized import forget_plans, plans_text, use_plans
from windrow.runtime.shards.program import Program

NAME = "windrow.json"
PLANS = "plans.json"
"""The physical plans of the run, as data: written by its driver, read by its shards."""
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What `windrow.json` says. `claim` is new each time that a checkpoint is begun."""

    program: Program
    fingerprint: str
    claim: str


def placed_by(where: str, program: Program) -> Program:
    """Return a program with what its checkpoint was begun with, if it was.

    That stays, whatever streams declare by now, and wherever it runs: state depends on it.
    """
    if program.begun is not None or not open_files(where).exists(NAME):
        return program.placed()
    return replace(program, begun=read_checkpoint(where).program.begun)


def require_folder(where: str) -> None:
    """Refuse a file as checkpoint."""
    if open_files(where).is_a_file():
        raise RunError(
            f"the checkpoint {where} is a file",
            detail="A checkpoint is a folder: it holds the state of queries, and how far they are.",
            hint="Give a folder, new or of an earlier run: --checkpoint DIR, checkpoint='DIR'.",
        )


def require_place(where: str) -> None:
    """Refuse a place where no checkpoint can be: a file, or a folder that holds something else."""
    require_folder(where)
    files = open_files(where)
    if files.exists(NAME) or "shards" in files.folders(""):
        return  # the second is damaged, and `open_checkpoint` says so
    foreign = [name for name in sorted(files.sizes("")) if not name.endswith(DRAFT)]
    foreign += [name for name in files.folders("") if not _is_ours(files, name)]
    if foreign:
        raise RunError(
            f"the folder {where} is no checkpoint, and it is not empty",
            detail=f"It holds {_listed(foreign)}, and no {NAME}.",
            hint="Give an empty or a new folder, or the checkpoint of an earlier run.",
        )


def _is_ours(files: Files, folder: str) -> bool:
    """Return whether a folder in a checkpoint that is not begun yet may be there.

    A run that ended before it began has left its lease; queries that run by themselves have
    checkpoints of their own, in folders of their names.
    """
    if folder == LEASE or files.exists(f"{folder}/{NAME}"):
        return True
    return files.folders(folder) == [LEASE] and not files.sizes(folder)


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def open_checkpoint(where: str, program: Program) -> Checkpoint:
    """Claim a checkpoint for a program, or find that it is the program's already.

    Raises `StateError` if its state is another program's, and says what has changed.
    """
    files, program = open_files(where), program.placed()
    if not files.exists(NAME):
        _claim(files, where, program)
    found = read_checkpoint(where)
    if found.fingerprint != program.fingerprint:
        if _is_same(found.program, program):
            raise StateError(
                f"the checkpoint {where} was made by another version of windrow",
                detail="The program is the same; its plans have another form in this version.",
                hint="Go on with the windrow that made it, or start with a new checkpoint.",
            )
        raise StateError(
            f"the checkpoint {where} holds the state of another program",
            detail=" ".join(changes(found.program, program)),
            hint="Start the changed program with a new checkpoint, or run the one that it was.",
        )
    _publish_plans(files, found.program)
    return found


def _publish_plans(files: Files, program: Program) -> None:
    """Write the plans for shards, unless they are there: so that these do not make them again."""
    text = plans_text(program).encode()
    if files.exists(PLANS) and bytes(files.read(PLANS)) == text:
        return
    draft = files.draft(PLANS)
    draft.write(text)
    draft.publish()
    draft.sync()
    files.sync("")


def use_published_plans(where: str, checkpoint: Checkpoint) -> None:
    """Take over the plans that the driver of a run has written.

    They must be those that the state in the checkpoint was made by. A file that is damaged, or is
    of another program, is not used: then the plans are made here.
    """
    files = open_files(where)
    if not files.exists(PLANS):
        return
    program = checkpoint.program
    try:
        use_plans(program, bytes(files.read(PLANS)).decode(errors="replace"))
        if program.fingerprint == checkpoint.fingerprint:
            return
    except (StateError, ValueError):  # it does not fit the program, or cannot be read
        pass
    forget_plans()


def _claim(files: Files, where: str, program: Program) -> None:
    if files.folders("shards"):
        raise StateError(
            f"{where}/{NAME} is missing, though there is state beside it",
            hint="Bring the file back from a copy, or start anew with an empty checkpoint.",
        )
    said = {
        "format": FORMAT,
        "claim": uuid4().hex,
        "fingerprint": program.fingerprint,
        "shards": program.shards,
        "program": json.loads(program.to_json()),
    }
    files.make("")
    draft = files.draft(NAME)
    draft.write(json.dumps(said, indent=2).encode())
    if draft.claim():
        draft.sync()
        files.sync("")
    else:
        draft.abandon()


def read_checkpoint(where: str) -> Checkpoint:
    """Return what a checkpoint says of itself; `StateError` if it says nothing."""
    try:
        read = json.loads(bytes(open_files(where).read(NAME)))
        if read["format"] != FORMAT:
            raise StateError(
                f"the checkpoint {where} has format {read['format']}",
                detail=f"This windrow reads format {FORMAT}.",
                hint="Start the query anew, or with the windrow that wrote the checkpoint.",
            )
        program = Program.from_json(json.dumps(read["program"]))
        return Checkpoint(program, read["fingerprint"], read["claim"])
    except FileNotFoundError:
        raise StateError(
            f"{where} is no checkpoint of windrow",
            detail=f"There is no {NAME} in it.",
            hint="Give the folder that was given as the checkpoint of a run.",
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise StateError(
            f"{where}/{NAME} is damaged",
            detail=str(error),
            hint="Bring the file back from a copy, or start anew with an empty checkpoint.",
        ) from error


def changes(old: Program, new: Program) -> list[str]:
    """Return a sentence for each thing in which two programs differ."""
    said = []
    if old.shards != new.shards:
        said.append(f"It was made for {old.shards} shards, not {new.shards}.")
    if old.strategy != new.strategy:
        said.append(f"It was made with strategy {old.strategy}, not {new.strategy}.")
    merged, merges = _merged(old), _merged(new)
    said += [f'Tuples of query "{name}" were merged by pane.' for name in merged - merges]
    said += [f'Tuples of query "{name}" were not merged by pane.' for name in merges - merged]
    joined, joins = _joins(old), _joins(new)
    if joined != joins:
        said.append(
            f"Streams were joined by {_join_list(joined)}, and now would be by {_join_list(joins)}."
        )
    folded, folds = _folded(old), _folded(new)
    when = "before their rows changed shards"
    said += [f'Groups of query "{name}" were folded {when}.' for name in sorted(folded - folds)]
    said += [f'Groups of query "{name}" were not folded {when}.' for name in sorted(folds - folded)]
    streamed, streams = _by_stream(old), _by_stream(new)
    said += [f'Relation "{name}" changed by stream.' for name in sorted(streamed - streams)]
    said += [f'Relation "{name}" did not change by stream.' for name in sorted(streams - streamed)]
    said += [f'Query "{name}" is gone.' for name in old.queries if name not in new.queries]
    said += [f'Query "{name}" is new.' for name in new.queries if name not in old.queries]
    both = [name for name in old.queries if name in new.queries]
    before, after = _plans(old), _plans(new)
    ran, runs = _identities(old), _identities(new)
    for name in both:
        if before.get(name) != after.get(name):
            said.append(f'Query "{name}" has changed, or an input that it reads.')
        elif ran.get(name) != runs.get(name) and not said:
            said.append(
                f'Query "{name}" would run by another plan: a setting has changed, such as expiry, '
                "join_algorithm or early_aggregation."
            )
    if _ticks(old) != _ticks(new):
        said.append("A heartbeat of a stream, or expiry_pace, was set or dropped.")
    old_digests = {a.name: a.digest for a in old.aggregates}
    for aggregate in new.aggregates:
        if old_digests.get(aggregate.name, aggregate.digest) != aggregate.digest:
            said.append(f'The aggregate "{aggregate.name}" has changed.')
    return said or ["The order of its queries has changed."]


def _is_same(old: Program, new: Program) -> bool:
    """Return whether this version of windrow makes the same plans of both."""
    try:
        return old.fingerprint == new.fingerprint
    except WindrowError:
        return False


def _merged(program: Program) -> set[str]:
    try:
        return set(program.merged())
    except WindrowError:
        return set()


def _joins(program: Program) -> list[str]:
    try:
        return program.joins()
    except WindrowError:
        return []


def _folded(program: Program) -> set[str]:
    try:
        return set(program.folded())
    except WindrowError:
        return set()


def _join_list(joins: list[str]) -> str:
    return ", ".join(joins) or "trees of binary joins"


def _by_stream(program: Program) -> set[str]:
    try:
        return set(program.by_stream())
    except WindrowError:
        return set()


def _identities(program: Program) -> dict[str, str]:
    """Return the identity of each query's physical plan; none if it cannot be made any more."""
    try:
        plans = zip(program.queries, program.physical(), strict=True)
        return {name: plan.identity for name, plan in plans}
    except WindrowError:
        return {}


def _ticks(program: Program) -> bool:
    try:
        return program.ticks()
    except WindrowError:
        return False


def _plans(program: Program) -> dict[str, str]:
    """Return the plan of each query; none if an old text is no longer understood."""
    try:
        return dict(zip(program.queries, program.plans(), strict=True))
    except WindrowError:
        return {}
