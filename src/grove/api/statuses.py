"""What of a status must be written: nothing if it says the same as the one that is stored. Pure."""

from __future__ import annotations

from grove.api import codec
from grove.api.fields import JSON, Struct


def patch(held: Struct | None, wanted: Struct) -> JSON | None:
    """The merge patch that makes the stored status the wanted one; None where nothing has to be changed."""
    before: JSON = {} if held is None else codec.encode(held)
    after = codec.encode(wanted)
    change = changes(before, after)
    return {"status": change} if change or held is None else None


def changes(before: JSON, after: JSON) -> JSON:
    """The merge patch from one tree to another: objects field by field, lists as a whole, null for what goes."""
    change: JSON = dict.fromkeys(before.keys() - after.keys())
    for key, value in after.items():
        held = before.get(key)
        if key in before and held == value:
            continue
        if isinstance(held, dict) and isinstance(value, dict):
            value = changes(held, value)
        change[key] = value
    return change
