"""The table of manifests: what is accepted, what is refused, and why.

Each file of this folder but `bases.yaml` is a list of cases:

    - title: A sentence that says the rule, of its own in the whole table
      base: minimal                                   # a manifest of bases.yaml …
      set: {"cliques[0].spec.replicas": -1}           # … changed: fields are created where they are missing
      remove: ["cliques[0].spec.minAvailable"]
      manifest: {…}                                   # or, instead of base, set and remove, the manifest itself
      old: {set: {…}, remove: [...]}                  # the object is a change of this one, made from the same base
      mode: strict                                    # lenient where left out
      configuration: {network: {autoMNNVLEnabled: true}}    # of the operator, beyond the defaults
      topologies: {gpus: [zone, rack, host]}          # ClusterTopologyBindings that exist; unknown where left out
      expect:                                         # accepted where left out
        - {path: spec.replicas, reason: Invalid, detail: part of the message}
      warnings: [spec.replicas]                       # the fields that are warned of, exactly
      judged_by: webhook                              # the CRD alone says the opposite; schema: it says the same

A path may begin with `template`, `cliques` or `groups` for `spec.template`, `spec.template.cliques` and
`spec.template.podCliqueScalingGroups`; `[key]` is a key of a map. Reasons are those of Kubernetes without their
`FieldValue`. `judged_by` may be left out: schema for what is accepted, webhook for what is refused.
"""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path as FilePath
from typing import Any, Final, Literal

import msgspec
import yaml

from grove.api import codec, policy
from grove.api.kinds.operatorconfig import OperatorConfiguration
from grove.api.policy import Policy

FOLDER: Final = FilePath(__file__).parent
BASES: Final = "bases"

JSON = dict[str, Any]
Judge = Literal["schema", "webhook"]

_SHORT: Final = {
    "template": "spec.template",
    "cliques": "spec.template.cliques",
    "groups": "spec.template.podCliqueScalingGroups",
}
_FIRST: Final = re.compile(r"^[^.\[]+")
_STEP: Final = re.compile(r"\.?([^.\[\]]+)|\[([^\]]*)\]")


class Expected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An error that must be reported."""

    path: str
    reason: Literal[
        "Required", "Invalid", "Duplicate", "NotSupported", "NotFound", "Forbidden", "TypeInvalid", "UnknownField"
    ]
    detail: str = ""

    @property
    def cause(self) -> str:
        """The reason as Kubernetes spells it."""
        return self.reason if self.reason == "UnknownField" else f"FieldValue{self.reason}"


class Derivation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a manifest differs from its base."""

    set: dict[str, Any] = {}
    remove: tuple[str, ...] = ()


class _Written(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A case as it stands in its file."""

    title: str
    base: str = "minimal"
    set: dict[str, Any] = {}
    remove: tuple[str, ...] = ()
    manifest: JSON | None = None
    old: Derivation | None = None
    mode: policy.Mode = "lenient"
    configuration: JSON = {}
    topologies: dict[str, tuple[str, ...]] | None = None
    expect: Literal["accepted"] | tuple[Expected, ...] = "accepted"
    warnings: tuple[str, ...] = ()
    judged_by: Judge | None = None


class Case(msgspec.Struct, frozen=True):
    """A manifest and the verdict on it."""

    file: str
    title: str
    manifest: JSON
    old: JSON | None
    mode: policy.Mode
    configuration: JSON
    """An OperatorConfiguration."""
    topologies: dict[str, tuple[str, ...]] | None
    errors: tuple[Expected, ...]
    warnings: tuple[str, ...]
    judged_by: Judge

    @property
    def accepted(self) -> bool:
        return not self.errors

    @property
    def is_configured(self) -> bool:
        """Whether the operator has settings of its own in this case."""
        return len(self.configuration) > 2

    @property
    def id(self) -> str:
        return f"{self.file}: {self.title}"

    @property
    def policy(self) -> Policy:
        configuration = codec.decode(self.configuration, OperatorConfiguration)
        return msgspec.structs.replace(policy.of_configuration(configuration, self.topologies), mode=self.mode)

    @property
    def bindings(self) -> list[JSON]:
        """The topologies as manifests."""
        return [
            {
                "apiVersion": "grove.io/v1alpha1",
                "kind": "ClusterTopologyBinding",
                "metadata": {"name": name},
                "spec": {"levels": [{"domain": domain, "key": f"example.com/{domain}"} for domain in domains]},
            }
            for name, domains in (self.topologies or {}).items()
        ]


@functools.cache
def cases() -> tuple[Case, ...]:
    """All cases, in the order of the files."""
    bases = yaml.safe_load((FOLDER / f"{BASES}.yaml").read_text(encoding="utf-8"))
    found: list[Case] = []
    for path in sorted(FOLDER.glob("*.yaml")):
        if path.stem == BASES:
            continue
        for one in yaml.safe_load(path.read_text(encoding="utf-8")):
            found.append(_case(path.stem, msgspec.convert(one, _Written), bases))
    return tuple(found)


def _case(file: str, written: _Written, bases: Mapping[str, JSON]) -> Case:
    accepted = written.expect == "accepted"
    base = written.manifest or bases[written.base]
    configuration = {
        "apiVersion": "operator.config.grove.io/v1alpha1",
        "kind": "OperatorConfiguration",
        **written.configuration,
    }
    return Case(
        file=file,
        title=written.title,
        manifest=derived(base, written.set, written.remove),
        old=derived(base, written.old.set, written.old.remove) if written.old else None,
        mode=written.mode,
        configuration=configuration,
        topologies=written.topologies,
        errors=()
        if written.expect == "accepted"
        else tuple(msgspec.structs.replace(one, path=full(one.path)) for one in written.expect),
        warnings=tuple(map(full, written.warnings)),
        judged_by=written.judged_by or ("schema" if accepted else "webhook"),
    )


def derived(base: JSON, changes: Mapping[str, Any], removed: Iterable[str]) -> JSON:
    """The manifest with some fields set and some removed."""
    tree = copy.deepcopy(base)
    for path in removed:
        *before, last = steps(path)
        del _inside(tree, before)[last]
    for path, value in changes.items():
        *before, last = steps(path)
        parent = _inside(tree, before)
        if isinstance(parent, list) and last == len(parent):
            parent.append(copy.deepcopy(value))
        else:
            parent[last] = copy.deepcopy(value)
    return tree


def full(path: str) -> str:
    """The path with its beginning written out."""
    return _FIRST.sub(lambda match: _SHORT.get(match[0], match[0]), path)


def steps(path: str) -> list[str | int]:
    """The steps of a path as text: `a.b[0][some.key]`."""
    found: list[str | int] = []
    for field, bracket in _STEP.findall(full(path)):
        found.append(field or (int(bracket) if bracket.isdigit() else bracket))
    return found


def _inside(tree: Any, path: Iterable[str | int]) -> Any:
    for step in path:
        if isinstance(tree, dict):
            tree = tree.setdefault(step, {})
        elif step == len(tree):
            tree.append({})
            tree = tree[step]
        else:
            tree = tree[step]
    return tree
