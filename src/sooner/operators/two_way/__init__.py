"""The two-way equi-join: sorted runs of two sides, in memory and on disk, whose cells are covered once each."""
