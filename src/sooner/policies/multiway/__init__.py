"""What leaves memory of a join of many inputs when that is full."""
