"""Joins: of rows that say when they leave, of Z-sets, with NRRs; EXISTS, IN and their NOTs."""

from windrow.operators.join.fifo import FifoJoin
from windrow.operators.join.hash import HashJoin
from windrow.operators.join.match import Match, Residual, Side, TimeBand
from windrow.operators.join.mixed import MixedAntiJoinTask
from windrow.operators.join.nrr import NrrJoinTask
from windrow.operators.join.rows import Form
from windrow.operators.join.semi import AntiJoinTask, SemiJoinTask
from windrow.operators.join.told import ToldJoin, can_tell_ends
from windrow.operators.join.told_semi import ToldSemiJoin
from windrow.operators.join.zset import ZSetJoin

__all__ = [
    "AntiJoinTask",
    "FifoJoin",
    "Form",
    "HashJoin",
    "Match",
    "MixedAntiJoinTask",
    "NrrJoinTask",
    "Residual",
    "SemiJoinTask",
    "Side",
    "TimeBand",
    "ToldJoin",
    "ToldSemiJoin",
    "ZSetJoin",
    "can_tell_ends",
]
