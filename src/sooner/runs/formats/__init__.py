"""How runs and versions of a state are written to files and read again."""
