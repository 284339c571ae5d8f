"""Why claims of benchmarks do not hold, in a line each, by the benchmark and the claim."""

SORTING = "rows that come before a side has ended are sorted, for early results; DuckDB builds one hash table and waits"
WRITTEN = "DuckDB has all memory here, and every row of ours goes to disk and back; with 100 MB for both see below"
ALL_MEMORY = "DuckDB has all memory here, and every row of ours goes to disk and back"
READ_AGAIN = "what is read early is read again at the end, with slabs that a full memory leaves small"
CHEAP_RIPPLES = "files are as fast as the processor here, so the first ripples are cheap; with a fortieth see below"
MODULES = "there are 124 modules to load, some of them new; it was 0.29 before ranges and rectangles"
FLOOR = "a batch takes 0.1 to 0.2 s more than the floor's half second, which itself swings by a quarter"
SMALL_FILES = "with memory for 2% every run has a few kilobytes, and most of the time is the interpreter's"
WIDE = "a little wide: of keys that repeat, more than nothing is expected to be unseen by chance, also where nothing is"
HOT_ROW = (
    "wide, but not wrong: one row of the right has a tenth of all matches, most samples lack it, and what the left's "
    "keys let expect of it is more than the sums are off"
)
FEW_PAIRS = (
    "a little wide, as it was: 631 of 1,000 samples have the 20 pairs that an interval takes, from about 15 left rows"
)
FIRST = "opening the files takes 28 ms of it, and then at least three row groups of 100,000 rows must have met others"
READERS = (
    "reading alone takes 1.5 s (Q12) and 2.8 s (Q14) of CPU: Arrow decodes all rows, of which filters leave one in 80"
)
SHARE = "so few rows are left by filters that 1% takes two fifths of all of them (Q14), or half (Q12), whoever reads"

REASONS: dict[str, dict[str, str]] = {
    "local": {
        "memory for 10%: seconds, times DuckDB's": WRITTEN,
        "memory for 10%: CPU seconds, times DuckDB's": WRITTEN,
        "foreign_key: seconds, times DuckDB's": SORTING,
        "foreign_key: CPU seconds, times DuckDB's": SORTING,
        "skew: CPU seconds, times DuckDB's": SORTING,
        "semi join, half of the left unmatched: CPU seconds, times DuckDB's": SORTING,
        "anti join, half of the left unmatched: CPU seconds, times DuckDB's": SORTING,
        **{
            f"pr_join with memory for {share}: {seconds}, times GRACE's": READ_AGAIN
            for share in ("10%", "2.5%")
            for seconds in ("seconds", "CPU seconds")
        },
        "pr_join with memory for 10%: results at half of its time, times block ripple's": CHEAP_RIPPLES,
        "first results, seconds after `import sooner`": MODULES,
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
    "coverage": {
        "foreign key, uniform: intervals hold at 20% read": WIDE,
        "foreign key, 10,000 keys, Zipf 0.5: intervals hold at 20% read": WIDE,
        "foreign key, 10,000 keys, Zipf 1: intervals hold at 5% read": HOT_ROW,
        "many-to-many, a filter of 1%: intervals hold at 5% read": FEW_PAIRS,
    },
    "estimate": {
        f"{name}: {what}": why
        for name in ("Q12", "Q14")
        for what, why in (
            ("the first estimate, times sooner than DuckDB's answer", FIRST),
            ("1% in all groups, times sooner than DuckDB's answer", SHARE),
            ("exact, seconds, times DuckDB's", READERS),
            ("exact, CPU seconds, times DuckDB's", READERS),
        )
    },
}
