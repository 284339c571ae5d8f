"""What operators count of themselves: rows that came, stay and left, pairs that are open, regions of codes."""
