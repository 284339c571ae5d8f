"""The Spark session: its Java, the Python of its workers and how that starts soon, and whether joins can run there.

It imports no other room of `sooner.spark`. What workers load is named here as text, since other processes load it.
"""
