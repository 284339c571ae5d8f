"""What Spark has, in Arrow's and Python's terms: types, locations, the streams of a plan, batches. The lowest room."""
