"""`windrow doctor`: can this machine run windrow, and if not, what to do."""

from __future__ import annotations

import json
from dataclasses import asdict

import click
from rich.console import Console
from rich.table import Table

from windrow.cli.checks import CheckResult, cluster_findings, findings

COLOURS = {"ok": "green", "warn": "yellow", "missing": "red"}
NARROWEST = 100
"""Columns to assume where there is no terminal to ask."""


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="For other programs.")
@click.option(
    "--cluster",
    metavar="URL",
    help="Check a cluster too: its executors, their Python and packages, clocks and memory.",
)
@click.option(
    "--checkpoint", metavar="DIR", help="With --cluster: a folder that all of it must see."
)
@click.pass_context
def command(ctx: click.Context, as_json: bool, cluster: str | None, checkpoint: str | None) -> None:
    """Check Python, Java, packages, cores, memory and disk; and a cluster, if one is named.

    Ends with code 1 if something that windrow cannot do without is missing.
    """
    found = list(findings())
    if cluster is not None:
        found += cluster_findings(cluster, checkpoint)
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in found], indent=2))
    else:
        print_findings(found)
    ctx.exit(1 if any(finding.status == "missing" for finding in found) else 0)


def print_findings(found: list[CheckResult]) -> None:
    """Print the table, then one sentence that sums it up."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=NARROWEST)
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("", "need", "found", "what it means", "next step"):
        table.add_column(title, header_style="bold")
    for finding in found:
        status = f"[{COLOURS[finding.status]}]{finding.status}[/]"
        table.add_row(status, finding.need, finding.found, finding.meaning, finding.next_step)
    console.print(table)
    console.print(f"\n{verdict(found)}")


def verdict(found: list[CheckResult]) -> str:
    """Return the sentence that sums the findings up."""
    missing = [finding.need for finding in found if finding.status == "missing"]
    if missing:
        return f"windrow cannot run yet: {', '.join(missing)}."
    warned = [finding.need for finding in found if finding.status == "warn"]
    if warned:
        return f"windrow can run; look at {', '.join(warned)}."
    return "windrow can run here."
