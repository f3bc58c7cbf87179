"""TLS of the webhook server: every new connection gets the certificate of the moment; those that are open stay."""

from __future__ import annotations

import ssl

from grove.kube.tls import no_password, secret_file
from grove.operator.admission.certificates import Bundle
from grove.operator.admission.served import Served


class UnusableCertificate(Exception):
    """A certificate and a key that are none, or that do not belong together."""


def context(pair: Bundle) -> ssl.SSLContext:
    """A server's context; raises UnusableCertificate."""
    made = _bare()
    try:
        # A key of its own after the certificate is found there too: OpenSSL takes both from one file.
        with secret_file(pair.certificate + b"\n" + pair.key) as path:
            made.load_cert_chain(path, password=no_password)
    except (ssl.SSLError, ValueError) as error:
        raise UnusableCertificate(f"the certificate and its key are not usable: {error}") from error
    return made


def following(served: Served) -> ssl.SSLContext:
    """A context that looks at each handshake which pair is served by then."""
    listening = _bare()
    listening.sni_callback = _Chosen(served)
    return listening


class _Chosen:
    """The context of the pair that is served; a new pair makes a new one."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._pair: Bundle | None = None
        self._context = _bare()

    def __call__(self, connection: ssl.SSLSocket | ssl.SSLObject, _name: str | None, _: ssl.SSLContext) -> None:
        pair = self._served.pair
        if pair is not None and pair is not self._pair:
            self._context, self._pair = context(pair), pair
        connection.context = self._context


def _bare() -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    return made
