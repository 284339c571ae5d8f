"""Sweeps through sorted runs, range by range of codes, in bounded memory."""
