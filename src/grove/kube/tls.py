"""TLS contexts: the server is always verified unless the user said not to, and keys touch no file that stays."""

from __future__ import annotations

import contextlib
import os
import ssl
import tempfile
from collections.abc import Iterator

from grove.kube.connection import Connection
from grove.kube.credentials import ClientCertificate
from grove.kube.errors import ConnectionConfigError, CredentialsError


class Contexts:
    """The context of a connection for the client certificate of the moment; a new certificate makes a new one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._certificate: ClientCertificate | None = None
        self._context: ssl.SSLContext | None = None

    def context(self, certificate: ClientCertificate | None) -> ssl.SSLContext:
        if self._context is None or (certificate is not self._certificate and certificate != self._certificate):
            self._context = make_context(self._connection, certificate)
            self._certificate = certificate
        return self._context


def make_context(connection: Connection, certificate: ClientCertificate | None) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=connection.ca.decode() if connection.ca else None)
    except (ssl.SSLError, UnicodeDecodeError, ValueError) as error:
        raise ConnectionConfigError(
            f"{connection.server}: certificate-authority holds no certificate: {error}"
        ) from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if connection.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate is not None:
        try:
            # A key of its own after the certificate is found there too: OpenSSL takes both from one file.
            with secret_file(certificate.certificate + b"\n" + certificate.key) as path:
                context.load_cert_chain(path, password=no_password)
        except (ssl.SSLError, ValueError) as error:
            raise CredentialsError(f"the client certificate and its key are not usable: {error}") from error
    return context


def no_password() -> str:
    """Instead of asking on the terminal, which is what OpenSSL does by itself."""
    raise ValueError("the key is protected by a password")


@contextlib.contextmanager
def secret_file(content: bytes) -> Iterator[str]:
    """A path to read from, for as long as the block: in memory where the system can, else a file of ours alone."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("client-certificate", os.MFD_CLOEXEC)
        with open(descriptor, "wb") as memory:
            memory.write(content)
            memory.flush()
            yield f"/proc/self/fd/{descriptor}"
        return
    with tempfile.NamedTemporaryFile() as file:  # mode 0600, removed at the end
        file.write(content)
        file.flush()
        yield file.name
