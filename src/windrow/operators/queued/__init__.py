"""Operators joined by queues: when expiries show, and what travels for them."""

from windrow.core.processor import Costs, Processor
from windrow.core.scheduling import LongestQueue, OldestFirst, RoundRobin, Scheduler
from windrow.operators.queued.approach import (
    AUTO,
    INPUT_TRIGGERED,
    NEGATIVE,
    PIGGYBACK,
    Approach,
    approach,
)
from windrow.operators.queued.delays import Delays
from windrow.operators.queued.pipeline import Pipeline
from windrow.operators.queued.timed import TimedPipeline, processor_stats, queue_stats

__all__ = [
    "AUTO",
    "INPUT_TRIGGERED",
    "NEGATIVE",
    "PIGGYBACK",
    "Approach",
    "Costs",
    "Delays",
    "LongestQueue",
    "OldestFirst",
    "Pipeline",
    "Processor",
    "RoundRobin",
    "Scheduler",
    "TimedPipeline",
    "approach",
    "processor_stats",
    "queue_stats",
]
