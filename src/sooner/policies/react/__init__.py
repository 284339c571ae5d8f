"""React policies: which cells to cover next from disk while the sources are silent. One policy per file."""
