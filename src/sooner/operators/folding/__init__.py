"""The join of rectangles whose pairs are added up instead of spelled out: for aggregates, and estimates of them."""
