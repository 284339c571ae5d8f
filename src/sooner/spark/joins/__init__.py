"""`sooner.spark.join` and `sooner.spark.estimate`: they check what the user gave, and make a dataflow of it.

This is the highest room: nothing else in `sooner.spark` imports it, but for the surface that users see.
"""
