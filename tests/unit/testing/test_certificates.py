import datetime
import ipaddress
import ssl
import tempfile

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from grove.testing.certificates import LIFETIME, Authority, Certificate, service_account_key

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
AUTHORITY = Authority.create("test", NOW)


def load(pem: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem)


def check_key_belongs(certificate: Certificate) -> None:
    key = serialization.load_pem_private_key(certificate.key, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert key.public_key() == load(certificate.certificate).public_key()


def test_an_authority_may_sign_certificates() -> None:
    authority = load(AUTHORITY.certificate)
    constraints = authority.extensions.get_extension_for_class(x509.BasicConstraints)
    assert constraints.critical
    assert constraints.value.ca
    assert authority.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign


def test_a_serving_certificate_names_its_hosts_and_addresses() -> None:
    serving = AUTHORITY.serving(["localhost", "127.0.0.1", "::1"])
    check_key_belongs(serving)
    certificate = load(serving.certificate)
    certificate.verify_directly_issued_by(load(AUTHORITY.certificate))
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert names.get_values_for_type(x509.IPAddress) == [
        ipaddress.ip_address("127.0.0.1"),
        ipaddress.ip_address("::1"),
    ]
    purposes = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(purposes) == [ExtendedKeyUsageOID.SERVER_AUTH]


def test_a_client_certificate_holds_user_and_groups_as_kubernetes_reads_them() -> None:
    client = AUTHORITY.client("alice", ["research", "ops"])
    check_key_belongs(client)
    certificate = load(client.certificate)
    certificate.verify_directly_issued_by(load(AUTHORITY.certificate))
    assert [name.value for name in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == ["alice"]
    groups = [name.value for name in certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    assert sorted(str(group) for group in groups) == ["ops", "research"]
    purposes = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(purposes) == [ExtendedKeyUsageOID.CLIENT_AUTH]


def test_certificates_are_valid_from_a_little_before_now() -> None:
    certificate = load(AUTHORITY.serving(["localhost"]).certificate)
    assert certificate.not_valid_before_utc < NOW
    assert certificate.not_valid_after_utc == NOW + LIFETIME


def test_a_service_account_key_is_two_halves_of_one_key() -> None:
    pair = service_account_key()
    key = serialization.load_pem_private_key(pair.private, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    assert key.public_key() == serialization.load_pem_public_key(pair.public)


def test_openssl_accepts_a_handshake_in_its_strict_mode() -> None:
    authority = Authority.create("test", datetime.datetime.now(datetime.UTC))
    serving = authority.serving(["localhost"])
    server, client = handshake(authority, serving)
    assert server.version() == client.version() == "TLSv1.3"


def handshake(authority: Authority, serving: Certificate) -> tuple[ssl.SSLObject, ssl.SSLObject]:
    """A server and a client of TLS, joined in memory, after they have agreed."""
    server_context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        file.write(serving.certificate + serving.key)
        file.flush()
        server_context.load_cert_chain(file.name)
    client_context = ssl.create_default_context(cadata=authority.certificate.decode())
    client_context.verify_flags |= ssl.VERIFY_X509_STRICT
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = server_context.wrap_bio(to_server, to_client, server_side=True)
    client = client_context.wrap_bio(to_client, to_server, server_hostname="localhost")
    for side in (client, server, client, server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    return server, client
