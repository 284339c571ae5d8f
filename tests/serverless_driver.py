"""A driver whose fork server is killed while its query runs: python serverless_driver.py FOLDER

No task is tried twice. Its last words are the fallbacks that the query told, those of `explain`, and the log.
"""

import json
import logging
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import sooner.spark as ss
from sooner.spark.session import worker_python
from spark_joins import JoinCase, killable_session, skewed

LEFT, RIGHT = skewed(4000, 2000, 1, "a"), skewed(3500, 2000, 2, "b")


def case_in(spark: SparkSession, folder: Path) -> JoinCase:
    folder.mkdir(exist_ok=True)
    return JoinCase(spark, folder, LEFT, RIGHT, ways=("packed", "packed"))


def main(folder: Path) -> None:
    log: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: log.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("sooner").addHandler(handler)
    spark = killable_session("local[2]")
    case, [server] = case_in(spark, folder / "killed"), worker_python._servers
    listen = case.listen

    def kill(progress: ss.JoinProgress) -> None:
        if not case.progress:
            server._process.kill()
            server._watcher.join()
        listen(progress)

    case.listen = kill  # type: ignore[method-assign]
    case.run()
    after = case_in(spark, folder / "after")
    after.run()
    told = [list(progress.total.fallbacks) for progress in (case.progress[0], case.progress[-1], after.progress[-1])]
    print(json.dumps({"told": told, "explained": ss.explain(after.joined()), "log": log}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]))
