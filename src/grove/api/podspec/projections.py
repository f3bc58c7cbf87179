"""Files that volumes are made of: keys of ConfigMaps and Secrets, fields of the pod, tokens, and all of them together.

Cluster trust bundles and pod certificates are left to the API server: it judges them only behind feature gates.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from grove.api.errors import Path
from grove.api.podspec import fieldrefs, files
from grove.api.podspec.tree import Node

SOURCES: Final = ("secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")
SHORTEST_TOKEN: Final = 600
LONGEST_TOKEN: Final = 2**32


def check_items(source: Node) -> None:
    """Keys and the files that they become."""
    for item in source.each("items"):
        item.need("key", "name the key to show")
        item.need("path", "name the file that holds the key", files.local)
        files.check_mode(item, "mode")


def check_downward(source: Node) -> None:
    """Files with fields of the pod."""
    files.check_mode(source, "defaultMode")
    for item in source.each("items"):
        item.need("path", "name the file that holds the field", files.local)
        files.check_mode(item, "mode")
        field, resource = item.child("fieldRef"), item.child("resourceFieldRef")
        if item.has("fieldRef") and item.has("resourceFieldRef"):
            item.problems.invalid(
                item.path,
                item.text("path"),
                "fieldRef and resourceFieldRef can not be specified simultaneously",
                "keep one of them",
            )
        if field is not None:
            fieldrefs.check_field(field, fieldrefs.FILE_FIELDS)
        elif resource is not None:
            fieldrefs.check_resource(resource, needs_container=True)
        elif not item.has("fieldRef") and not item.has("resourceFieldRef"):
            item.problems.required(
                item.path, "one of fieldRef and resourceFieldRef is required", "say what the file holds"
            )


def check_projected(volume: Node) -> None:
    """Several sources in one directory."""
    files.check_mode(volume, "defaultMode")
    taken: dict[str, Path] = {}
    for source in volume.each("sources"):
        given = [key for key in SOURCES if source.has(key)]
        if len(given) > 1:
            source.problems.forbidden(
                source.path, "may not specify more than 1 volume type per source", "make a source of each"
            )
        for key in ("secret", "configMap"):
            if (projection := source.child(key)) is not None:
                projection.need("name", "name the object to read")
                check_items(projection)
        if (downward := source.child("downwardAPI")) is not None:
            check_downward(downward)
        if (token := source.child("serviceAccountToken")) is not None:
            _check_token(token)
        for where, path in _paths(source):
            if path in taken:
                source.problems.invalid(where, path, f"conflicts with {taken[path]}", "give every file its own path")
            taken.setdefault(path, where)


def _check_token(token: Node) -> None:
    seconds = token.number("expirationSeconds")
    if seconds is not None and not SHORTEST_TOKEN <= seconds <= LONGEST_TOKEN:
        token.problems.invalid(
            token.at("expirationSeconds"),
            seconds,
            "may not specify a duration less than 10 minutes or larger than 2^32 seconds",
            "use 600 or more, such as 3600",
        )
    token.need("path", "name the file that holds the token", files.local)


def _paths(source: Node) -> Iterator[tuple[Path, str]]:
    # A token's path is not compared by Kubernetes.
    for key in ("secret", "configMap", "downwardAPI"):
        projection = source.child(key)
        if projection is None:
            continue
        for item in projection.each("items"):
            path = item.text("path")
            if path:
                yield item.at("path"), path
