"""Results come while rows are still arriving: one order every 0.3 s, one customer every 0.5 s."""

import pyarrow as pa

import sooner
from sooner.sources import Fixed, paced

orders = pa.table({"customer": [3, 1, 2, 1], "cents": [500, 120, 990, 75]})
customers = pa.table({"customer": [1, 2, 3], "name": ["Ada", "Grace", "Edsger"]})

query = sooner.join(
    paced(orders, Fixed(0.3)),
    paced(customers, Fixed(0.5)),
    on="customer",
    memory="64MB",
)
for batch in query:  # a pyarrow.RecordBatch, as soon as rows have met
    print(batch.to_pylist())
print(query.progress)
