"""Certificates and keys for a control plane that lives as long as a test run.

Elliptic curves throughout: a key takes a millisecond where an RSA key takes a hundred. The time is an argument, and
keys leave as PEM only, the form in which Kubernetes reads them.
"""

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = datetime.timedelta(days=2)
# Another machine's clock may be behind ours.
SLACK = datetime.timedelta(hours=1)


@dataclass(frozen=True)
class Certificate:
    """A certificate and its private key, as PEM."""

    certificate: bytes
    key: bytes


@dataclass(frozen=True)
class KeyPair:
    """Both halves of a key, as PEM."""

    private: bytes
    public: bytes


def generate_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def service_account_key() -> KeyPair:
    """The key that signs service account tokens, and the half that checks them."""
    key = generate_key()
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return KeyPair(private_pem(key), public)


class Authority:
    """A certificate authority that signs for servers and for clients."""

    def __init__(self, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey, now: datetime.datetime) -> None:
        self._certificate = certificate
        self._key = key
        self._now = now

    @classmethod
    def create(cls, name: str, now: datetime.datetime) -> Self:
        key = generate_key()
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = (
            builder(subject, issuer=subject, key=key.public_key(), signer=key.public_key(), now=now)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage(signs_certificates=True), critical=True)
            .sign(key, hashes.SHA256())
        )
        return cls(certificate, key, now)

    @property
    def certificate(self) -> bytes:
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def serving(self, hosts: Sequence[str]) -> Certificate:
        """For a server reached under these names and addresses."""
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])])
        names = x509.SubjectAlternativeName([alternative_name(host) for host in hosts])
        return self._sign(subject, ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, user: str, groups: Sequence[str] = ()) -> Certificate:
        """For a client that Kubernetes knows as `user`, a member of `groups`."""
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject = x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, user)])
        return self._sign(subject, ExtendedKeyUsageOID.CLIENT_AUTH)

    def _sign(
        self, subject: x509.Name, purpose: x509.ObjectIdentifier, names: x509.SubjectAlternativeName | None = None
    ) -> Certificate:
        key = generate_key()
        unsigned = (
            builder(
                subject,
                issuer=self._certificate.subject,
                key=key.public_key(),
                signer=self._key.public_key(),
                now=self._now,
            )
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        )
        if names is not None:
            unsigned = unsigned.add_extension(names, critical=False)
        certificate = unsigned.sign(self._key, hashes.SHA256())
        return Certificate(certificate.public_bytes(serialization.Encoding.PEM), private_pem(key))


def builder(
    subject: x509.Name,
    *,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    signer: ec.EllipticCurvePublicKey,
    now: datetime.datetime,
) -> x509.CertificateBuilder:
    """What every certificate has. Both key identifiers are there because OpenSSL's strict mode wants them."""
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SLACK)
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer), critical=False)
    )


def usage(*, signs_certificates: bool) -> x509.KeyUsage:
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


def alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
