"""Many inputs in one operator, over one or several attributes, with no intermediate state."""
