"""Any operator inside a streaming query: how its inputs flow in, the pacemaker that keeps batches coming, the steps.

It stands on `sources`, `shuffle` and `step`; what it makes is a DataFrame, which `sinks` write and `query` runs.
"""
