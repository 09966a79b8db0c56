"""From a relation back to a stream, and answers at intervals."""

from windrow.operators.streams.changes import DelayTask, DstreamTask, IstreamTask
from windrow.operators.streams.refresh import RefreshTask
from windrow.operators.streams.whole import RstreamTask

__all__ = ["DelayTask", "DstreamTask", "IstreamTask", "RefreshTask", "RstreamTask"]
