"""A dashboard of whatever there is: a query in process, one on Spark, or what was kept of one."""

import sys

from sooner.errors import InvalidCall
from sooner.local.groups import LiveGroups
from sooner.local.running import Running
from sooner.ui.dashboard.live import LiveQuery
from sooner.ui.dashboard.server import Server
from sooner.viewing import Dashboard


def open_dashboard(query: object) -> Dashboard:
    """It is closed when the query ends."""
    if isinstance(query, LiveGroups):
        return query.dashboard()
    if isinstance(query, Running):
        live = LiveQuery(query)
        server = Server(live)
        query.at_end(server.end_soon)
        query.at_end(live.end)  # before that: the last comes first
        return server
    if (spark := sys.modules.get("sooner.spark.query.query")) is not None and isinstance(query, spark.Query):
        from sooner.ui.dashboard.on_spark import open_on_spark

        return open_on_spark(query)
    raise InvalidCall(
        f"There is no dashboard of a {type(query).__name__}; give a query that join, multijoin, enrich, estimate or "
        "sql of sooner made, or that sooner.spark.start did."
    )
