"""A driver of the demo, to be killed: python -m sooner.ui.demo_driver FOLDER SHARED_MEMORY SEED SPEED

Says on standard output, after each batch, how many results there are.
"""

import sys
from pathlib import Path

from sooner.spark import JoinProgress
from sooner.ui.demo import demo_in, start_spark
from sooner.ui.tpch import tables_in


def main(folder: Path, shared_memory: Path, seed: int, speed: float) -> None:
    spark = start_spark(folder / "driver")
    demo = demo_in(folder / "restarted", shared_memory, tables_in(folder), seed, speed)
    demo.start(spark, _say).awaitTermination()


def _say(progress: JoinProgress) -> None:
    print(progress.total.results, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
