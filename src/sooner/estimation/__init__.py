"""Online aggregation: what an aggregate over a join will be, and how sure that is, from the rows that have come."""
