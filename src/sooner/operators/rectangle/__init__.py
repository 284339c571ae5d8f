"""The join of growing rectangles: rows wait, and a partition is joined as a whole when a rule says so."""
