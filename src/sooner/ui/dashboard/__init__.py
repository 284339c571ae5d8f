"""The dashboard: what a trace and progress say of a query, as pictures on a page. Readers, never of operators.

A `Picture` is what is known of a query at a moment; it grows with the entries of a trace. A `Subject` is whatever has
one to show: a query in process (`live.py`), one on Spark (`on_spark.py`), a trace that was kept (`recorded.py`) or
several of them (`comparing.py`). The `Server` shows a subject to browsers on this machine; `page/` is what these load.
"""
