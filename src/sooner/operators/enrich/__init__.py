"""A stream that is looked up in a master table far larger than memory: MESHJOIN, SSBJ, and a probe of sorted blocks."""
