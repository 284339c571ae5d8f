"""A state between two runs of its query: what is in it, whether it is whole, and more partitions for it."""
