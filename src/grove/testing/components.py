"""What the components of a test's control plane are started with: pure functions from settings to command lines.

As kubeadm starts them where that matters to a client (RBAC, admission, token issuer, progress of watches), and
otherwise for speed and isolation: nothing is synced to disk, there is one replica and so no election, and only the API
server has a port. etcd, which asks nobody for a password, listens on a socket in a directory that is ours alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ETCD = "etcd"
APISERVER = "kube-apiserver"
CONTROLLER_MANAGER = "kube-controller-manager"
SCHEDULER = "kube-scheduler"

# Every component runs in the control plane's directory, where `unix://localhost:1` is a socket named `localhost:1`.
# etcd takes no longer path for its peers, and the API server finds the socket by the same rule.
ETCD_CLIENTS = "unix://localhost:1"
ETCD_PEERS = "unix://localhost:2"

ISSUER = "https://kubernetes.default.svc"
HOSTS = ("127.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.96.0.1")


@dataclass(frozen=True)
class Settings:
    """How a control plane is to differ from the usual one."""

    controller_manager: bool = True
    scheduler: bool = False
    # New nodes are tainted until a kubelet reports that they are ready; a test's nodes have none.
    disabled_admission: Sequence[str] = ("TaintNodesByCondition",)
    # It would taint nodes that send no heartbeats, and later evict their pods.
    disabled_controllers: Sequence[str] = ("node-lifecycle-controller",)
    apiserver_flags: Sequence[str] = ()
    controller_manager_flags: Sequence[str] = ()


@dataclass(frozen=True)
class Files:
    """Where a control plane keeps things: names within its directory."""

    directory: Path

    @property
    def ca(self) -> Path:
        return self.directory / "ca.crt"

    @property
    def serving_certificate(self) -> Path:
        return self.directory / "apiserver.crt"

    @property
    def serving_key(self) -> Path:
        return self.directory / "apiserver.key"

    @property
    def service_account_key(self) -> Path:
        return self.directory / "service-accounts.key"

    @property
    def service_account_public_key(self) -> Path:
        return self.directory / "service-accounts.pub"

    @property
    def tokens(self) -> Path:
        return self.directory / "tokens.csv"

    def kubeconfig(self, name: str) -> Path:
        return self.directory / f"{name}.kubeconfig"


def etcd(files: Files) -> list[str]:
    return [
        f"--data-dir={files.directory / 'etcd'}",
        "--unsafe-no-fsync",
        f"--listen-client-urls={ETCD_CLIENTS}",
        f"--advertise-client-urls={ETCD_CLIENTS}",
        f"--listen-peer-urls={ETCD_PEERS}",
        f"--initial-advertise-peer-urls={ETCD_PEERS}",
        f"--initial-cluster=default={ETCD_PEERS}",
        # As kubeadm has it: how often a watch without changes hears how far it is, for bookmarks.
        "--watch-progress-notify-interval=5s",
        "--log-level=warn",
    ]


def apiserver(files: Files, settings: Settings, port: int) -> list[str]:
    disabled = list(settings.disabled_admission)
    if not settings.controller_manager and "ServiceAccount" not in disabled:
        # Nobody creates the namespaces' `default` service accounts, without which it lets no pod in.
        disabled.append("ServiceAccount")
    return [
        f"--etcd-servers={ETCD_CLIENTS}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        "--advertise-address=127.0.0.1",
        # A loopback address may not be an endpoint of the service `kubernetes`.
        "--endpoint-reconciler-type=none",
        "--service-cluster-ip-range=10.96.0.0/16",
        f"--tls-cert-file={files.serving_certificate}",
        f"--tls-private-key-file={files.serving_key}",
        f"--client-ca-file={files.ca}",
        f"--token-auth-file={files.tokens}",
        "--authorization-mode=Node,RBAC",
        f"--service-account-issuer={ISSUER}",
        f"--service-account-key-file={files.service_account_public_key}",
        f"--service-account-signing-key-file={files.service_account_key}",
        "--allow-privileged",
        *([f"--disable-admission-plugins={','.join(disabled)}"] if disabled else []),
        *settings.apiserver_flags,
    ]


def controller_manager(files: Files, settings: Settings) -> list[str]:
    controllers = ["*", *(f"-{name}" for name in settings.disabled_controllers)]
    return [
        f"--kubeconfig={files.kubeconfig(CONTROLLER_MANAGER)}",
        f"--controllers={','.join(controllers)}",
        # Each controller may do what its own role says, and no more, as in a real cluster.
        "--use-service-account-credentials",
        f"--service-account-private-key-file={files.service_account_key}",
        f"--root-ca-file={files.ca}",
        "--leader-elect=false",
        "--secure-port=0",
        # Its limits are made for sharing an API server with thousands of kubelets.
        "--kube-api-qps=1000",
        "--kube-api-burst=1000",
        # An autoscaler is first looked at after this time, not when it is created; 15 s is too long to wait in a test.
        "--horizontal-pod-autoscaler-sync-period=1s",
        *settings.controller_manager_flags,
    ]


def scheduler(files: Files) -> list[str]:
    return [
        f"--kubeconfig={files.kubeconfig(SCHEDULER)}",
        "--leader-elect=false",
        "--secure-port=0",
        "--kube-api-qps=1000",
        "--kube-api-burst=1000",
    ]
