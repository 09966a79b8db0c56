"""Joins: of rows that carry `exp`, of Z-sets, with NRRs; EXISTS, IN and their NOTs."""

from windrow.operators.join.expiring import ExpiringJoin, ExpiringSemiJoin
from windrow.operators.join.fifo import FifoJoin
from windrow.operators.join.hash import HashJoin
from windrow.operators.join.match import Match, Residual, Side
from windrow.operators.join.nrr import NrrJoinTask
from windrow.operators.join.partly_signed import PartlySignedAntiJoin
from windrow.operators.join.semi import AntiJoinTask, SemiJoinTask
from windrow.operators.join.zset import ZSetJoin
from windrow.physical.conditions import Form, TimeBand

__all__ = [
    "AntiJoinTask",
    "ExpiringJoin",
    "ExpiringSemiJoin",
    "FifoJoin",
    "Form",
    "HashJoin",
    "Match",
    "NrrJoinTask",
    "PartlySignedAntiJoin",
    "Residual",
    "SemiJoinTask",
    "Side",
    "TimeBand",
    "ZSetJoin",
]
