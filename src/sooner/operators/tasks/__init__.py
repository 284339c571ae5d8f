"""Work on rows on disk, in quanta: what a task reads and writes, and what is true when it is done."""
