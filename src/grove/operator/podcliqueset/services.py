"""The headless Service of each replica, through which its pods find each other. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from grove.api import labels, names
from grove.api.fields import JSON
from grove.kube.resources import SERVICES
from grove.operator.podcliqueset import children
from grove.operator.podcliqueset.children import Patch, Plan
from grove.operator.tree import Tree
from grove.operator.views import ServiceView


def plan(tree: Tree, existing: Iterable[ServiceView]) -> Plan:
    """What must be written so that every replica has its Service, unless the set wants none."""
    return children.plan(wanted(tree), existing, _change)


def wanted(tree: Tree) -> list[JSON]:
    config = tree.template.headless_service_config
    if config is not None and config.enabled is False:
        return []
    publishes = config is not None and config.publish_not_ready_addresses
    return [_service(tree, replica, publishes) for replica in range(tree.pcs.spec.replicas)]


def _service(tree: Tree, replica: int, publishes: bool) -> JSON:
    name = names.headless_service(tree.name, replica)
    marks = {**tree.common_labels(name, replica), labels.COMPONENT: labels.COMPONENT_SERVICE}
    selector = {**labels.common(tree.name), labels.POD_CLIQUE_SET_REPLICA_INDEX: str(replica)}
    return {
        **children.body(tree, SERVICES, name, marks),
        "spec": {"selector": selector, "clusterIP": "None", "publishNotReadyAddresses": publishes},
    }


def _change(body: JSON, held: ServiceView) -> Patch | None:
    wanted, live = body["spec"], held.spec
    spec: JSON = {}
    if live.selector != wanted["selector"]:
        others = dict.fromkeys((live.selector or {}).keys() - wanted["selector"].keys())
        spec["selector"] = {**others, **wanted["selector"]}
    if live.publish_not_ready_addresses != wanted["publishNotReadyAddresses"]:
        spec["publishNotReadyAddresses"] = wanted["publishNotReadyAddresses"]
    return children.patch_of(body, held.metadata, {"spec": spec} if spec else {})
