"""Who we are to an API server, and how that is renewed. Secrets stay out of every repr, and so out of logs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

from grove.kube.errors import CredentialsError

# A projected service account token is renewed well before it expires; a minute late is early enough.
REREAD_AFTER = 60.0


class ClientCertificate(msgspec.Struct, frozen=True):
    """A certificate and its private key, as PEM."""

    certificate: bytes
    key: bytes

    def __repr__(self) -> str:
        return "ClientCertificate(…)"


class Identity(msgspec.Struct, frozen=True):
    """What is shown to the server: a token, a certificate, both or neither (anonymous)."""

    token: str = ""
    certificate: ClientCertificate | None = None

    def __repr__(self) -> str:
        shown = [name for name in self.__struct_fields__ if getattr(self, name)]
        return f"Identity({', '.join(shown) or 'anonymous'})"


class Credentials(Protocol):
    """A source of identities. Asked before every request, so it must remember."""

    async def identity(self) -> Identity:
        """Who we are now; raises CredentialsError."""
        ...

    def refused(self, identity: Identity) -> bool:
        """The server does not know this identity. Whether the next may be another one, and asking again may help."""
        ...


class Fixed:
    """Credentials that do not change."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity

    async def identity(self) -> Identity:
        return self._identity

    def refused(self, identity: Identity) -> bool:
        return False


ANONYMOUS = Fixed(Identity())


class Files:
    """A token or a certificate in files that somebody else renews: read again each minute, and when refused.

    A file that cannot be read now is no reason to stop: what was read last is used until the server refuses it.
    """

    def __init__(
        self,
        *,
        now: Callable[[], float],
        token_file: str = "",
        certificate_file: str = "",
        key_file: str = "",
        fixed: Identity = Identity(),  # noqa: B008 - frozen
    ) -> None:
        self._now = now
        self._token_file = token_file
        self._certificate_file = certificate_file
        self._key_file = key_file
        self._fixed = fixed
        self._read: Identity | None = None
        self._until = 0.0

    async def identity(self) -> Identity:
        now = self._now()
        if self._read is None or now >= self._until:
            try:
                self._read = self._load()
            except CredentialsError:
                if self._read is None:
                    raise
            self._until = now + REREAD_AFTER
        return self._read

    def refused(self, identity: Identity) -> bool:
        if self._read is not None and self._read != identity:
            return True  # it has been renewed while the request was on its way
        try:
            fresh = self._load()
        except CredentialsError:
            return False
        self._read = fresh
        return fresh != identity

    def _load(self) -> Identity:
        token, certificate = self._fixed.token, self._fixed.certificate
        if self._token_file:
            token = read(self._token_file, "token").decode(errors="replace").strip()
            if not token or not token.isprintable():
                raise CredentialsError(f"{self._token_file}: holds no token")
        if self._certificate_file:
            certificate = ClientCertificate(
                read(self._certificate_file, "client certificate"), read(self._key_file, "client key")
            )
        return Identity(token, certificate)


def read(path: str, what: str) -> bytes:
    """A small local file; reading it takes microseconds, less than handing it to a thread."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise CredentialsError(f"{path}: the {what} cannot be read: {error.strerror}") from error
