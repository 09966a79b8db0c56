"""`windrow state DIR`: what is in a checkpoint."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from enum import Enum
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from windrow.core.time import Clock
from windrow.runtime.shards.describe import (
    CheckpointState,
    ShardState,
    describe,
    export_state,
)
from windrow.runtime.shards.limits import shown

NARROWEST = 100
"""Columns to assume where there is no terminal to ask."""


@click.command("state")
@click.argument("where", metavar="DIR")
@click.option("--verify", is_flag=True, help="Read every byte, and list what is damaged.")
@click.option("--json", "as_json", is_flag=True, help="For other programs.")
@click.option(
    "--arrow",
    metavar="FOLDER",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write there what operators stored at the newest snapshots, an Arrow file each.",
)
@click.pass_context
def command(
    ctx: click.Context, where: str, verify: bool, as_json: bool, arrow: Path | None
) -> None:
    """Show the queries, versions, log and snapshots in the checkpoint DIR, a path or a URI.

    Ends with code 1 if something is damaged.
    """
    found = describe(where, verify=verify)
    if arrow is not None:
        arrow.mkdir(parents=True, exist_ok=True)
        files = export_state(where, arrow)
        click.echo(f"{files} files in {arrow}")
    elif as_json:
        click.echo(json.dumps(asdict(found), indent=2, default=_plain))
    else:
        print_state(found, verified=verify)
    ctx.exit(0 if found.is_sound else 1)


def _plain(value: object) -> object:
    assert isinstance(value, Enum), "all else in a checkpoint's state is plain"
    return value.name


def print_state(found: CheckpointState, *, verified: bool) -> None:
    """Print what all shards run, a table with a row for each, and a sentence that sums it up."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=NARROWEST)
    console.print(f"queries      {', '.join(found.queries)}", markup=False)
    console.print(f"program      {found.fingerprint}, strategy {found.strategy}", markup=False)
    if found.held_by:
        console.print(f"in use by {found.held_by}", markup=False)
    for name, reached in sorted(newest(found).items()):
        console.print(f"stream       {name} has reached {moment(reached, found.clocks.get(name))}")
    console.print()
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("shard", "newest", "log", "rows in it", "snapshots"):
        table.add_column(title, header_style="bold")
    for shard in found.shards:
        table.add_row(*row(shard))
    console.print(table)
    console.print(f"\n{verdict(found, verified=verified)}", markup=False)
    for line in damages(found):
        console.print(f"[red]{line}[/]")


def newest(found: CheckpointState) -> dict[str, int]:
    """Return the newest time of each stream, as the furthest shard has it."""
    reached: dict[str, int] = {}
    for shard in found.shards:
        for name, at in shard.newest.items():
            reached[name] = max(reached.get(name, at), at)
    return reached


def moment(at: int, clock: Clock | None) -> str:
    """Return an instant for people."""
    if clock is Clock.TICKS:
        return str(at)
    return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)).isoformat(" ")


def row(shard: ShardState) -> tuple[str, ...]:
    """Return a shard's row of the table."""
    snapshots = ", ".join(f"{version_name(s.version)}: {shown(s.size)}" for s in shard.snapshots)
    begun = "" if shard.begun == shard.whole else f", {version_name(shard.begun)} begun"
    log = f"{shard.log_files} files, {shown(shard.log_bytes)}"
    version = f"{version_name(shard.whole)}{begun}"
    return f"{shard.number}", version, log, f"{shard.rows:,}", snapshots or "none yet"


def version_name(version: int) -> str:
    """Return a version for people: which batch of Spark made it.

    >>> version_name(0), version_name(2), version_name(9)
    ('nothing', 'batch 0', 'drain after batch 3')
    """
    if version == 0:
        return "nothing"
    batch = version // 2 - 1
    return f"drain after batch {batch}" if version % 2 else f"batch {batch}"


def verdict(found: CheckpointState, *, verified: bool) -> str:
    """Return the sentence that sums it up."""
    if not found.is_sound:
        return "Something is damaged:"
    wholes = {shard.whole for shard in found.shards}
    if len(wholes) > 1:
        return "The shards are not at the same version: the newest batch was not finished."
    looked = "Every byte is as it was written." if verified else "--verify reads all of it."
    return f"All shards are at {version_name(wholes.pop())}. {looked}"


def damages(found: CheckpointState) -> list[str]:
    """Return what is damaged, a line each."""
    lines = [line for shard in found.shards for line in shard.damage]
    return lines + [s.damage for shard in found.shards for s in shard.snapshots if s.damage]
