"""Queries in SQL over two tables: `reading` takes a text apart, `naming` finds the columns that are meant.

What `sooner.sql` makes of them is in `sooner.local.sql`.
"""
