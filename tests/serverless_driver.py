"""A driver whose fork server is killed while its query runs: python serverless_driver.py FOLDER

No task is tried twice. Its last words are where the server was, the fallbacks that its query told, what `explain`
says, and what the log does.
"""

import json
import logging
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import sooner.spark as ss
from sooner.spark.session import worker_python
from spark_joins import JoinCase, killable_session, skewed

LEFT, RIGHT = skewed(400, 200, 1, "a"), skewed(350, 200, 2, "b")


def case_in(spark: SparkSession, folder: Path) -> JoinCase:
    return JoinCase(spark, folder, LEFT, RIGHT, batches=2, ways=("packed", "packed"))


def main(folder: Path) -> None:
    log: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: log.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("sooner").addHandler(handler)
    case, [server] = case_in(killable_session("local[2]"), folder), worker_python._servers
    listen = case.listen

    def kill(progress: ss.JoinProgress) -> None:
        if not case.progress:
            server._process.kill()
            server._watcher.join()
        listen(progress)

    case.listen = kill  # type: ignore[method-assign]
    case.run()
    told = [case.progress[at].total.fallbacks for at in (0, -1)]
    explained = ss.explain(case.joined())
    seen = {"socket": str(server.socket), "told": told, "explained": explained, "log": log}
    print(json.dumps(seen), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]))
