"""A driver in a process of its own, that can be killed: python rescaled_driver.py FOLDER MASTER PARTITIONS HOW

It goes on from the checkpoint in the folder, if there is one, with so many partitions. If its state cannot have them
because of a batch that may not be done, or is in the middle of a key, it goes on with those that it has.
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from sooner.errors import InvalidJoin
from spark_joins import JoinCase, killable_session, skewed

BATCHES = 12
MEMORY_BYTES = 2**19  # half of what rows take: the rest is on disk
LEFT, RIGHT = skewed(24000, 8000, 1, "a"), skewed(22000, 8000, 2, "b")


def case_in(spark: SparkSession, folder: Path, how: str) -> JoinCase:
    """Of 2 partitions when it is new."""
    arguments = {"memory": MEMORY_BYTES, "shared_memory": folder / "shared-memory", "how": how}
    return JoinCase(spark, folder, LEFT, RIGHT, BATCHES, arguments=arguments)


def run(case: JoinCase, partitions: int) -> None:
    """To its end."""
    try:
        case.run(partitions=partitions)
    except InvalidJoin as refusal:
        assert "try again" in str(refusal)
        case.run(partitions=None)


if __name__ == "__main__":
    run(case_in(killable_session(sys.argv[2]), Path(sys.argv[1]), sys.argv[4]), int(sys.argv[3]))
