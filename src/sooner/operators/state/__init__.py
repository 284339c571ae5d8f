"""All that a join knows between two calls."""
