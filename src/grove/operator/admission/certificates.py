"""The certificate that the webhooks are served with, and the authority that vouches for it.

An authority signs one certificate and its key is thrown away: nobody can take it from the Secret. A renewal therefore
brings a new authority, and until the old one expires API servers trust both. The time is an argument, keys leave as
PEM.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Collection, Iterable
from typing import Final

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME: Final = datetime.timedelta(days=365)
RENEWED_AFTER: Final = 2 / 3
"""Of the lifetime: what stays is the time in which a failing renewal does no harm."""
SLACK: Final = datetime.timedelta(hours=1)
"""The clock of an API server may be behind ours."""
AUTHORITY: Final = x509.Name(
    [x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Grove"), x509.NameAttribute(NameOID.COMMON_NAME, "Grove-CA")]
)


class Bundle(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """A certificate, its key and the authorities, as PEM; the newest authority comes first."""

    certificate: bytes = b""
    key: bytes = b""
    authorities: bytes = b""

    def __repr__(self) -> str:
        return "Bundle(…)"  # a key must not get into a message


def names_of_service(namespace: str, domain: str, service: str = "grove-operator") -> tuple[str, ...]:
    """The names under which the API server and others reach a Service of a cluster with this domain."""
    full = f"{service}.{namespace}.svc"
    return full, service, f"{service}.{namespace}", f"{full}.{domain}"


def issue(names: Collection[str], now: datetime.datetime, previous: bytes = b"") -> Bundle:
    """A new certificate for these names and addresses; authorities of before stay until they expire."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority = (
        _builder(AUTHORITY, key=authority_key.public_key(), signer=authority_key.public_key(), now=now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    ordered = list(dict.fromkeys(names))
    # A common name has at most 64 characters, and nobody reads it: clients look at the alternative names.
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, ordered[0][:64])])
    certificate = (
        _builder(subject, key=key.public_key(), signer=authority_key.public_key(), now=now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_alternative_name(name) for name in ordered]), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    kept = [one for one in _certificates(previous) if one.not_valid_after_utc > now]
    return Bundle(
        _pem([certificate]),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
        _pem([authority, *kept]),
    )


def needs_rotation(bundle: Bundle, names: Iterable[str], now: datetime.datetime) -> str:
    """Why a new certificate is needed; empty if none is."""
    certificate = _first(bundle.certificate)
    if certificate is None:
        return "there is no certificate"
    if not _has_key(certificate, bundle.key):
        return "the key is not that of the certificate"
    if not any(_vouches(authority, certificate) for authority in _certificates(bundle.authorities)):
        return "no authority vouches for the certificate"
    if missing := sorted(set(names) - names_in(bundle.certificate)):
        return f"the certificate does not name {', '.join(missing)}"
    due = renewal(bundle.certificate)
    return f"it was due on {due:%Y-%m-%d}" if now >= due else ""


def renewal(certificate: bytes) -> datetime.datetime:
    """When a certificate should be replaced."""
    found = _first(certificate)
    assert found is not None, "only asked about a certificate"
    lifetime = found.not_valid_after_utc - found.not_valid_before_utc
    return found.not_valid_before_utc + lifetime * RENEWED_AFTER


def is_valid(certificate: bytes, now: datetime.datetime) -> bool:
    found = _first(certificate)
    return found is not None and found.not_valid_before_utc <= now < found.not_valid_after_utc


def is_ours(certificate: bytes) -> bool:
    """Whether a Grove issued it, ours or an older one."""
    found = _first(certificate)
    return found is not None and found.issuer.get_attributes_for_oid(NameOID.COMMON_NAME) == (
        AUTHORITY.get_attributes_for_oid(NameOID.COMMON_NAME)
    )


def names_in(certificate: bytes) -> set[str]:
    """The names and addresses of a certificate."""
    found = _first(certificate)
    if found is None:
        return set()
    try:
        alternative = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    return {str(one.value) for one in alternative if isinstance(one, x509.DNSName | x509.IPAddress)}


def _certificates(pem: bytes) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError:
        return []


def _first(pem: bytes) -> x509.Certificate | None:
    return next(iter(_certificates(pem)), None)


def _has_key(certificate: x509.Certificate, key: bytes) -> bool:
    try:
        return serialization.load_pem_private_key(key, password=None).public_key() == certificate.public_key()
    except (ValueError, TypeError):
        return False


def _vouches(authority: x509.Certificate, certificate: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _pem(certificates: Iterable[x509.Certificate]) -> bytes:
    return b"".join(one.public_bytes(serialization.Encoding.PEM) for one in certificates)


def _builder(
    subject: x509.Name, *, key: ec.EllipticCurvePublicKey, signer: ec.EllipticCurvePublicKey, now: datetime.datetime
) -> x509.CertificateBuilder:
    """What both certificates have. Authorities of one name are told apart by the identifiers of their keys."""
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(AUTHORITY)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SLACK)
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
