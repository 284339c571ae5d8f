"""Which batch of its query a task works for."""

from pyspark import TaskContext


def batch_of_this_task() -> int:
    """Its number; 0 outside of a task of a streaming query."""
    context = TaskContext.get()
    return 0 if context is None else int(context.getLocalProperty("streaming.sql.batchId") or 0)
