"""The admission webhooks of the process, put together: certificates, judges, server, and their registration."""

from __future__ import annotations

import random
import urllib.parse
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.operatorconfig import OperatorConfiguration
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.api.policy import Policy, Topologies, domains_of
from grove.kube.client import Client
from grove.kube.clock import Clock
from grove.operator.admission import certificates
from grove.operator.admission.authorizer import Protection
from grove.operator.admission.certificatefiles import FileCertificates
from grove.operator.admission.certificatestore import SecretCertificates
from grove.operator.admission.judges import Judges
from grove.operator.admission.registrar import Registrar
from grove.operator.admission.registration import Service, Url
from grove.operator.admission.server import WebhookServer
from grove.operator.resources import TOPOLOGY_BINDINGS
from grove.operator.world import World
from grove.runtime.health import Check
from grove.runtime.manager import Runnable

BY_SERVICE: Final = "service"
"""The API server reaches the webhooks by the operator's Service; elsewhere, at an address of this machine."""


class Webhooks:
    """What runs on every replica for admission, and the checks on which readiness depends."""

    def __init__(
        self,
        client: Client,
        *,
        world: World,
        policy: Policy,
        configuration: OperatorConfiguration,
        reach: str,
        user: str,
        clock: Clock,
        rng: random.Random,
    ) -> None:
        """`user` is who the operator is to the API server: the authorizer lets it through."""
        settings, authorizer = configuration.server.webhooks, configuration.authorizer
        namespace = client.connection.namespace
        way = way_to(reach, settings.url, namespace=namespace, domain=configuration.network.cluster_domain)
        keeper: SecretCertificates | FileCertificates
        if settings.cert_provision_mode == "auto":
            keeper = SecretCertificates(
                client,
                namespace=namespace,
                secret_name=settings.secret_name,
                names=way.names,
                clock=clock,
                rng=rng,
            )
        else:
            keeper = FileCertificates(Path(settings.server_cert_dir), clock=clock)
        judges = Judges(
            policy=policy,
            topologies=lambda: topologies_of(world.topologies),
            read_topologies=lambda: read_topologies(client),
            parent=lambda namespace, name: parent_of(world, namespace, name),
            known=lambda: "" if world.sets.is_synced and world.topologies.is_synced else "the cluster is being read",
            protection=Protection(operator=user, exempt=authorizer.exempt_service_account_user_names)
            if authorizer.enabled
            else None,
        )
        self.server = WebhookServer(
            host=settings.bind_address, port=settings.port, judges=judges.by_path(), served=keeper.served, clock=clock
        )
        self.runnables: list[Runnable] = [keeper, self.server]
        self.checks: dict[str, Check] = {"webhooks": self.server.check}
        if settings.cert_provision_mode == "auto":
            registrar = Registrar(
                client,
                served=keeper.served,
                listening=self.server.started.wait,
                where=lambda: way.where or Url(f"https://{reach}:{self.server.port}"),
                with_authorizer=authorizer.enabled,
                clock=clock,
                rng=rng,
            )
            self.runnables.append(registrar)
            self.checks["webhook registration"] = registrar.check


class Way(NamedTuple):
    """How the API server comes to the webhooks."""

    names: tuple[str, ...]
    """What it calls them: what their certificate is for."""
    where: Service | Url | None
    """None: at their port, which is known once they listen."""


def way_to(reach: str, url: str, *, namespace: str, domain: str) -> Way:
    """`reach`: `service`, or an address of this machine. `url`, of the configuration, comes in place of the Service."""
    if reach != BY_SERVICE:
        return Way((reach,), None)
    names = tuple(certificates.names_of_service(namespace, domain))
    if not url:
        return Way(names, Service(namespace=namespace))
    host = urllib.parse.urlsplit(url).hostname
    return Way((*names, host) if host else names, Url(url))


def topologies_of(bindings: Iterable[ClusterTopologyBinding]) -> Topologies:
    return {one.metadata.name: domains_of(one) for one in bindings}


async def read_topologies(client: Client) -> Topologies:
    page = await client.list_all(TOPOLOGY_BINDINGS, type=ClusterTopologyBinding)
    return topologies_of(page.items)


def parent_of(world: World, namespace: str, name: str) -> ObjectMeta | None:
    found = world.sets.get(name, namespace)
    return None if found is None else found.metadata
