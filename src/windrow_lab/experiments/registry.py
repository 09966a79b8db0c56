"""All experiments by name, in the order of the papers."""

from __future__ import annotations

from typing import Any

from windrow.core.errors import InputError
from windrow.core.naming import near
from windrow_lab.experiments.aggjoins.showcases import AggJoinFigure10
from windrow_lab.experiments.aggjoins.varied import (
    AggJoinFigure6,
    AggJoinFigure7,
    AggJoinFigure8,
    AggJoinFigure9,
)
from windrow_lab.experiments.holds.waiting import ThesisHold
from windrow_lab.experiments.library.experiment import Experiment
from windrow_lab.experiments.links.partitions import Query1Partitions
from windrow_lab.experiments.links.query1 import Query1Ftp, Query1Telnet
from windrow_lab.experiments.links.query2 import Query2Pairs, Query2Source
from windrow_lab.experiments.links.query3 import Query3
from windrow_lab.experiments.links.query4 import Query4
from windrow_lab.experiments.negatives.delays import NegFigure10, NegFigure11, NegFigure12
from windrow_lab.experiments.negatives.messages import NegFigure13
from windrow_lab.experiments.negatives.piggyback import (
    NegFigure14a,
    NegFigure14b,
    NegFigure15a,
    NegFigure15b,
)
from windrow_lab.experiments.orders.buckets import MultiFigure4a, MultiFigure4b
from windrow_lab.experiments.orders.figure52 import ThesisFigure52
from windrow_lab.experiments.orders.intervals import MultiFigure3
from windrow_lab.experiments.orders.lazy import ThesisLazy
from windrow_lab.experiments.orders.scaling import MultiFigure2
from windrow_lab.experiments.orders.table8 import MultiTable8
from windrow_lab.experiments.wjoins.rates import (
    WJoinFigure9a,
    WJoinFigure9b,
    WJoinFigure9c,
    WJoinWindows,
)
from windrow_lab.experiments.wjoins.stores import WJoinFigures78
from windrow_lab.experiments.wjoins.variations import WJoinFigure13, WJoinFigure14

ALL: tuple[type[Experiment[Any]], ...] = (
    Query1Ftp,
    Query1Telnet,
    Query1Partitions,
    Query2Source,
    Query2Pairs,
    Query3,
    Query4,
    NegFigure10,
    NegFigure11,
    NegFigure12,
    NegFigure13,
    NegFigure14a,
    NegFigure14b,
    NegFigure15a,
    NegFigure15b,
    MultiFigure2,
    MultiFigure3,
    MultiFigure4a,
    MultiFigure4b,
    MultiTable8,
    ThesisFigure52,
    ThesisLazy,
    ThesisHold,
    WJoinFigures78,
    WJoinFigure9a,
    WJoinFigure9b,
    WJoinFigure9c,
    WJoinWindows,
    WJoinFigure13,
    WJoinFigure14,
    AggJoinFigure6,
    AggJoinFigure7,
    AggJoinFigure8,
    AggJoinFigure9,
    AggJoinFigure10,
)
EXPERIMENTS: dict[str, type[Experiment[Any]]] = {kind.name: kind for kind in ALL}


def find(name: str) -> type[Experiment[Any]]:
    """Return an experiment by its name."""
    if name not in EXPERIMENTS:
        raise InputError(
            f'there is no experiment "{name}"',
            hint=near(name, list(EXPERIMENTS)) or "windrow experiment list shows them all.",
        )
    return EXPERIMENTS[name]
