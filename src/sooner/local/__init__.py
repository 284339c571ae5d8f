"""The in-process engine: threads for sources, bounded queues, the wall clock."""
