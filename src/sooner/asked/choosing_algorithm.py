"""`algorithm="auto"`: which algorithm a two-way join gets, by what is known of it before its first row, and why."""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import pyarrow as pa

from sooner.budget import UNLIMITED_BYTES, format_bytes
from sooner.named_algorithms import ALGORITHMS, Algorithm, AlgorithmName, find_algorithm
from sooner.runs.expected_bytes import bytes_of_row

AskedAlgorithm = AlgorithmName | Literal["auto"] | Algorithm
AUTO: Final = "auto"


class Known(NamedTuple):
    """What is known of a join before its first row."""

    is_estimate: bool = False
    of_state: str | None = None  # the name that is in the state which it goes on from
    resting_bytes: int | None = None  # of all rows, about, if both inputs are here as a whole and know how many
    memory_bytes: int = UNLIMITED_BYTES  # for rows


class Choice(NamedTuple):
    """An algorithm, and why it is this one."""

    algorithm: Algorithm
    reason: str = ""  # if it was not asked for by its name

    @property
    def notes(self) -> list[str]:
        """What there is to explain."""
        return [f"algorithm: {self.algorithm.name}, since {self.reason}"] if self.reason else []


NOTHING: Final = Known()


def choose(asked: AskedAlgorithm, known: Known = NOTHING) -> Choice:
    """The algorithm that is asked for; of "auto" that which is right by what is known."""
    if asked != AUTO:
        return Choice(find_algorithm(asked))
    name, reason = _right_for(known)
    return Choice(ALGORITHMS[name], reason)


def _right_for(known: Known) -> tuple[str, str]:
    """The first rule that holds; each is measured, see docs/performance.md."""
    if known.of_state in ALGORITHMS:
        return known.of_state, "the state was made with it"
    if known.is_estimate:
        return "pr_join", "what it has joined is a random sample at any time"
    if known.resting_bytes is None:
        return "rpj", "how much comes and when is not known, and of slow, silent or endless inputs it gives most early"
    size = f"the inputs, about {format_bytes(known.resting_bytes)},"
    if known.resting_bytes <= known.memory_bytes:
        return "rpj", f"{size} fit the memory: rows meet as they come, and none has to leave"
    memory = f"about {format_bytes(known.memory_bytes)} of memory"
    return "hmj", f"{size} are here as a whole, but do not fit {memory}: it leaves least to do on disk"


def bytes_of_all(schemas: Sequence[pa.Schema], rows: Sequence[int | None]) -> int | None:
    """What the rows of all inputs take, about, where it is known how many they are."""
    together = 0
    for schema, count in zip(schemas, rows, strict=True):
        if count is None:
            return None
        together += count * bytes_of_row(schema)
    return together
