"""Why claims of benchmarks do not hold, in a line each, by the benchmark and the claim."""

SORTING = "rows that come before a side has ended are sorted, for early results; DuckDB builds one hash table and waits"
WRITTEN = "DuckDB has all memory here, and every row of ours goes to disk and back; with 100 MB for both see below"
ALL_MEMORY = "DuckDB has all memory here, and every row of ours goes to disk and back"
FLOOR = "a batch takes 0.1 to 0.2 s more than the floor's half second, which itself swings by a quarter"
SMALL_FILES = "with memory for 2% every run has a few kilobytes, and most of the time is the interpreter's"

REASONS: dict[str, dict[str, str]] = {
    "local": {
        "memory for 10%: seconds, times DuckDB's": WRITTEN,
        "memory for 10%: CPU seconds, times DuckDB's": WRITTEN,
        "foreign_key: seconds, times DuckDB's": SORTING,
        "foreign_key: CPU seconds, times DuckDB's": SORTING,
        "skew: CPU seconds, times DuckDB's": SORTING,
        "semi join, half of the left unmatched: CPU seconds, times DuckDB's": SORTING,
        "anti join, half of the left unmatched: CPU seconds, times DuckDB's": SORTING,
    },
    "memory": {
        f"flights x weather, {name}: CPU with 2% of the rows as memory, times memory for all": SMALL_FILES
        for name in ("rpj", "hmj", "xjoin")
    },
    "range_join": {
        "integers, memory for 10%: seconds, times DuckDB's": ALL_MEMORY,
        "integers, memory for 10%: CPU seconds, times DuckDB's": ALL_MEMORY,
    },
    "spark_join": {
        "sooner, memory for all: seconds over those of the floor": FLOOR,
    },
}
