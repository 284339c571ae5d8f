"""`sooner.enrich`: look up each row of a stream in a master table. No row is read here."""

from collections.abc import Sequence
from pathlib import Path

from sooner.arguments import Columns
from sooner.asked.enrichments import Asked, EnrichAlgorithm, EnrichHow, changed_columns, kept_columns, plan_of
from sooner.local.arguments import Settings, settings_of
from sooner.local.query import Query
from sooner.local.running import block_bytes_of, rows_bytes_of
from sooner.operators.enrich.expected import Room, expected
from sooner.operators.enrich.plan import CHANGES, INPUTS, EnrichPlan
from sooner.operators.enrich.scanning import Queue
from sooner.sources.chosen_columns import only_columns
from sooner.sources.opening import opened
from sooner.sources.source import Source, n_rows_of
from sooner.trace import Tracer


def enrich(
    stream: object,
    master: object,
    on: Columns | None = None,
    *,
    stream_on: Columns | None = None,
    master_on: Columns | None = None,
    how: EnrichHow = "inner",
    columns: Columns | None = None,
    changes: object = None,
    version: str | None = None,
    deleted: str | None = None,
    identity: Columns | None = None,
    as_of: str | None = None,
    valid_from: str | None = None,
    suffixes: tuple[str, str] | None = None,
    algorithm: EnrichAlgorithm = "auto",
    switching_factor: float = 1.0,
    queue: Queue = "block",
    memory: int | str | None = "1GB",
    spill_dir: str | Path | None = None,
    trace: str | Path | Tracer | None = None,
) -> Query:
    """Look up each row of a stream in a master table that may be far larger than memory.

    stream, master: as the inputs of `sooner.join`. The master is read whole, once; stream rows wait at their source
        until it is there, and are then answered as they come.
    on, stream_on, master_on: the key columns, by one name for both or by a name for each. A key may have several rows
        in the master.
    how: "inner", "left" (also stream rows that the master does not know), "semi" (only stream rows that it knows) or
        "anti" (only those that it does not).
    columns: which columns of the master to add; by default all. The fewer, the less memory and disk it takes.
    changes: rows that replace those of the master while the stream goes on, with its columns. From when they arrive on,
        stream rows meet them.
    version: the column of master and changes that tells which of two rows is newer. Of rows of one version that which
        is there wins over one that is gone. A master without it is older than any change.
    deleted: a column of the changes that is true where a row of the master is gone.
    identity: the columns that tell which row of the master is replaced; by default the keys, and with `as_of` also
        `valid_from`.
    as_of, valid_from: a time in each stream row, and in each master row from when on it is valid: a stream row meets
        only that row of its key which was valid then, the last that began before or at its time.
    suffixes: for columns that both have; by default ("", "_master").
    algorithm: "probe" reads the blocks of the master that a batch asks for, and answers at once. "meshjoin" and "ssbj"
        read the master in a circle, and answer a row when all of it has passed by; ssbj has a cache of frequent keys.
        "auto" is "probe". A master that fits the memory stays there with any of them.
    switching_factor: of ssbj; above 1, keys move to the cache and back more rarely.
    queue: of meshjoin and ssbj, when rows that wait fill the memory: with "block" others wait at their source, with
        "spill" on disk.
    memory: what rows may take, such as "256MB"; a larger master is written to `spill_dir`. None is no limit.
    trace: a file for what happens, or something that is called with each `sooner.trace.Entry`.

    >>> import pyarrow as pa, sooner
    >>> sales = pa.table({"article": [1, 2, 1], "amount": [10, 20, 30]})
    >>> articles = pa.table({"article": [1, 2], "title": ["nut", "bolt"]})
    >>> sooner.enrich(sales, articles, on="article").to_table().sort_by("amount").to_pydict()
    {'article': [1, 2, 1], 'amount': [10, 20, 30], 'title': ['nut', 'bolt', 'nut']}
    """
    plan = plan_of(
        Asked(
            on=on, stream_on=stream_on, master_on=master_on, how=how, columns=columns, identity=identity,
            version=version, deleted=deleted, as_of=as_of, valid_from=valid_from, suffixes=suffixes,
            algorithm=algorithm, switching_factor=switching_factor, queue=queue,
        ),
        changes=changes is not None,
    )  # fmt: skip
    settings = settings_of(None, memory, None, 1, spill_dir)
    return _enriched([stream, master, *([] if changes is None else [changes])], plan, settings, trace)


def _enriched(
    things: Sequence[object], plan: EnrichPlan, settings: Settings, trace: str | Path | Tracer | None
) -> Query:
    names = [*INPUTS, CHANGES][: len(things)]
    with opened(things, names) as sources:
        kept = kept_columns(sources[1].schema.names, plan, changes=len(things) > 2)
        wanted = [sources[0], only_columns(sources[1], kept)]
        wanted += [only_columns(one, changed_columns(one.schema.names, kept, plan)) for one in sources[2:]]
        notes = _expected(plan, wanted, settings)
        return Query(plan, wanted, settings, names, trace, notes, what="an enrichment in process")


def _expected(plan: EnrichPlan, sources: Sequence[Source], settings: Settings) -> list[str]:
    memory_bytes = settings.memory_bytes
    room = Room(rows_bytes_of(memory_bytes, len(sources)), block_bytes_of(memory_bytes), alone=True)
    return expected(plan, [source.schema for source in sources], n_rows_of(sources[1]), room)
