"""Random cases of everything that `sooner` promises to be exact, each held to an oracle that shares no code with it.

A *case* is plain data that follows from one integer, its seed. A *family* makes cases and checks them:

- `joins`: `sooner.join` of any types, kinds, ranges, algorithms and memory, against plain Python;
- `estimates` and `sql`: aggregates and rows of random expressions, against DuckDB;
- `kernels`: each compiled loop by itself, between pages that nothing may touch, against NumPy and Python.

`make fuzz SECONDS=600` runs all of them, a part of the cases on a library that was compiled with sanitizers. For each
case that is wrong it prints the seed, the case with as few rows as it takes, and the command that runs it again:
`python -m fuzz --family joins --seed 1234`.

To add a family, write a module with a class like `joins.Joins` and name it in `families`.
"""
