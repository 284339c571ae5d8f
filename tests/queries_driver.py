"""A driver with several queries, each in a folder of its own, that can be killed: python queries_driver.py FOLDER

A full join, an estimate, an enrichment, and a join of many inputs. It goes on from their checkpoints,
if there are any.
"""

import sys
from pathlib import Path

import enrich_driver
import estimate_driver
import multijoin_driver
import spark_driver
from spark_joins import killable_session

ESTIMATE, JOIN, MANY = "estimate", "join", "many inputs"
ENRICHMENT = "slow master"
QUERIES = (ESTIMATE, JOIN, MANY, ENRICHMENT)
BATCHES = 6  # of the join


def main(folder: Path) -> None:
    for name in QUERIES:
        (folder / name).mkdir(exist_ok=True)
    spark = killable_session("local[2,4]")
    estimate = estimate_driver.EstimateCase(spark, folder / ESTIMATE)
    queries = [
        estimate.start(estimate.estimates()),
        spark_driver.case_in(spark, folder / JOIN, BATCHES, "packed", "full").start(),
        *enrich_driver.start(spark, folder, [ENRICHMENT]).values(),
        multijoin_driver.case_in(spark, folder / MANY).start(),
    ]
    for query in queries:
        query.awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
