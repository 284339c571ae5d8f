"""A flush policy that knows what will arrive: the bound that no honest policy beats (as Belady's for caches)."""
