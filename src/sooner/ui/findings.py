"""What `sooner doctor` finds: one thing, how it is, and what would mend it."""

from typing import Final, Literal, NamedTuple

State = Literal["ok", "slower", "absent", "MISSING"]
OK: Final = "ok"
SLOWER: Final = "slower"  # something falls back to another way
ABSENT: Final = "absent"  # and nobody needs it who does not ask for it
MISSING: Final = "MISSING"  # nothing works without it, or nothing of what is installed for it


class Finding(NamedTuple):
    what: str
    state: State
    found: str
    cure: str = ""
