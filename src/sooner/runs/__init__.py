"""Where rows live: sorted runs in memory and on disk, and the ledger of what has met."""
