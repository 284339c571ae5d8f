"""Each batch once into PostgreSQL.

Tasks copy their rows into a staging table, in parallel and without the driver seeing them. One transaction then records
the batch and moves the rows of those attempts that Spark accepted. A crash before its end leaves nothing in the target;
after it, the batch is in the book and is skipped.
"""

from dataclasses import dataclass

from pyspark.sql import DataFrame

from sooner.errors import InvalidCall, SinkFailed
from sooner.spark.sinks.batches import (
    IfMissing,
    WriteBatch,
    describe_jobs,
    query_of,
    require_distinct_columns,
    require_if_missing,
)
from sooner.spark.sinks.postgres_copy import ANSWER, CopyTask
from sooner.spark.sinks.postgres_tables import (
    ATTEMPT,
    Tables,
    column_types,
    is_written,
    make_staging,
    move,
    prepare,
    record,
)
from sooner.spark.sources.postgres_connection import connected, require_conninfo


@dataclass(frozen=True)
class PostgresSink:
    """Writes batches to one table."""

    conninfo: str
    table: str
    schema: str | None
    query: str | None
    if_missing: IfMissing

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        """Write a batch, unless it is there."""
        require_distinct_columns(frame)
        describe_jobs(frame)
        columns = column_types(frame.schema)
        if not columns or ATTEMPT in columns:
            raise InvalidCall(f"the columns are {frame.columns}; give at least one, and none named {ATTEMPT!r}")
        tables = Tables(self.schema, self.table, query_of(frame, self.query))
        with connected(self.conninfo, SinkFailed) as connection:
            prepare(connection, tables, columns, self.if_missing)
            if is_written(connection, tables, batch_id):
                return
            make_staging(connection, tables, columns)
        copying = CopyTask(self.conninfo, tables.staging_name, (ATTEMPT, *columns))
        answers = frame.mapInArrow(copying, ANSWER).collect()
        with connected(self.conninfo, SinkFailed) as connection:
            if not record(connection, tables, batch_id):
                return
            moved = move(connection, tables, columns, [answer.attempt for answer in answers])
            copied = sum(answer.rows for answer in answers)
            if moved != copied:
                raise SinkFailed(
                    f"{copied:,} rows of batch {batch_id} were copied but {moved:,} were found, so none was kept; "
                    f"make sure that one query at a time writes as {tables.query!r}, and start it again"
                )


def to_postgres(
    conninfo: str,
    table: str,
    *,
    schema: str | None = None,
    query: str | None = None,
    if_missing: IfMissing = "create",
) -> WriteBatch:
    """A function for `foreachBatch` that writes each batch once to a table of PostgreSQL.

    `query` names the query in the book of batches, the table `sooner_batches` beside the target; by default it is the
    id in the checkpoint. Use another name with another checkpoint. A missing table is made unless `if_missing` is
    "refuse"; one that is there must have all columns of the DataFrame, and may have more if they have defaults.
    """
    require_conninfo(conninfo)
    require_if_missing(if_missing)
    if not table:
        raise InvalidCall("table is empty; give the name of a table")
    return PostgresSink(conninfo, table, schema, query, if_missing)
