"""Enrichments as subjects of the conformance suite, and the answer that they must give."""

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs

from sooner.budget import Budget
from sooner.how import kind_of
from sooner.kernels.keys import KeyPlan
from sooner.operators.enrich.as_of import AsOf
from sooner.operators.enrich.enrichment import Enrichment
from sooner.operators.enrich.plan import CHANGES, INPUTS, EnrichPlan, MannerName
from sooner.operators.inputs import Storage
from sooner.operators.operator import Means
from sooner.operators.order import Order
from sooner.runs.formats.files import RunFiles
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


def as_of_subject(how: str, *, colliding: bool = False) -> Subject:
    """Numbers of rows are their times: a stream row meets the last master row of its key with no higher number."""

    def answer(tables: Sequence[pa.Table]) -> Counter[Row]:
        pairs: dict[Row, int] = {}
        for key, at, since in joined(tables):
            if since <= at:
                pairs[key, at] = max(pairs.get((key, at), 0), since)
        matched, stream = Counter(pairs.keys()), joined(tables, "semi") + joined(tables, "anti")
        match how:
            case "semi":
                return matched
            case "anti":
                return stream - matched
        found: Counter[Row] = Counter((*row, since) for row, since in pairs.items())
        return found + Counter((*row, None) for row in stream - matched) if how == "left" else found

    plan_of = CollidingEnrichPlan if colliding else EnrichPlan
    as_of = AsOf("row", "row")
    return Subject(
        name=f"as of with how={how!r}" + ", with codes that collide" * colliding,
        plan=plan_of(("key",), ("key",), ("_left", "_right"), "probe", kind_of(how), as_of=as_of),
        schemas=(SCHEMA, SCHEMA),
        draw_rows=draw_numbered_rows,
        answer=answer,
        certain=lambda tables, ended: answer(tables) if ended[1] else Counter(),
    )


@contextmanager
def made(plan: EnrichPlan, schemas: Sequence[pa.Schema], memory_bytes: int) -> Iterator[Enrichment]:
    """The operator of a plan, with files of its own and small blocks."""
    with tempfile.TemporaryDirectory() as folder:
        files = partial(RunFiles, pafs.LocalFileSystem(), folder, block_bytes=400)
        means = Means(Budget(memory_bytes).account("the operator"))
        operator = plan.make([*INPUTS, CHANGES][: len(schemas)], schemas, Storage(1, files), means)
        yield operator
        operator.close()
        assert not list(Path(folder).iterdir()), "files are left"
