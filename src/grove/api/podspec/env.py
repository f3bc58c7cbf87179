"""Environment variables of containers, and the files, ConfigMaps and Secrets that they come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from grove.api import grammar
from grove.api.errors import Path
from grove.api.podspec import fieldrefs, files
from grove.api.podspec.tree import JSON, Node, judge_always

SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
LISTS: Final = ("configMapRef", "secretRef")


def check(container: Node, volumes: Mapping[str, JSON]) -> None:
    """The variables of one container. `volumes` are all that the pod has, by name."""
    first: dict[str, Path] = {}
    for variable in container.each("env"):
        name = variable.text("name")
        variable.need("name", "name the variable", grammar.variable)
        source = variable.child("valueFrom")
        if source is not None:
            _check_source(source, volumes, has_value=bool(variable.text("value")))
        if name and name in first:
            # Kubernetes takes the last one; a merge by name would lose the first.
            variable.problems.warn(
                variable.at("name"), f"hides {first[name]}, which sets {name} as well", "remove one of the two"
            )
        if name:
            first[name] = variable.path
    for source in container.each("envFrom"):
        source.judge("prefix", grammar.variable)
        given = [key for key in LISTS if source.has(key)]
        if len(given) != 1:
            source.problems.invalid(
                source.path, given, "must have exactly one of configMapRef and secretRef", "name one source an entry"
            )
        for key in given:
            reference = source.child(key)
            if reference is not None:
                reference.need("name", "name the object to read the variables from", grammar.name_prefix)


def _check_source(source: Node, volumes: Mapping[str, JSON], *, has_value: bool) -> None:
    given = [key for key in SOURCES if source.has(key)]
    if not given:
        source.problems.invalid(source.path, {}, "must have one of " + ", ".join(SOURCES), "say where the value is")
    elif has_value:
        source.problems.invalid(
            source.path, given, "must not be specified when `value` is not empty", "remove value or valueFrom"
        )
    elif len(given) > 1:
        source.problems.invalid(source.path, given, "must not have more than one source", "keep one of them")
    if (field := source.child("fieldRef")) is not None:
        fieldrefs.check_field(field, fieldrefs.VARIABLE_FIELDS)
    if (resource := source.child("resourceFieldRef")) is not None:
        fieldrefs.check_resource(resource, needs_container=False)
    for key in ("configMapKeyRef", "secretKeyRef"):
        if (reference := source.child(key)) is not None:
            name = reference.text("name")
            if name is not None:
                judge_always(reference.at("name"), name, grammar.subdomain, reference.problems)
            reference.need("key", "name the key that holds the value", grammar.config_key)
    if (file := source.child("fileKeyRef")) is not None:
        _check_file(file, volumes)


def _check_file(file: Node, volumes: Mapping[str, JSON]) -> None:
    file.need("key", "name the key in the file", grammar.variable)
    file.need("path", "name the file in the volume", files.no_backsteps)
    name = file.text("volumeName")
    if not file.need("volumeName", "name the volume that holds the file", grammar.label) or name is None:
        return
    if name not in volumes:
        file.problems.not_found(file.at("volumeName"), name, "name one of the pod's volumes")
    elif volumes[name].get("emptyDir") is None:
        file.problems.invalid(
            file.at("volumeName"), name, "must be a volume of type emptyDir", "keep the file in an emptyDir volume"
        )
