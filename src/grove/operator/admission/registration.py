"""The webhook configurations as the cluster should have them, and what must be written to get there. Pure.

`registrar.py` carries it out. A configuration is written when the process starts and it differs, when it is gone, and
when it trusts other authorities than ours. What people change besides stays until the next start.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from grove.api import labels
from grove.api.fields import JSON
from grove.kube.resources import Resource
from grove.operator.admission import webhooks
from grove.operator.admission.webhooks import WEBHOOKS, Webhook

MUTATING: Final = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)
VALIDATING: Final = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
SERVICE: Final = "grove-operator"
SERVICE_PORT: Final = 443
TIMEOUT_SECONDS: Final = 10
LABELS: Final = {
    labels.MANAGED_BY: labels.MANAGED_BY_VALUE,
    labels.COMPONENT: "webhook",
    labels.PART_OF: "grove",
}


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """The API server reaches the webhooks by a Service."""

    namespace: str
    name: str = SERVICE
    port: int = SERVICE_PORT

    def client_config(self, path: str) -> JSON:
        return {"service": {"namespace": self.namespace, "name": self.name, "port": self.port, "path": path}}


class Url(msgspec.Struct, frozen=True):
    """The API server reaches the webhooks at `https://host:port`."""

    base: str

    def client_config(self, path: str) -> JSON:
        return {"url": self.base.rstrip("/") + path}


class Wanted(msgspec.Struct, frozen=True):
    """A configuration as it should be; None as the body of one that should not be there."""

    resource: Resource
    name: str
    body: JSON | None


class Step(msgspec.Struct, frozen=True):
    """A write: applies the body, or without one deletes what has this uid."""

    resource: Resource
    name: str
    body: JSON | None = None
    uid: str = ""


def configurations(
    where: Service | Url,
    authorities: bytes,
    *,
    with_authorizer: bool,
    namespace_selector: JSON | None = None,
    owners: Sequence[JSON] = (),
) -> list[Wanted]:
    """All configurations. The namespace selector narrows what is judged; things of the cluster always are.

    `owners` are what they go with: left alone, they would refuse all that they were asked about.
    """
    return [
        Wanted(
            MUTATING if webhook.mutating else VALIDATING,
            webhook.configuration,
            _body(webhook, where, authorities, namespace_selector or {}, owners)
            if with_authorizer or webhook is not webhooks.AUTHORIZER
            else None,
        )
        for webhook in WEBHOOKS
    ]


def _body(
    webhook: Webhook, where: Service | Url, authorities: bytes, namespace_selector: JSON, owners: Sequence[JSON]
) -> JSON:
    bundle = base64.b64encode(authorities).decode()
    entry: JSON = {
        "name": webhook.name,
        "clientConfig": where.client_config(webhook.path) | {"caBundle": bundle},
        "rules": [
            {
                "apiGroups": [rule.group],
                "apiVersions": list(rule.versions),
                "resources": list(rule.resources),
                "operations": list(rule.operations),
                "scope": "*",
            }
            for rule in webhook.rules
        ],
        "failurePolicy": "Fail",
        "matchPolicy": "Exact",
        "sideEffects": "None",
        "timeoutSeconds": TIMEOUT_SECONDS,
        "admissionReviewVersions": ["v1"],
        "namespaceSelector": namespace_selector,
        "objectSelector": webhooks.object_selector(webhook),
    }
    if webhook.mutating:
        entry["reinvocationPolicy"] = "Never"
    metadata: JSON = {"name": webhook.configuration, "labels": LABELS}
    if owners:
        metadata["ownerReferences"] = list(owners)
    return {"metadata": metadata, "webhooks": [entry]}


def steps(wanted: list[Wanted], held: Mapping[tuple[str, str], JSON], *, starting: bool) -> Iterator[Step]:
    """What to write; `held` are the configurations with our labels, by plural and name."""
    for one in wanted:
        found = held.get((one.resource.plural, one.name))
        if one.body is None:
            if found is not None:
                yield Step(one.resource, one.name, uid=found["metadata"]["uid"])
        elif found is None or _bundle(found) != _bundle(one.body) or (starting and not _covers(found, one.body)):
            yield Step(one.resource, one.name, one.body)


def _bundle(configuration: JSON) -> list[Any]:
    return [one.get("clientConfig", {}).get("caBundle") for one in configuration.get("webhooks") or ()]


def _covers(found: Any, wanted: Any) -> bool:
    """Whether all that is wanted is there; the API server adds fields of its own."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            name in found and (_covers(found[name], value) if value != {} else found[name] == {})
            for name, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list)
            and len(found) == len(wanted)
            and all(_covers(one, other) for one, other in zip(found, wanted, strict=True))
        )
    return bool(found == wanted)
