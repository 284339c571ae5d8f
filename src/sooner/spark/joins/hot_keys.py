"""`hot_keys=`: whether a key with a large share of the rows is spread over all partitions, or stays in its own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from pyspark.sql import DataFrame

from sooner.errors import InvalidJoin
from sooner.operators.two_way.plan import TwoWayPlan
from sooner.sides import LEFT, SIDES
from sooner.spark.dataflow.inflow import why_not_packed
from sooner.spark.interop.locations import inside_of
from sooner.spark.joins.rooms import Rooms
from sooner.spark.shuffle.hot_keys import HOT_KEYS, Spreading
from sooner.spark.shuffle.placing import Placement
from sooner.spark.step.layout import partition_directory, root_of
from sooner.spark.step.state_directory import open_state

AskedHotKeys = Literal["auto", "spread", "home"]
SPREAD = "spread"


@dataclass(frozen=True)
class HotKeysChoice:
    """Whether hot keys are spread, and why not if they are not."""

    dealt: tuple[int, ...] = ()  # sides whose rows may be dealt out
    why_not: str = ""
    state: str = ""

    @property
    def identity(self) -> dict[str, str]:
        """What must not change while a state is in use; states that spread nothing are those of before."""
        return {HOT_KEYS: SPREAD} if self.dealt else {}

    @property
    def notes(self) -> list[str]:
        """What there is to explain."""
        if self.dealt:
            return ["hot keys: a key with a large share of the rows is spread over all partitions, once it is found"]
        return [f"hot keys: each stays in one partition, since {self.why_not}"] if self.why_not else []

    def spreading(self, side: int) -> Spreading | None:
        """How readers place rows of a side, with the partitions that the state has by now."""
        if not self.dealt:
            return None
        filesystem, path = open_state(self.state)
        first = partition_directory(root_of(filesystem, path), 0)
        return Spreading(inside_of(self.state, first.removeprefix(f"{path}/")), side)


def hot_keys_choice(
    asked: AskedHotKeys,
    operator: TwoWayPlan,
    frames: Sequence[DataFrame],
    placed: Sequence[Placement],
    names: Sequence[str],
    rooms: Rooms,
) -> HotKeysChoice:
    """As asked for; "auto" is what the state has, or spreads where both inputs come packed anyway."""
    if asked not in get_args(AskedHotKeys):
        raise InvalidJoin(f"hot_keys={asked!r} is not known; give 'auto', 'spread' or 'home'.")
    if asked == "home" or rooms.partitions == 1:
        return HotKeysChoice()
    if (why_not := _impossible(operator, placed)) is not None:
        if asked == SPREAD:
            raise InvalidJoin(f"hot_keys='spread' cannot be, since {why_not}; leave it out, or give 'home'.")
        return HotKeysChoice(why_not=why_not)
    if asked == "auto" and (why_not := _costly(frames, placed, names, rooms)) is not None:
        return HotKeysChoice(why_not=why_not)
    dealt = SIDES if operator.kind.pairs else (LEFT,)
    return HotKeysChoice(dealt, state=rooms.location)


def _impossible(operator: TwoWayPlan, placed: Sequence[Placement]) -> str | None:
    if operator.near is not None:
        return "rows match by a range"
    if operator.forgets:
        return "rows are forgotten"
    if not placed[LEFT].is_a_readers:
        return f"keys of {', '.join(map(str, placed[LEFT].types))} are placed by Spark"
    return None


def _costly(frames: Sequence[DataFrame], placed: Sequence[Placement], names: Sequence[str], rooms: Rooms) -> str | None:
    """Rows that are not packed by their source have to be packed by a task after it, if hot keys are spread."""
    if rooms.stored is not None:
        return None if rooms.stored.get(HOT_KEYS) == SPREAD else "the state was made so"
    for name, frame, other, placement in zip(names, frames, reversed(frames), placed, strict=True):
        if (why := why_not_packed(frame, [other], placement)) is not None:
            return f"the {name} would have to be packed ({why}); hot_keys='spread' does it"
    return None
