"""Which join it is: the words that PySpark, pandas and Polars have for it, and what each of them means.

A row *matches* if the other side has a row that it goes with. Null matches nothing.
"""

import difflib
from dataclasses import dataclass
from typing import Final, Literal

from sooner.errors import InvalidJoin
from sooner.sides import LEFT, RIGHT, SIDES, opposite

# For editors, which complete what is spelled out; a test holds it to the table.
How = Literal[
    "inner",
    "left",
    "left_outer",
    "leftouter",
    "right",
    "right_outer",
    "rightouter",
    "full",
    "outer",
    "full_outer",
    "fullouter",
    "semi",
    "left_semi",
    "leftsemi",
    "anti",
    "left_anti",
    "leftanti",
]


@dataclass(frozen=True)
class Kind:
    """What a join gives."""

    name: str
    pairs: bool = True  # all pairs of rows that match
    unmatched: tuple[int, ...] = ()  # rows of these sides that match nothing
    matched: bool = False  # left rows that match something, each once

    @property
    def examined(self) -> tuple[int, ...]:
        """The sides of whose rows it must be known whether they match at all."""
        return self.unmatched if self.pairs else (LEFT,)

    def may_be_null(self, side: int) -> bool:
        """Whether there are results without a row of this side."""
        return self.pairs and opposite(side) in self.unmatched


INNER: Final = Kind("inner")
KINDS: Final = {
    kind.name: kind
    for kind in (
        INNER,
        Kind("left", unmatched=(LEFT,)),
        Kind("right", unmatched=(RIGHT,)),
        Kind("full", unmatched=SIDES),
        Kind("semi", pairs=False, matched=True),
        Kind("anti", pairs=False, unmatched=(LEFT,)),
    )
}
_SAME: Final = {
    "leftouter": "left",
    "rightouter": "right",
    "outer": "full",
    "fullouter": "full",
    "leftsemi": "semi",
    "leftanti": "anti",
}
_OTHERS: Final = {
    "cross": "there are no keys in it; give on= and one of these: ",
    "asof": "the nearest row is not an equal one; there are ",
    "rightsemi": "give left and right the other way round, and how='semi': there are ",
    "rightanti": "give left and right the other way round, and how='anti': there are ",
}


def kind_of(how: object) -> Kind:
    """The kind of join that a word names, read as PySpark does: case and separators do not matter."""
    word = how.lower().replace("_", "").replace(" ", "").replace("-", "") if isinstance(how, str) else ""
    word = _SAME.get(word, word)
    if word in KINDS:
        return KINDS[word]
    hint = _OTHERS.get(word)
    near = difflib.get_close_matches(word, [*KINDS, *_SAME], n=3, cutoff=0.6)
    if hint is None and near:
        raise InvalidJoin(f"how={how!r} is not known; did you mean {' or '.join(map(repr, near))}?")
    raise InvalidJoin(f"how={how!r} is not supported; {hint or 'there are '}{', '.join(map(repr, KINDS))}.")
