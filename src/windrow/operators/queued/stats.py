"""What `q.stats()` shows of queues, and of the processor."""

from __future__ import annotations

from windrow.operators.queued.pipeline import Pipeline
from windrow.operators.queued.timed import TimedPipeline


def queue_stats(pipeline: Pipeline, stage: int) -> dict[str, object]:
    """Return what an operator has read from its queues, and what waits there; leaves have none.

    `messages_purged` were dropped because something followed them, `messages_carried` is how many
    entries then brought their news.
    """
    if stage in pipeline.leaves:
        return {}
    queues = pipeline.waiting_for(stage)
    counts = [q.counts for q in queues]
    return {
        "rows_read": sum(c.rows for c in counts),
        "messages_read": sum(c.messages for c in counts),
        "messages_purged": sum(c.purged for c in counts),
        "messages_carried": sum(c.carriers for c in counts),
        "waiting": sum(map(len, queues)),
        "longest_queue": max((c.longest for c in counts), default=0),
    }


def processor_stats(pipeline: Pipeline | None, scale: float) -> dict[str, object]:
    """Return until when the processor has worked and for how long, in units of `scale`."""
    if not isinstance(pipeline, TimedPipeline):
        return {}
    worked = pipeline.processor
    return {"processor": {"now": worked.now / scale, "busy": worked.busy / scale}}
