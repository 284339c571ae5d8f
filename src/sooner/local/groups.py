"""Figures of joined rows by groups, while they come: so far, and exact in the end."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Self

import pyarrow as pa

from sooner.budget import format_bytes
from sooner.errors import BudgetTooSmall, SoonerError
from sooner.local.answer import Answer
from sooner.local.arguments import LEAST_MEMORY_BYTES
from sooner.local.figures import Figures
from sooner.local.pacing import Pace
from sooner.local.query import Query
from sooner.local.rows import Rows
from sooner.local.running import QueryProgress
from sooner.operators.folding.running_groups import GroupWorkings, RunningGroups
from sooner.queries.answered import Answering
from sooner.viewing import Dashboard

GROUPS_SHARE: Final = 4  # of the memory, one part in so many is for groups,
LEAST_GROUPS_BYTES: Final = 4 * 2**20  # or so many bytes beside it, if that is more


@dataclass(frozen=True)
class Grouping:
    """What is asked of groups; `memory_bytes` is what the user gave, of which the join has what is not for groups."""

    workings: GroupWorkings
    answering: Answering
    memory_bytes: int

    def so_far(self, batches: Iterable[pa.RecordBatch]) -> Iterator[RunningGroups]:
        """The groups of the rows that have come, after each batch; the same object grows."""
        groups = RunningGroups(self.workings)
        for batch in batches:
            groups.add(batch)
            self._require_room(groups)
            yield groups
        yield groups

    def table(self, groups: RunningGroups) -> pa.Table:
        return self.answering.table(groups.by(), groups.values(), len(groups))

    def _require_room(self, groups: RunningGroups) -> None:
        n_bytes = groups.n_bytes
        if n_bytes > bytes_for_groups(self.memory_bytes):
            needed = n_bytes * GROUPS_SHARE // 2**20 + 1
            raise BudgetTooSmall(
                f"GROUP BY gives {len(groups):,} groups so far, which take {format_bytes(n_bytes)}; give "
                f"memory='{needed}MB' for these, or group by less."
            )


class GroupedRows(Rows):
    """The exact figures of groups, a row each, when all rows have come: for a query inside of another."""

    def __init__(self, rows: Rows, grouping: Grouping) -> None:
        self.schema = grouping.answering.schema
        self._rows = rows
        self._grouping = grouping

    @property
    def is_done(self) -> bool:
        return self._rows.is_done

    def _found(self) -> Iterator[pa.RecordBatch]:
        with self._rows:
            *_, groups = self._grouping.so_far(self._rows)
            if self.is_done:
                yield from self._grouping.table(groups).to_batches()

    def stop(self) -> None:
        self._rows.stop()


class LiveGroups(Answer):
    """Iterate for `Figures` as they come: those so far, and at last the exact ones. Good for one reading.

    Leave a `with` block, call `stop()` or drop it, and its threads and spill files are gone.

    >>> import pyarrow as pa, sooner
    >>> orders = pa.table({"customer": [1, 2, 1], "amount": [10, 20, 30]})
    >>> customers = pa.table({"customer": [1, 2], "name": ["Ada", "Alan"]})
    >>> query = "SELECT name, MAX(amount) AS most FROM o JOIN c ON o.customer = c.customer GROUP BY name ORDER BY name"
    >>> groups = sooner.sql(query, {"o": orders, "c": customers})
    >>> *_, figures = groups
    >>> figures.exact, figures["name"]
    (True, ['Ada', 'Alan'])
    """

    def __init__(self, query: Query, grouping: Grouping, notes: Sequence[str] = ()) -> None:
        """`notes` are what there is to explain beside the join."""
        self._query = query
        self._grouping = grouping
        self._notes = notes
        self._last: Figures | None = None
        self._was_stopped = False
        self.schema = grouping.answering.schema

    @property
    def progress(self) -> QueryProgress:
        """How far the join is; may be asked from any thread."""
        return self._query.progress

    def explain(self) -> str:
        """What it will do and why, a line each. Nothing is read for it."""
        figures = "figures of groups: those of the rows so far, until all are joined"
        return "\n".join([self._query.explain(), figures, *self._notes])

    def dashboard(self) -> Dashboard:
        """A page that shows how the join goes, for this machine only; it is closed when the query ends."""
        return self._query.dashboard()

    def stop(self) -> None:
        """End it now, from any thread."""
        self._was_stopped = True
        self._query.stop()

    def finish(self, side: str) -> None:
        """This table has no more rows, whatever its source would still give; from any thread."""
        self._query.finish(side)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __iter__(self) -> Iterator[Figures]:
        return self._figures(iter(self._query))

    def final(self) -> Figures:
        """The exact figures, when all rows are joined."""
        if not self._was_stopped and self._last is None:
            *_, self._last = self
        if self._last is None or not self._last.exact:
            raise SoonerError("This query was stopped before its figures were exact; ask it again.")
        return self._last

    def to_table(self) -> pa.Table:
        """The exact figures as a table of Arrow."""
        return self.final().table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_table().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<sooner.LiveGroups {self.progress}>"

    def _figures(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Figures]:
        pace = Pace()
        with self._query:
            for groups in self._grouping.so_far(batches):
                if pace.allows(len(groups)) and not self._query.is_done:
                    yield self._read_off(groups, pace, exact=False)
            self._last = self._read_off(groups, pace, exact=self._query.is_done)
            yield self._last

    def _read_off(self, groups: RunningGroups, pace: Pace, *, exact: bool) -> Figures:
        pace.begin()
        found = Figures(self._grouping.table(groups), groups.rows, pace.seconds, exact)
        pace.end(len(groups))
        return found


def bytes_for_groups(memory_bytes: int) -> int:
    """What groups may take of so much memory."""
    return max(memory_bytes // GROUPS_SHARE, LEAST_GROUPS_BYTES)


def bytes_of_join(memory_bytes: int) -> int:
    """What is left of it for rows."""
    return max(memory_bytes - memory_bytes // GROUPS_SHARE, LEAST_MEMORY_BYTES)
