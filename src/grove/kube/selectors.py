"""Label and field selectors, judged here: whether what our own write returned belongs to a cache.

The server chooses what a list or watch delivers; what a write returns, nobody has chosen. The grammar is that of
Kubernetes: `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, `a`, `!a`, joined by commas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias, TypeVar

from grove.api.kinds.meta import ObjectMeta

T = TypeVar("T")
Matches: TypeAlias = Callable[[Mapping[str, str]], bool]

_REQUIREMENT: Final = re.compile(
    r"\s*(?:(?P<absent>!)\s*(?P<without>[^\s=!,()]+)"
    r"|(?P<key>[^\s=!,()]+)(?:\s*(?P<equal>==|=|!=)\s*(?P<value>[^\s=!,()]*)"
    r"|\s+(?P<set>in|notin)\s*\((?P<values>[^()]*)\))?)\s*(?:,|$)"
)


def labels(selector: str) -> Matches:
    """A function that tells whether labels match the selector. Raises ValueError where it is malformed."""
    requirements = list(_parse(selector))
    return lambda found: all(requirement(found) for requirement in requirements)


def fields(selector: str, read: Mapping[str, Callable[[T], str]]) -> Callable[[ObjectMeta, T], bool]:
    """The same for a field selector; `read` gives the values of fields other than those of the metadata."""
    matches = labels(selector)
    names = {name for pair in filter(None, selector.split(",")) for name in [re.split(r"[!=]", pair)[0].strip()]}
    for name in sorted(names - read.keys() - {"metadata.name", "metadata.namespace"}):
        raise ValueError(f"field selector {selector!r}: no function given that reads {name!r} of an object")

    def judge(metadata: ObjectMeta, obj: T) -> bool:
        values = {name: read[name](obj) for name in names if name in read}
        return matches({"metadata.name": metadata.name, "metadata.namespace": metadata.namespace or ""} | values)

    return judge


def _parse(selector: str) -> list[Matches]:
    requirements, at = [], 0
    while at < len(selector) and selector[at:].strip():
        match = _REQUIREMENT.match(selector, at)
        if match is None:
            raise ValueError(f"selector {selector!r}: not understood at {selector[at:]!r}")
        requirements.append(_requirement(match))
        at = match.end()
    return requirements


def _requirement(match: re.Match[str]) -> Matches:
    key, value = match["key"] or match["without"], match["value"]
    if match["absent"]:
        return lambda found: key not in found
    if match["equal"]:
        return (
            (lambda found: found.get(key) != value)
            if match["equal"] == "!="
            else (lambda found: found.get(key) == value)
        )
    if match["set"]:
        values = {one.strip() for one in match["values"].split(",")}
        wanted = match["set"] == "in"
        return lambda found: (found.get(key) in values) == wanted
    return lambda found: key in found
