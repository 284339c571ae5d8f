"""A left-deep plan of two-way joins that is itself an operator: one budget, and policies that see all of it."""
