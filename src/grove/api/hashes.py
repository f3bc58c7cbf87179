"""Hashes that tell whether pods must be replaced: the same for the same meaning, for ever.

They are taken over canonical JSON of what the user wrote (keys sorted, nulls and empty values left out), never over
our structs: a new release, a new field or another order of fields does not change them. Changing this module rolls
every pod of every user; the fixtures of its test hold it still.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from grove.api import labels
from grove.api.fields import JSON
from grove.api.kinds.podcliqueset import CliqueTemplate, PodCliqueSetTemplate

_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels and no digits that look like letters, as in the hashes of Deployments."""
_LENGTH: Final = 12

_PRESENCE_COUNTS: Final = frozenset(
    {
        "configMap",
        "downwardAPI",
        "emptyDir",
        "image",
        "labelSelector",
        "namespaceSelector",
        "projected",
        "seLinuxOptions",
        "secret",
    }
)
"""Objects that mean something by being there: an empty labelSelector selects all pods, none selects no pod."""

_EMPTY_TEXT_COUNTS: Final = frozenset({"storageClassName"})
"""Texts that mean something by being empty: no storage class, where leaving it out means the default one."""

_FREE_MAPS: Final = frozenset(
    {
        "annotations",
        "labels",
        "limits",
        "matchLabels",
        "nodeSelector",
        "options",
        "overhead",
        "requests",
        "volumeAttributes",
    }
)
"""Maps with keys of the user's choice: there an empty value is a value, and no key has a meaning of ours."""

_DEFAULTS: Final[Mapping[str, Any]] = {"protocol": "TCP"}
"""Values that the schema fills in wherever their field is; leaving them out is the same as stating them."""

_POD_DEFAULTS: Final[Mapping[str, Any]] = {"restartPolicy": "Always", "terminationGracePeriodSeconds": 30}
"""Values that defaulting fills in for pods. Not for what is inside them: an init container that is always restarted is
a sidecar, and a probe without a grace period has that of its pod."""


def pod_template_hash(clique: CliqueTemplate, priority_class_name: str | None) -> str:
    """Changes with everything that makes a clique's pods different: labels, annotations, pod spec, priority."""
    annotations = {key: value for key, value in (clique.annotations or {}).items() if key != labels.TOPOLOGY_NAME}
    return digest(
        {
            "labels": clique.labels,
            "annotations": annotations,
            "podSpec": {key: value for key, value in clique.spec.pod_spec.items() if not _is_pod_default(key, value)},
            "priorityClassName": priority_class_name,
        }
    )


def _is_pod_default(key: str, value: Any) -> bool:
    return key in _POD_DEFAULTS and value == _POD_DEFAULTS[key]


def generation_hash(template: PodCliqueSetTemplate) -> str:
    """Changes when the pod template of any clique does. The order of the cliques does not matter."""
    return digest({clique.name: pod_template_hash(clique, template.priority_class_name) for clique in template.cliques})


def digest(document: JSON) -> str:
    """A short hash of a document that can be a label value."""
    number = int.from_bytes(hashlib.sha256(canonical(document)).digest(), "big")
    characters = []
    for _ in range(_LENGTH):
        number, rest = divmod(number, len(_ALPHABET))
        characters.append(_ALPHABET[rest])
    return "".join(characters)


def canonical(document: JSON) -> bytes:
    """The one way to write a document."""
    return json.dumps(_pruned(document), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _pruned(node: Any) -> Any:
    if isinstance(node, Mapping):
        return dict(_fields(node))
    if isinstance(node, list | tuple):
        # The entries of a list stay, also empty ones: their number and order carry meaning.
        return [_pruned(one) for one in node]
    if isinstance(node, float) and node.is_integer():
        return int(node)
    return node


def _fields(node: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    for key, value in node.items():
        if value is None:
            continue
        if key in _FREE_MAPS and isinstance(value, Mapping):
            pruned: Any = {name: one for name, one in value.items() if one is not None}
        else:
            pruned = _pruned(value)
        if _is_empty(key, pruned) or (key in _DEFAULTS and pruned == _DEFAULTS[key]):
            continue
        yield key, pruned


def _is_empty(key: str, pruned: Any) -> bool:
    if pruned == {}:
        return key not in _PRESENCE_COUNTS
    if pruned == "":
        return key not in _EMPTY_TEXT_COUNTS
    return bool(pruned == [])
