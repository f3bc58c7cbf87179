"""What the operator may do in a cluster: every right with its reason, and no other. Data; `grove.install` renders it.

There is no `escalate` and no `bind`: to give waiters the right to read pods, the operator must hold it itself.
"""

from __future__ import annotations

from typing import Final

from grove.kube import resources
from grove.operator.resources import (
    POD_CLIQUE_SETS,
    POD_CLIQUES,
    POD_GANGS,
    SCALING_GROUPS,
    TOPOLOGY_BINDINGS,
)
from grove.runtime.permission import FOLLOW, Permission, of

CHILD: Final = ("get", "list", "watch", "create", "patch", "delete")
"""What becomes of a child; `get` is asked about one of whose creation the answer was lost."""
WEBHOOKS: Final = "admissionregistration.k8s.io"
CLUSTER_ROLE: Final = "grove:system:grove-operator"
"""Where all of this that is not for its own namespace is granted."""


PERMISSIONS: Final = (
    of(POD_CLIQUE_SETS, (*FOLLOW, "patch"), "follows the sets, and keeps its finalizer on them"),
    of(POD_CLIQUES, (*CHILD, "deletecollection"), "makes, changes and removes the PodCliques of sets"),
    of(SCALING_GROUPS, (*CHILD, "deletecollection"), "makes, changes and removes the scaling groups of sets"),
    of(POD_GANGS, (*CHILD, "deletecollection"), "tells schedulers which pods belong together"),
    of(TOPOLOGY_BINDINGS, FOLLOW, "knows the levels that constraints name"),
    Permission(
        "grove.io",
        tuple(f"{one.plural}/status" for one in (POD_CLIQUE_SETS, POD_CLIQUES, SCALING_GROUPS, TOPOLOGY_BINDINGS)),
        ("patch",),
        "says how they fare",
    ),
    of(
        POD_GANGS,
        ("patch",),
        "says when a gang is whole, and how it fares where its scheduler does not",
        subresource="status",
    ),
    Permission(
        "grove.io",
        tuple(f"{one.plural}/finalizers" for one in (POD_CLIQUE_SETS, POD_CLIQUES, SCALING_GROUPS)),
        ("update",),
        "makes children whose owner waits for them when it is deleted in the foreground",
        by_request=False,
    ),
    of(
        resources.PODS,
        (*CHILD, "deletecollection"),
        "makes, opens the gates of, and removes pods; and lets waiters read them",
    ),
    of(resources.SERVICES, CHILD, "headless Services"),
    of(resources.AUTOSCALERS, CHILD, "autoscalers of PodCliques and scaling groups"),
    of(resources.ROLES, CHILD, "the right of waiters to read pods"),
    of(resources.ROLE_BINDINGS, CHILD, "who has that right"),
    of(resources.CORE_EVENTS, ("create", "patch"), "tells what happened, for kubectl describe"),
    Permission(
        WEBHOOKS,
        ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"),
        (*FOLLOW, "patch"),
        "registers its webhooks, with the authority that the API server is to trust",
    ),
    Permission(
        WEBHOOKS,
        ("validatingwebhookconfigurations",),
        ("delete",),
        "takes the authorizer away when it is switched off",
    ),
    Permission(
        WEBHOOKS,
        ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"),
        ("create",),
        "applies those that are not there yet",
        by_request=False,
    ),
    Permission(
        resources.CLUSTER_ROLES.group,
        (resources.CLUSTER_ROLES.plural,),
        ("get",),
        "makes its own role the owner of its webhooks, so that they go when it goes",
        names=(CLUSTER_ROLE,),
    ),
    Permission(
        "",
        ("secrets",),
        ("list", "watch", "create", "patch"),
        "keeps the certificate of the webhooks, for all replicas",
        where="own namespace",
    ),
    Permission(
        "coordination.k8s.io",
        ("leases",),
        ("get", "create", "update"),
        "one replica works, the others stand by",
        where="own namespace",
    ),
)
