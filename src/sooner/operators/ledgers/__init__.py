"""What has met already: by stamps of rows and cells of runs, or by horizons of partitions."""
