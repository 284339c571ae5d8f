"""A driver of the demo, to be killed: python -m sooner.ui.demo_driver FOLDER SHARED_MEMORY

Says on standard output, after each batch, how many results there are.
"""

import sys
from pathlib import Path

from sooner.spark import JoinProgress
from sooner.ui.demo import demo_to_be_killed, start_spark
from sooner.ui.tpch import tables_in


def main(folder: Path, shared_memory: Path) -> None:
    spark = start_spark(folder / "driver")
    demo_to_be_killed(folder, shared_memory, tables_in(folder)).start(spark, _say).awaitTermination()


def _say(progress: JoinProgress) -> None:
    print(progress.total.results, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
