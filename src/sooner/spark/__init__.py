"""Joins inside PySpark: streaming DataFrames in, a streaming DataFrame out."""
