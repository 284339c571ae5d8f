"""What every partition gets in every batch beside rows: a mark, and the pulse if the pacemaker gives one.

Rows may come in a batch without a pulse, and then only for some partitions. Each of them has to make a version of its
state all the same, and knows which it is by its mark. Spark's API has no rows that are there whatever the sources give.
But a function over a single partition is called also if there is nothing in that.
"""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame

from sooner.spark.shuffle.row_kinds import MARK, PULSE, kind_of
from sooner.spark.shuffle.shared_columns import KIND, SAID
from sooner.spark.step.plan import Task

_BEATS: Final = pa.schema([(KIND, pa.int64()), (SAID, pa.string())])


def beats_of(pulses: DataFrame, partitions: int) -> DataFrame:
    """The kinds of the marks and pulses of all places. `pulses` has `ended`, a bit for each input, `settling` and
    `said`; there is one in a batch at most.
    """
    said = pulses.select("ended", "settling", SAID).coalesce(1)
    return said.mapInArrow(_for_all(partitions), f"{KIND} long, {SAID} string")


def _for_all(partitions: int) -> Task:
    def beat(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        beats = [(kind_of(MARK, place), None) for place in range(partitions)]
        for pulse in (row for batch in batches for row in batch.to_pylist()):
            said = pulse["settling"], pulse["ended"]
            beats += [(kind_of(PULSE, place, *said), pulse[SAID]) for place in range(partitions)]
        kinds, words = zip(*beats, strict=True)
        yield pa.RecordBatch.from_arrays([pa.array(kinds, pa.int64()), pa.array(words, pa.string())], schema=_BEATS)

    return beat
