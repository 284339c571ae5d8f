"""Rows by themselves: which of them match anything, and which nothing will match any more."""
