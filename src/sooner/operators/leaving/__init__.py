"""Rows that leave memory: how much room is needed, which of them go, and how they are written."""
