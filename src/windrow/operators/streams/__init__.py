"""From a relation back to a stream, and answers at intervals."""

from windrow.operators.streams.changes import DelayTask, DstreamTask, IstreamTask, ProducedTask
from windrow.operators.streams.numbers import NumberTask, SlideInstantsTask
from windrow.operators.streams.recent import RecentAnswersTask
from windrow.operators.streams.refresh import RefreshTask
from windrow.operators.streams.whole import RstreamTask

__all__ = [
    "DelayTask",
    "DstreamTask",
    "IstreamTask",
    "NumberTask",
    "ProducedTask",
    "RecentAnswersTask",
    "RefreshTask",
    "RstreamTask",
    "SlideInstantsTask",
]
