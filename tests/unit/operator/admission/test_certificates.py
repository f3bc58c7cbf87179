from __future__ import annotations

import datetime
import ssl
from collections.abc import Callable

import msgspec
import pytest

from grove.operator.admission import certificates, tls
from grove.operator.admission.certificates import Bundle, is_valid, issue, names_in, names_of_service, needs_rotation
from grove.operator.admission.served import Served

NOW = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
DAY = datetime.timedelta(days=1)
NAMES = (*names_of_service("grove-system", "lab.example"), "127.0.0.1")
BUNDLE = issue(NAMES, NOW)


def test_the_names_are_those_of_the_service() -> None:
    assert names_of_service("grove-system", "lab.example") == (
        "grove-operator.grove-system.svc",
        "grove-operator",
        "grove-operator.grove-system",
        "grove-operator.grove-system.svc.lab.example",
    )
    assert names_in(BUNDLE.certificate) == {*NAMES}


def test_the_key_of_the_authority_is_nowhere_and_no_key_is_in_a_message() -> None:
    assert BUNDLE.key.count(b"PRIVATE KEY-----") == 2
    assert b"PRIVATE" not in BUNDLE.certificate + BUNDLE.authorities
    assert repr(BUNDLE) == "Bundle(…)"


def test_a_certificate_is_good_for_two_thirds_of_its_lifetime() -> None:
    assert needs_rotation(BUNDLE, NAMES, NOW) == ""
    due = certificates.renewal(BUNDLE.certificate)
    assert NOW + 240 * DAY < due < NOW + 245 * DAY
    assert needs_rotation(BUNDLE, NAMES, due - DAY) == ""
    assert needs_rotation(BUNDLE, NAMES, due) == f"it was due on {due:%Y-%m-%d}"
    assert is_valid(BUNDLE.certificate, due + 100 * DAY)
    assert not is_valid(BUNDLE.certificate, NOW + 366 * DAY)
    assert not is_valid(b"", NOW)


OTHER = issue(NAMES, NOW)


@pytest.mark.parametrize(
    ("bundle", "reason"),
    [
        (Bundle(), "there is no certificate"),
        (msgspec.structs.replace(BUNDLE, certificate=b"rubbish"), "there is no certificate"),
        (
            msgspec.structs.replace(
                BUNDLE, certificate=b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
            ),
            "there is no certificate",
        ),
        (msgspec.structs.replace(BUNDLE, key=OTHER.key), "the key is not that of the certificate"),
        (msgspec.structs.replace(BUNDLE, key=b""), "the key is not that of the certificate"),
        (
            msgspec.structs.replace(BUNDLE, authorities=OTHER.authorities),
            "no authority vouches for the certificate",
        ),
        (msgspec.structs.replace(BUNDLE, authorities=b""), "no authority vouches for the certificate"),
    ],
)
def test_what_cannot_be_served_is_replaced(bundle: Bundle, reason: str) -> None:
    assert needs_rotation(bundle, NAMES, NOW) == reason


def test_a_missing_name_needs_a_new_certificate_and_one_too_many_does_not() -> None:
    assert needs_rotation(BUNDLE, [*NAMES, "host", "10.0.0.1"], NOW) == "the certificate does not name 10.0.0.1, host"
    assert needs_rotation(BUNDLE, NAMES[:1], NOW) == ""


def test_the_authority_of_before_is_trusted_until_it_expires() -> None:
    second = issue(NAMES, NOW + 250 * DAY, BUNDLE.authorities)
    assert second.authorities.endswith(BUNDLE.authorities)
    assert needs_rotation(second, NAMES, NOW + 250 * DAY) == ""
    third = issue(NAMES, NOW + 500 * DAY, second.authorities)
    assert BUNDLE.authorities not in third.authorities
    assert third.authorities.count(b"BEGIN") == 2


def test_what_grove_issued_is_known() -> None:
    assert certificates.is_ours(BUNDLE.certificate)
    assert not certificates.is_ours(b"")


def shaken(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> bytes:
    """The certificate that a client gets in a handshake in memory."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = server.wrap_bio(to_server, to_client, server_side=True)
    theirs = client.wrap_bio(to_client, to_server, server_hostname=name)
    done = [False, False]
    for _ in range(20):
        for number, one in enumerate((theirs, ours)):
            try:
                one.do_handshake()
                done[number] = True
            except ssl.SSLWantReadError:
                pass
        if all(done):
            break
    found = theirs.getpeercert(binary_form=True)
    assert found is not None
    return found


def trusting(authorities: bytes) -> ssl.SSLContext:
    return ssl.create_default_context(cadata=authorities.decode())


@pytest.fixture
def today() -> datetime.datetime:
    """OpenSSL looks at the machine's clock."""
    from grove.runtime.clock import SystemClock

    return SystemClock().wall()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("name", ["grove-operator.grove-system.svc", "127.0.0.1"])
def test_clients_trust_the_certificate_of_the_moment(
    today: datetime.datetime, version: ssl.TLSVersion, name: str
) -> None:
    first = issue(NAMES, today)
    served = Served()
    served.take(first, first.authorities)
    server, client = tls.following(served), trusting(first.authorities)
    client.minimum_version = client.maximum_version = version
    before = shaken(server, client, name)
    second = issue(NAMES, today, first.authorities)
    served.take(second, second.authorities)
    client = trusting(second.authorities)
    client.maximum_version = version
    assert shaken(server, client, name) != before
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken(server, trusting(first.authorities), name)
    with pytest.raises(ssl.SSLCertVerificationError, match="elsewhere"):
        shaken(server, client, "elsewhere")


@pytest.mark.parametrize(
    "broken",
    [
        lambda bundle: msgspec.structs.replace(bundle, key=OTHER.key),
        lambda bundle: msgspec.structs.replace(bundle, key=b""),
        lambda _: Bundle(),
    ],
)
def test_a_pair_that_does_not_fit_is_an_error(broken: Callable[[Bundle], Bundle]) -> None:
    with pytest.raises(tls.UnusableCertificate, match="not usable"):
        tls.context(broken(BUNDLE))
