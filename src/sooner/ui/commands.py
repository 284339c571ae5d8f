"""The table of commands: what each is called, what it does, what prepares its parser, and an example to paste."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Command:
    """What prepares a parser is loaded when it is asked for; it adds arguments, and `run` to run the command."""

    name: str
    summary: str
    prepared_by: str = ""  # "module:function", in this folder
    example: str = ""  # with the files of `sooner examples`
    commands: Sequence["Command"] = ()


_LAB: Final = (
    Command("list", "Show the experiments.", "lab_commands:add_list_arguments", "sooner lab list"),
    Command(
        "run",
        "Repeat experiments of the papers in simulated time.",
        "lab_commands:add_run_arguments",
        "sooner lab run flush-a --scale 250 --algorithm mine:mine",
    ),
    Command(
        "recheck",
        "Run the first seed of results again: are curves the same with this code?",
        "lab_commands:add_recheck_arguments",
        "sooner lab run flush-a --scale 250 --json .\n  sooner lab recheck . --scale 250",
    ),
    Command(
        "compare",
        "Race algorithms over arrivals of your own.",
        "compare_command:add_arguments",
        "sooner lab compare arrivals.csv --algorithms rpj,hmj,mine:mine --memory 20%",
    ),
)
_STATE: Final = (
    Command("info", "Show what is in a state.", "state_commands:add_info_arguments", "sooner state info join-state"),
    Command(
        "check",
        "Read all of a state, to see whether it is whole.",
        "state_commands:add_check_arguments",
        "sooner state check join-state",
    ),
    Command(
        "export",
        "Write the rows of a state as Parquet.",
        "state_commands:add_export_arguments",
        "sooner state export join-state rows",
    ),
    Command(
        "rescale",
        "Give a state more or fewer partitions.",
        "state_commands:add_rescale_arguments",
        "sooner state rescale join-state --partitions 3",
    ),
)
COMMANDS: Final = (
    Command("demo", "Watch two bursty inputs being joined on Spark.", "demo_command:add_arguments", "sooner demo"),
    Command(
        "join",
        "Join two inputs while they are read.",
        "join_commands:add_join_arguments",
        "sooner join orders.parquet customers.csv --on customer --how left -o j.parquet",
    ),
    Command(
        "multijoin",
        "Join many inputs at once.",
        "join_commands:add_multijoin_arguments",
        "sooner multijoin o=orders.parquet c=customers.csv n=nations.csv \\\n"
        "    --on 'o.customer = c.customer' --on 'c.nation = n.nation'",
    ),
    Command(
        "enrich",
        "Look up the rows of a stream in a master table.",
        "join_commands:add_enrich_arguments",
        "sooner enrich orders.parquet customers.csv --on customer --columns name",
    ),
    Command(
        "estimate",
        "Estimate aggregates over a join of two inputs.",
        "estimate_commands:add_estimate_arguments",
        "sooner estimate orders.parquet customers.csv --on customer --by nation \\\n"
        "    --aggregate 'total=sum(cents)' --until 5%",
    ),
    Command(
        "sql",
        "Answer a query over tables while they are read.",
        "estimate_commands:add_sql_arguments",
        "sooner sql \\\n    'SELECT name, SUM(cents) FROM o JOIN c USING (customer) GROUP BY 1' \\\n"
        "    --table o=orders.parquet --table c=customers.csv",
    ),
    Command(
        "shuffle",
        "Write a table with its rows in random order.",
        "shuffle_command:add_arguments",
        "sooner shuffle orders.parquet shuffled.parquet",
    ),
    Command(
        "examples",
        "Write the small tables that the examples of --help use.",
        "examples_command:add_arguments",
        "sooner examples",
    ),
    Command(
        "algorithms", "Show the names that algorithm= takes.", "algorithms_command:add_arguments", "sooner algorithms"
    ),
    Command(
        "dashboard",
        "Show a trace, or several, or a state, as a page.",
        "dashboard_command:add_arguments",
        "sooner join orders.parquet customers.csv --on customer --trace t.jsonl -o j.csv\n  sooner dashboard t.jsonl",
    ),
    Command("state", "The state of a join on Spark.", commands=_STATE),
    Command("lab", "The papers' experiments.", commands=_LAB),
    Command(
        "results",
        "Write a page of what experiments found.",
        "results_command:add_arguments",
        "sooner lab run flush-a --scale 250 --json a.json\n  sooner results a.json --to page.md",
    ),
    Command(
        "doctor", "Look for what is missing here, and how to mend it.", "doctor_command:add_arguments", "sooner doctor"
    ),
    Command(
        "completion",
        "Print what makes a shell complete this command.",
        "completion:add_arguments",
        "source <(sooner completion bash)",
    ),
)
