"""Flush policies: which rows leave memory when room is needed. One policy per file."""
