"""Enrichments as subjects of the conformance suite, and the answer that they must give."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from sooner.how import kind_of
from sooner.kernels.keys import KeyPlan
from sooner.operators.enrich.plan import EnrichPlan, MannerName
from sooner.operators.order import Order
from sooner.testing.subject import Row, Subject
from sooner.testing.two_way import SCHEMA, _with_few_bits, draw_numbered_rows, joined


@dataclass(frozen=True)
class CollidingEnrichPlan(EnrichPlan):
    """Codes with so few bits that different keys share them."""

    def keys(self, schemas: Sequence[pa.Schema]) -> KeyPlan:
        return replace(super().keys(schemas), exact=False)

    def order(self, schemas: Sequence[pa.Schema]) -> Order:
        order = super().order(schemas)
        return replace(order, coders=[_with_few_bits(code) for code in order.coders])


def enrich_subject(algorithm: MannerName, how: str, *, colliding: bool = False) -> Subject:
    """Stream rows are answered when the master is complete."""

    def certain(tables: Sequence[pa.Table], ended: Sequence[bool]) -> Counter[Row]:
        return joined(tables, how) if ended[1] else Counter()

    plan_of = CollidingEnrichPlan if colliding else EnrichPlan
    return Subject(
        name=f"{algorithm} with how={how!r}" + ", with codes that collide" * colliding,
        plan=plan_of(("key",), ("key",), ("_left", "_right"), algorithm, kind_of(how)),
        schemas=(SCHEMA, SCHEMA),
        draw_rows=draw_numbered_rows,
        answer=lambda tables: joined(tables, how),
        certain=certain,
    )
