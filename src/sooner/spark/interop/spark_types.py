"""Arrow columns as Spark has them: which Spark type a column gets, and how its values get there.

PySpark takes Arrow batches from a data source only when their types are to the letter those that it would use itself.

Not covered: types without a Spark counterpart. They are refused by name before a query starts.
"""

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.types import (
    BinaryType,
    DataType,
    DecimalType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from sooner.errors import InvalidCall, SourceFailed
from sooner.spark.session.versions import arrow_schema_of, spark_type_of

# Spark has no unsigned integers, half floats and views: each gets the next type that holds all its values.
_WIDER: dict[pa.DataType, DataType] = {
    pa.uint8(): ShortType(),
    pa.uint16(): IntegerType(),
    pa.uint32(): LongType(),
    pa.uint64(): DecimalType(20, 0),
    pa.float16(): FloatType(),
    pa.string_view(): StringType(),
    pa.binary_view(): BinaryType(),
}


def spark_schema(schema: pa.Schema, name: str) -> StructType:
    """The columns as Spark will show them; `name` is what messages call the input."""
    for column in schema.names:
        if schema.names.count(column) > 1:
            raise InvalidCall(f"{name}: there are {schema.names.count(column)} columns {column!r}; rename all but one")
    return StructType([StructField(field.name, _spark_type(field, name)) for field in schema])


def _spark_type(field: pa.Field, name: str) -> DataType:
    kind = field.type
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return _spark_type(field.with_type(kind.value_type), name)
    if kind in _WIDER:
        return _WIDER[kind]
    try:
        found: DataType = spark_type_of(kind)
        arrow_schema_of(StructType([StructField(field.name, found)]), "UTC")
    except PySparkException as error:
        raise InvalidCall(
            f"{name}: column {field.name!r} is {kind}, which Spark does not have; leave it out (columns=) or cast it"
        ) from error
    return found


def arrow_schema(schema: StructType) -> pa.Schema:
    """The only Arrow types in which PySpark takes these columns."""
    return arrow_schema_of(schema, "UTC")


def conformed(batch: pa.RecordBatch, schema: pa.Schema, name: str, *, encoded: bool = False) -> pa.RecordBatch:
    """The batch in exactly these types. Encoded: columns that are dictionaries stay as they are."""
    if batch.schema.equals(schema):
        return batch
    columns = [batch.column(field.name) for field in schema]
    columns = [
        column if encoded and isinstance(column, pa.DictionaryArray) else _cast(column, field, name)
        for column, field in zip(columns, schema, strict=True)
    ]
    fields = [field.with_type(column.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields, schema.metadata))


def _cast(column: pa.Array, field: pa.Field, name: str) -> pa.Array:
    try:
        return column.cast(field.type)
    except pa.ArrowException as error:
        raise SourceFailed(f"{name}: column {field.name!r} cannot become {field.type}: {error}") from error
