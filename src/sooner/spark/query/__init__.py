"""A running query with joins in it: which joins these are, how far they have come, and when they are done."""
