"""Rows that a reader of ours packs: one binary value for all rows of a chunk that go to one partition.

A row that comes from a Python source would become a row of Java, be shuffled as one, and become Arrow again. Packed, it
stays Arrow all the way: the reader computes its place as Spark would (see `placing`), and Spark moves bytes. A packed
input is one with a single column, of packs; only the step knows better. Which rows there are is the same either way, so
the two can change places between one run of a query and the next.

For an estimate rows are prepared where they are packed, whoever reads them. Their tallies go to every partition: each
has to know how much of the whole input has come.
"""

import base64
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.types import BinaryType, IntegerType, StructField, StructType

from sooner.kernels.array_types import Positions
from sooner.kernels.arrays import to_arrow
from sooner.kernels.gathering import as_one, gather
from sooner.spark.interop.grouping import grouped
from sooner.spark.shuffle.conditions import Condition, holds
from sooner.spark.shuffle.grid import Grid
from sooner.spark.shuffle.hot_keys import PlacesOf, Spreading
from sooner.spark.shuffle.placing import Placement
from sooner.spark.shuffle.row_kinds import of_copy
from sooner.spark.shuffle.sampled import Prepare, Sampled
from sooner.spark.shuffle.shares import GridPlacement, Shares

PLACE: Final = "place"
PACK: Final = "pack"
PACKED_ROWS: Final = StructType([StructField(PLACE, IntegerType()), StructField(PACK, BinaryType())])
OPTION: Final = "packing"  # of a source that packs
_CHUNK_ROWS: Final = 2**18  # that are cut together: a pack is what one partition gets of them
_CHUNK_BYTES: Final = 6 * 2**20
_ARROW: Final = pa.schema([(PLACE, pa.int32()), (PACK, pa.binary())])


@dataclass(frozen=True)
class Packing:
    """What a reader has to know."""

    source: pa.Schema  # what is read: columns of the source, each once
    columns: tuple[str, ...]  # which of them the columns of the input are
    schema: pa.Schema  # of the input, in the types in which Spark would send it
    placement: Placement | GridPlacement  # by columns of that schema
    condition: Condition | None = None  # on columns of the source
    sampled: Sampled | None = None  # what is made of the rows before they are packed
    spreading: Spreading | None = None  # of hot keys, if they are spread

    def to_text(self) -> str:
        plain = {
            "source": _schema_text(self.source),
            "columns": self.columns,
            "schema": _schema_text(self.schema),
            "placement": plain_placement(self.placement),
            "condition": self.condition,
            "sampled": None if self.sampled is None else self.sampled.to_text(),
            "spreading": None if self.spreading is None else asdict(self.spreading),
        }
        return json.dumps(plain)

    @staticmethod
    def chosen(options: Mapping[str, str]) -> "Packing | None":
        """How the rows of a source with these options are packed, if they are."""
        text = options.get(OPTION)
        if text is None:
            return None
        plain = json.loads(text)
        return Packing(
            _schema_of(plain["source"]),
            tuple(plain["columns"]),
            _schema_of(plain["schema"]),
            placement_of(plain["placement"]),
            plain["condition"],
            None if plain["sampled"] is None else Sampled.from_text(plain["sampled"]),
            None if plain["spreading"] is None else Spreading(**plain["spreading"]),
        )

    @property
    def takes_dictionaries(self) -> bool:
        """Whether texts may come as dictionaries: of each value of one it is found once what becomes of it."""
        return self.sampled is not None and self.condition is None

    def packed(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Places and packs of all rows that are wanted."""
        if self.sampled is None:
            return map(partial(self.cut, self._places_in_this_task()), self._chunks(batches))
        return map(partial(self._cut_sample, self.sampled.in_this_task()), self._chunks(batches))

    def packed_blocks(self, blocks: Iterator[tuple[int, Iterator[pa.RecordBatch]]]) -> Iterator[pa.RecordBatch]:
        """The same of a source whose blocks, each with its number, come in random order."""
        if self.sampled is None or self.sampled.sampling == "rows":
            yield from self.packed(batch for _, block in blocks for batch in block)
            return
        for number, block in blocks:
            yield from map(partial(self._cut_sample, self.sampled.of_block(number)), self._chunks(block))

    def _chunks(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return map(as_one, grouped(map(self._wanted, batches), _CHUNK_ROWS, _CHUNK_BYTES))

    def _wanted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self.condition is not None:
            batch = batch.filter(holds(self.condition, batch))
        columns = [
            _in_type(batch.column(name), field.type) for name, field in zip(self.columns, self.schema, strict=True)
        ]
        fields = [field.with_type(column.type) for column, field in zip(columns, self.schema, strict=True)]
        rows = pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields, self.schema.metadata))
        # Of a sample all rows count, and those without a key go later.
        return rows if self.placement.keeps_keyless or self.sampled is not None else self._complete(rows)

    def _complete(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        complete = self.placement.complete(rows)
        return rows if complete is None else rows.filter(to_arrow(complete))

    def _places_in_this_task(self) -> PlacesOf:
        if self.spreading is None:
            return self.placement.places
        assert isinstance(self.placement, Placement), "only keys of two inputs are spread"
        return self.spreading.in_this_task(self.placement)

    def cut(self, places_of: PlacesOf, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Places and packs of a chunk, whose rows are all wanted and go to these places."""
        first, *last = places_of(rows)
        filled, packs = self._packs(rows, np.arange(rows.num_rows), first)
        for other in last:
            copied = np.flatnonzero(other != first)
            places, copies = self._packs(rows, copied, other[copied])
            filled, packs = [*filled, *map(of_copy, places)], [*packs, *copies]
        columns = [to_arrow(np.array(filled, np.int32)), _binary(packs)]
        return pa.RecordBatch.from_arrays(columns, schema=_ARROW)

    def _cut_sample(self, prepare: Prepare, chunk: pa.RecordBatch) -> pa.RecordBatch:
        """A pack for every place, with tallies at its end."""
        rows, tallies = prepare(chunk)
        rows = self._complete(rows)
        [places] = self.placement.places(rows)
        cuts = self._cuts(np.arange(rows.num_rows), places)
        packs = [pa.concat_batches([gather(rows, cut), tallies]).serialize() for cut in cuts]
        return pa.RecordBatch.from_arrays(
            [to_arrow(np.arange(len(packs), dtype=np.int32)), _binary(packs)], schema=_ARROW
        )

    def _packs(
        self, rows: pa.RecordBatch, positions: Positions, where: npt.NDArray[np.int64]
    ) -> tuple[list[int], list[pa.Buffer]]:
        """The rows at these positions, those of each place together."""
        cuts = self._cuts(positions, where)
        filled = [place for place, cut in enumerate(cuts) if len(cut)]
        return filled, [gather(rows, cuts[place]).serialize() for place in filled]

    def _cuts(self, positions: Positions, where: npt.NDArray[np.int64]) -> list[Positions]:
        """The positions of the rows that go to each place."""
        # In as few bits as there can be, since NumPy sorts small numbers by counting them.
        order = positions[np.argsort(where.astype(np.min_scalar_type(self.placement.partitions)), kind="stable")]
        ends = np.cumsum(np.bincount(where, minlength=self.placement.partitions)).tolist()
        return [order[begin:end] for begin, end in itertools.pairwise([0, *ends])]


def _in_type(column: pa.Array, type_: pa.DataType) -> pa.Array:
    """The column in this type; a dictionary stays a dictionary."""
    return column if isinstance(column, pa.DictionaryArray) else column.cast(type_)


def unpacked(packs: pa.ChunkedArray, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows in these packs, which stay where they are."""
    return (pa.ipc.read_record_batch(pack.as_buffer(), schema) for pack in packs)


def _binary(values: Sequence[pa.Buffer]) -> pa.Array:
    offsets = np.cumsum([0, *(value.size for value in values)], dtype=np.int32)
    return pa.Array.from_buffers(
        pa.binary(), len(values), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(values))], null_count=0
    )


def _schema_text(schema: pa.Schema) -> str:
    return base64.b64encode(schema.serialize()).decode()


def _types_text(types: Sequence[pa.DataType]) -> str:
    return _schema_text(pa.schema([(str(at), type_) for at, type_ in enumerate(types)]))


def _schema_of(text: str) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))


def plain_placement(placement: Placement | GridPlacement) -> dict[str, Any]:
    if isinstance(placement, GridPlacement):
        return {
            "keys": placement.keys,
            "types": [_types_text(types) for types in placement.types_of_keys],
            "shares": placement.shares.of_attribute,
            "keeps_keyless": placement.keeps_keyless,
        }
    grid = placement.grid
    return {
        "keys": placement.keys,
        "types": _types_text([*placement.types, *(() if grid is None else (grid.type,))]),
        "partitions": placement.partitions,
        "keeps_keyless": placement.keeps_keyless,
        "grid": None if grid is None else [grid.column, grid.width, grid.reach],
    }


def placement_of(plain: Mapping[str, Any]) -> Placement | GridPlacement:
    if "shares" in plain:
        of_attributes = tuple(None if names is None else tuple(names) for names in plain["keys"])
        types_of_keys = tuple(tuple(_schema_of(text).types) for text in plain["types"])
        return GridPlacement(of_attributes, types_of_keys, Shares(tuple(plain["shares"])), plain["keeps_keyless"])
    keys, types, grid = tuple(plain["keys"]), _schema_of(plain["types"]).types, None
    if plain["grid"] is not None:
        column, width, reach = plain["grid"]
        grid = Grid(column, types[-1], width, None if reach is None else tuple(reach))
    return Placement(keys, tuple(types[: len(keys)]), plain["partitions"], grid, plain["keeps_keyless"])
