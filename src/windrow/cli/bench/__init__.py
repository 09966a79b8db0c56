"""`windrow bench`: how fast windrow is, with answers checked before clocks are believed."""

from __future__ import annotations

import click

from windrow.cli.bench.aggregation import aggregation
from windrow.cli.bench.compare import compare
from windrow.cli.bench.expiry import expiry
from windrow.cli.bench.joins import joins
from windrow.cli.bench.kernel import kernel
from windrow.cli.bench.nexmark import nexmark
from windrow.cli.bench.peers import peers
from windrow.cli.bench.spark import spark


@click.group("bench")
def command() -> None:
    """Measure windrow on this machine."""


command.add_command(aggregation)
command.add_command(compare)
command.add_command(expiry)
command.add_command(joins)
command.add_command(kernel)
command.add_command(nexmark)
command.add_command(peers)
command.add_command(spark)
