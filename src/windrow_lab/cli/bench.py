"""`windrow bench`: how fast windrow is, with answers checked before clocks are believed."""

from __future__ import annotations

import click

from windrow_lab.bench.aggregation import aggregation
from windrow_lab.bench.compare import compare
from windrow_lab.bench.expiry import expiry
from windrow_lab.bench.joins import joins
from windrow_lab.bench.kernel import kernel
from windrow_lab.bench.spark import spark
from windrow_lab.nexmark import nexmark
from windrow_lab.peers import peers


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
