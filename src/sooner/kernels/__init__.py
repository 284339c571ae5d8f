"""Pure functions on arrays: codes, order, matching. No state, no self, no I/O."""
