"""The Secret that holds the certificates: what is in it, whether it is ours to write, and what is written. Pure.

An empty one may be filled: charts render it so. One that holds what another issued is never touched.
"""

from __future__ import annotations

import base64
import binascii
import datetime
from collections.abc import Sequence
from typing import Any, Final

from grove.api.fields import JSON
from grove.operator.admission import certificates
from grove.operator.admission.certificates import Bundle
from grove.operator.admission.registration import LABELS

TYPE: Final = "kubernetes.io/tls"
CERTIFICATE: Final = "tls.crt"
KEY: Final = "tls.key"
AUTHORITIES: Final = "ca.crt"


def bundle_of(secret: JSON) -> Bundle:
    """What is in the Secret; what is missing or is no base64 is empty."""
    data: Any = secret.get("data") or {}
    return Bundle(*(_decoded(data.get(key)) for key in (CERTIFICATE, KEY, AUTHORITIES)))


def foreign(secret: JSON) -> str:
    """Why the Secret is not ours to write, and what to do; empty if it is."""
    metadata = secret["metadata"]
    what = f"secret {metadata.get('namespace')}/{metadata['name']}"
    remedy = "delete it, or name another in server.webhooks.secretName"
    if secret.get("type") != TYPE:
        return f"{what} is of type {secret.get('type')}, not {TYPE}: {remedy}"
    certificate = bundle_of(secret).certificate
    if certificate.strip() and not certificates.is_ours(certificate):
        return f"{what} holds a certificate that Grove did not issue: {remedy}, or set certProvisionMode to manual"
    return ""


def renewed(held: Bundle, names: Sequence[str], now: datetime.datetime) -> Bundle:
    """What comes after `held`. Names that a valid certificate has beyond ours are those of other replicas: they stay,
    or two that are configured differently would renew each other's without end."""
    others: set[str] = set()
    if certificates.is_valid(held.certificate, now) and now < certificates.renewal(held.certificate):
        others = certificates.names_in(held.certificate) - set(names)
    return certificates.issue([*names, *sorted(others)], now, held.authorities)


def secret(name: str, bundle: Bundle) -> JSON:
    """A new Secret."""
    return {"metadata": {"name": name, "labels": LABELS}, "type": TYPE, "data": _data(bundle)}


def change(held: JSON, bundle: Bundle) -> JSON:
    """The merge patch that puts a bundle into the very version of the Secret that was read."""
    return {
        "metadata": {"resourceVersion": held["metadata"]["resourceVersion"], "labels": LABELS},
        "data": _data(bundle),
    }


def _data(bundle: Bundle) -> dict[str, str]:
    parts = {CERTIFICATE: bundle.certificate, KEY: bundle.key, AUTHORITIES: bundle.authorities}
    return {key: base64.b64encode(value).decode() for key, value in parts.items()}


def _decoded(text: object) -> bytes:
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except (binascii.Error, ValueError):
        return b""
