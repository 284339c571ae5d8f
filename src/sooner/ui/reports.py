"""Reports as JSON that people can read and compare: a claim, a measurement or a curve a line."""

import json
from collections.abc import Mapping
from typing import Any


def to_json(document: Mapping[str, Any]) -> str:
    """Each value on a line of its own, and of lists and tables each member."""
    return "{\n" + ",\n".join(f" {json.dumps(name)}: {_value(value)}" for name, value in document.items()) + "\n}\n"


def _value(value: Any) -> str:
    if isinstance(value, dict) and value:
        members = (f"  {json.dumps(name)}: {_member(member)}" for name, member in value.items())
        return "{\n" + ",\n".join(members) + "\n }"
    if isinstance(value, list | tuple) and value:
        return "[\n" + ",\n".join(f"  {json.dumps(member)}" for member in value) + "\n ]"
    return json.dumps(value)


def _member(member: Any) -> str:
    """A member of a report; of a table of curves, each curve has a line."""
    if not isinstance(member, dict) or not member:
        return json.dumps(member)
    return "{\n" + ",\n".join(f"   {json.dumps(name)}: {json.dumps(value)}" for name, value in member.items()) + "\n  }"
