"""A step: one partition, one batch, from one version of the state to the next."""
