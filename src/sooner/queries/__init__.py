"""Queries in SQL: `reading` takes a text apart, `naming` finds the columns that are meant, `joining` how tables join.

`rows` is what a statement wants of joined rows, `questions` and `answers` are what it asks of their groups. What
`sooner.sql` makes of them is in `sooner.local.sql`.
"""
