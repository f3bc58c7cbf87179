"""Kubeconfig files: where an API server is, who vouches for it, and who asks. In JSON, which is YAML as well."""

import base64
import json
import os
from pathlib import Path

from grove.testing.certificates import Certificate


def token_user(token: str) -> dict[str, str]:
    return {"token": token}


def certificate_user(certificate: Certificate) -> dict[str, str]:
    return {
        "client-certificate-data": base64.b64encode(certificate.certificate).decode(),
        "client-key-data": base64.b64encode(certificate.key).decode(),
    }


def write_kubeconfig(
    path: Path, *, url: str, ca: bytes, user: dict[str, str], namespace: str = "default", name: str = "grove-test"
) -> Path:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": name,
                "cluster": {"server": url, "certificate-authority-data": base64.b64encode(ca).decode()},
            }
        ],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": namespace}}],
        "current-context": name,
    }
    return write(path, content)


def in_namespace(kubeconfig: Path, namespace: str) -> Path:
    """A copy, beside a kubeconfig written above, whose default namespace is another."""
    content = json.loads(kubeconfig.read_text())
    for context in content["contexts"]:
        context["context"]["namespace"] = namespace
    return write(kubeconfig.with_name(f"{kubeconfig.stem}-in-{namespace}.kubeconfig"), content)


def write(path: Path, content: object) -> Path:
    """Appears whole, and only its owner may read it: it holds a secret."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(content, file, indent=2)
    draft.replace(path)
    return path
