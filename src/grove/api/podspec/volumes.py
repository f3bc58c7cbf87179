"""The volumes of a pod: a name each, and one source."""

from __future__ import annotations

from grove.api import grammar
from grove.api.podspec import sources
from grove.api.podspec.tree import JSON, Node


def by_name(spec: Node) -> dict[str, JSON]:
    """Every volume by its name, for those who refer to one."""
    return {
        name: volume.value if _sources(volume) else {"emptyDir": {}}
        for volume in spec.each("volumes")
        if (name := volume.text("name"))
    }


def check(spec: Node) -> None:
    """The volumes of a pod."""
    seen: set[str] = set()
    for volume in spec.each("volumes"):
        name = volume.text("name")
        if volume.need("name", "name the volume, so that containers can mount it", grammar.label) and name:
            if name in seen:
                volume.problems.duplicate(volume.at("name"), name, "give every volume a name of its own")
            seen.add(name)
        given = _sources(volume)
        if not given:
            volume.problems.warn(volume.path, "has no source, and becomes an emptyDir", "write emptyDir: {}")
            continue
        for key in given[1:]:
            volume.problems.forbidden(
                volume.at(key), "may not specify more than 1 volume type", f"keep one of {', '.join(given)}"
            )
        if (source := volume.child(given[0])) is not None:
            sources.check(given[0], source)


def _sources(volume: Node) -> list[str]:
    return [key for key in sources.KINDS if volume.has(key)]
