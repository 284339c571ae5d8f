"""Each batch of a streaming query once, in systems that know transactions.

>>> stream.writeStream.foreachBatch(to_postgres("dbname=shop", "totals")).start()  # doctest: +SKIP
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING

from sooner.spark.sinks.batches import SinkFailed, WriteBatch

if TYPE_CHECKING:
    from sooner.spark.sinks.delta_sink import to_delta
    from sooner.spark.sinks.postgres_sink import to_postgres

__all__ = ["SinkFailed", "WriteBatch", "to_delta", "to_postgres"]

# Each sink, its module, and the package and extra that it needs: imported only when it is asked for.
_SINKS = {
    "to_delta": ("sooner.spark.sinks.delta_sink", "deltalake", "delta"),
    "to_postgres": ("sooner.spark.sinks.postgres_sink", "psycopg", "postgres"),
}


def __getattr__(name: str) -> object:
    if name not in _SINKS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, package, extra = _SINKS[name]
    if importlib.util.find_spec(package) is None:
        raise ModuleNotFoundError(f"sooner.spark.sinks.{name} needs {package}; run: pip install 'sooner[{extra}]'")
    return getattr(importlib.import_module(module), name)
