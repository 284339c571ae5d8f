"""Policies for a plan of joins: which rows leave memory, wherever they lie, and which join works on disk."""
