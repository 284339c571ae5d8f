"""What a snapshot means: all of it, without what may differ between two that are equivalent."""

import base64
from typing import Any


def meaning(plain: Any) -> Any:
    """Without names of files, places in them and checksums: which rows of equal code come first is left open."""
    if isinstance(plain, list):
        return [meaning(part) for part in plain]
    if not isinstance(plain, dict):
        return plain
    if "file" in plain and "n_rows" in plain:  # a segment
        blocks = [tuple(block[2:5]) for block in plain.get("blocks", ())]  # rows, first code, last code
        matched = sum(byte.bit_count() for byte in base64.b64decode(plain.get("matched", "")))
        told = {name: plain.get(name) for name in ("n_rows", "n_bytes", "joined")}
        return told | {"matched": matched, "blocks": blocks}
    return {name: meaning(part) for name, part in plain.items()}


def first_difference(some: Any, others: Any, path: str = "snapshot") -> str | None:
    """Where two meanings differ, as a sentence; None if they do not."""
    if isinstance(some, dict) and isinstance(others, dict) and some.keys() == others.keys():
        pairs = [(f"{path}[{name!r}]", some[name], others[name]) for name in some]
    elif isinstance(some, list) and isinstance(others, list) and len(some) == len(others):
        pairs = [(f"{path}[{at}]", *both) for at, both in enumerate(zip(some, others, strict=True))]
    else:
        return None if some == others else f"{path} is {some!r} in one and {others!r} in the other"
    return next((found for at, one, other in pairs if (found := first_difference(one, other, at))), None)
