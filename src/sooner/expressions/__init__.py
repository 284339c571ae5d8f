"""SQL text over columns, as exact values of whole batches.

`reading` turns text into a `tree`, and only it needs sqlglot; `checking` fits a tree to a schema, and what it
gives evaluates batches; `separation` writes an expression over both sides of a join as products of one-sided ones.
Trees and what is checked are small, frozen and picklable, so that workers need no parser.

>>> import pyarrow as pa
>>> from sooner.expressions.checking import typed
>>> from sooner.expressions.reading import parse
>>> batch = pa.record_batch({"price": pa.array([250, 100]), "discount": pa.array([0.2, None])})
>>> checked = typed(parse("price * (1 - discount)", "where="), batch.schema, "where=")
>>> checked.evaluate(batch).to_pylist(), checked.kind.name
([200.0, None], 'float')
"""
