"""The webhooks that there are: where each is served, what it is called in the cluster, and what it is asked about."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from grove.api import labels
from grove.api.fields import JSON
from grove.api.kinds import catalog
from grove.api.kinds.catalog import Kind

Purpose = Literal["default", "validate", "authorize"]
Operation = Literal["CREATE", "UPDATE", "DELETE"]

CHANGED: Final[tuple[Operation, ...]] = ("CREATE", "UPDATE")


class Rule(msgspec.Struct, frozen=True):
    """Which requests the API server asks about. Subresources are none of them: anyone may scale."""

    group: str
    versions: tuple[str, ...]
    resources: tuple[str, ...]
    operations: tuple[Operation, ...]


class Webhook(msgspec.Struct, frozen=True, kw_only=True):
    """A path of the server, and the webhook configuration that leads there."""

    purpose: Purpose
    path: str
    configuration: str
    """The name of the configuration, which holds nothing but this webhook."""
    name: str
    rules: tuple[Rule, ...]
    kinds: tuple[Kind, ...] = ()
    """What it judges; the authorizer takes anything."""
    labels: tuple[tuple[str, str], ...] = ()
    """The labels of the objects that it is asked about."""

    @property
    def mutating(self) -> bool:
        return self.purpose == "default"


def _changes_of(*kinds: Kind) -> tuple[Rule, ...]:
    (group,) = {kind.group for kind in kinds}
    (version,) = {kind.version for kind in kinds}
    return (Rule(group, (version,), tuple(kind.plural for kind in kinds), CHANGED),)


def _judging(purpose: Purpose, word: str, configuration: str, name: str, *kinds: Kind) -> Webhook:
    return Webhook(
        purpose=purpose,
        path=f"/webhooks/{purpose}-{word}",
        configuration=configuration,
        name=name,
        rules=_changes_of(*kinds),
        kinds=kinds,
    )


DEFAULT_SET: Final = _judging(
    "default",
    "podcliqueset",
    "podcliqueset-defaulting-webhook",
    "pcs.defaulting.webhooks.grove.io",
    catalog.POD_CLIQUE_SET,
)
VALIDATE_SET: Final = _judging(
    "validate",
    "podcliqueset",
    "podcliqueset-validating-webhook",
    "pcs.validating.webhooks.grove.io",
    catalog.POD_CLIQUE_SET,
)
VALIDATE_TOPOLOGY: Final = _judging(
    "validate",
    "clustertopology",
    "clustertopology-validating-webhook",
    "clustertopology.validating.webhooks.grove.io",
    catalog.TOPOLOGY_BINDING,
)
DEFAULT_GANG_SET: Final = _judging(
    "default",
    "podgangset",
    "podgangset-defaulting-webhook",
    "pgs.defaulting.webhooks.grove.io",
    catalog.POD_GANG_SET,
)
VALIDATE_GANG_SET: Final = _judging(
    "validate",
    "podgangset",
    "podgangset-validating-webhook",
    "pgs.validating.webhooks.grove.io",
    catalog.POD_GANG_SET,
    catalog.AFFINITY_CLIQUE,
)
VALIDATE_QUEUE: Final = _judging(
    "validate",
    "queue",
    "queue-validating-webhook",
    "queue.validating.webhooks.grove.io",
    catalog.QUEUE,
)
AUTHORIZER: Final = Webhook(
    purpose="authorize",
    path="/webhooks/authorizer-webhook",
    configuration="authorizer-webhook",
    name="authorizer.webhooks.grove.io",
    rules=(
        Rule("", ("v1",), ("secrets", "serviceaccounts", "services"), ("UPDATE", "DELETE")),
        Rule("rbac.authorization.k8s.io", ("v1",), ("roles", "rolebindings"), ("UPDATE", "DELETE")),
        Rule("autoscaling", ("v1", "v2"), ("horizontalpodautoscalers",), ("UPDATE", "DELETE")),
        Rule("", ("v1",), ("pods",), ("UPDATE",)),
        Rule("grove.io", ("v1alpha1",), ("podcliques", "podcliquescalinggroups"), ("CREATE", "UPDATE", "DELETE")),
        Rule("scheduler.grove.io", ("v1alpha1",), ("podgangs",), ("CREATE", "UPDATE", "DELETE")),
    ),
    labels=((labels.MANAGED_BY, labels.MANAGED_BY_VALUE),),
)

WEBHOOKS: Final = (
    DEFAULT_SET,
    VALIDATE_SET,
    VALIDATE_TOPOLOGY,
    DEFAULT_GANG_SET,
    VALIDATE_GANG_SET,
    VALIDATE_QUEUE,
    AUTHORIZER,
)


def object_selector(webhook: Webhook) -> JSON:
    return {"matchLabels": dict(webhook.labels)} if webhook.labels else {}
