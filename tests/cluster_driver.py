"""A driver that can be killed and does not say where its workers are: python cluster_driver.py FOLDER MASTER STATE HOW

MASTER is "submitted" in a program that spark-submit runs. It goes on from the checkpoint in the folder, if there is
one.
"""

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from spark_joins import JoinCase, killable_session, skewed

BATCHES = 12
PARTITIONS = 3
MEMORY_BYTES = 192 * 1024
LEFT, RIGHT = skewed(6000, 3000, 1, "a"), skewed(5500, 3000, 2, "b")


def case_in(spark: SparkSession, folder: Path, state: str, how: str) -> JoinCase:
    arguments = {"partitions": PARTITIONS, "memory": MEMORY_BYTES, "state": state, "how": how}
    return JoinCase(spark, folder, LEFT, RIGHT, BATCHES, arguments=arguments, ways=("packed", "Spark's source"))


def main(folder: Path, master: str, state: str, how: str) -> None:
    spark = SparkSession.builder.getOrCreate() if master == "submitted" else killable_session(master)
    case_in(spark, folder, state, how).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
