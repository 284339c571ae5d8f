"""Where answers go: files that appear when they are whole, Delta tables, and sinks of one's own."""
