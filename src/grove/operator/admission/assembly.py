"""The webhooks of one process, put together from the configuration; `process.py` runs what is here."""

from __future__ import annotations

import random
import urllib.parse
from collections.abc import Iterable, Sequence
from pathlib import Path

from prometheus_client.core import Metric

from grove.api import policy
from grove.api.fields import JSON
from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.operatorconfig import OperatorConfiguration
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.api.policy import Topologies
from grove.kube.cache import Cache
from grove.kube.client import Client
from grove.kube.clock import Clock
from grove.operator.admission import certificatestore, metrics, registrar, review
from grove.operator.admission.authorizer import Protection
from grove.operator.admission.certificatefiles import FileCertificates
from grove.operator.admission.certificates import names_of_service
from grove.operator.admission.certificatestore import SecretCertificates
from grove.operator.admission.judges import Judges
from grove.operator.admission.registrar import Registrar
from grove.operator.admission.registration import Service, Url
from grove.operator.admission.server import WebhookServer
from grove.operator.resources import TOPOLOGY_BINDINGS
from grove.runtime.manager import Runnable


class Admission:
    """Certificates, server and, where the certificates are ours, the registration."""

    def __init__(
        self,
        client: Client,
        *,
        configuration: OperatorConfiguration,
        namespace: str,
        user: str,
        sets: Cache[PodCliqueSet],
        topologies: Cache[ClusterTopologyBinding],
        clock: Clock,
        rng: random.Random,
        namespace_selector: JSON | None = None,
        settle: float = certificatestore.SETTLE,
        calm: float = registrar.CALM,
    ) -> None:
        """`namespace` and `user` are the operator's own; the caches are run by whoever made them.

        What comes after `rng` is for tests.
        """
        settings = configuration.server.webhooks
        self.certificates: SecretCertificates | FileCertificates
        if settings.cert_provision_mode == "auto":
            self.certificates = SecretCertificates(
                client,
                namespace=namespace,
                secret_name=settings.secret_name,
                names=[*names_of_service(namespace, configuration.network.cluster_domain), *_host(settings.url)],
                clock=clock,
                rng=rng,
                settle=settle,
            )
        else:
            self.certificates = FileCertificates(Path(settings.server_cert_dir), clock=clock)

        async def read_topologies() -> Topologies:
            return review.topologies_of((await client.list_all(TOPOLOGY_BINDINGS, type=ClusterTopologyBinding)).items)

        def parent(namespace: str, name: str) -> ObjectMeta | None:
            found = sets.get(name, namespace)
            return None if found is None else found.metadata

        def unknown() -> str:
            late = [one.name for one in (sets, topologies) if not one.is_synced]
            return f"{' and '.join(late)} are not read yet" if late else ""

        protection = Protection(
            operator=user, exempt=frozenset(configuration.authorizer.exempt_service_account_user_names)
        )
        self.judges = Judges(
            policy=policy.of_configuration(configuration),
            topologies=lambda: review.topologies_of(topologies),
            read_topologies=read_topologies,
            parent=parent,
            known=unknown,
            protection=protection if configuration.authorizer.enabled else None,
        )
        served = self.certificates.served
        self.server = WebhookServer(
            host=settings.bind_address, port=settings.port, judges=self.judges.by_path(), served=served, clock=clock
        )
        self.registrar: Registrar | None = None
        if settings.cert_provision_mode == "auto":
            self.registrar = Registrar(
                client,
                served=served,
                listening=self.server.started.wait,
                where=lambda: Url(settings.url) if settings.url else Service(namespace=namespace),
                with_authorizer=configuration.authorizer.enabled,
                clock=clock,
                rng=rng,
                namespace_selector=namespace_selector,
                calm=calm,
            )

    @property
    def runnables(self) -> Sequence[Runnable]:
        """What always runs, leader or not."""
        registrars = [] if self.registrar is None else [self.registrar]
        return [self.certificates, self.server, *registrars]

    def check(self) -> str:
        """For readiness."""
        return self.server.check() or ("" if self.registrar is None else self.registrar.check())

    def metrics(self) -> Iterable[Metric]:
        return metrics.families(self.server.statistics)


def _host(url: str) -> list[str]:
    host = urllib.parse.urlsplit(url).hostname
    return [host] if host else []
