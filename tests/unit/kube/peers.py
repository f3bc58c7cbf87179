"""A server that goes as far as a test wants and then stands still: it neither answers, nor closes, nor says goodbye.

It lives in a thread, so that the loop under test has nothing of it, and ends when that loop does.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import socket
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.unit.kube.kubeconfigs import AUTHORITY

PATIENCE = 10.0

Act = Callable[["Peer", socket.socket], None]


class Peer:
    """Serves every connection with `act`, which keeps it."""

    def __init__(self, act: Act) -> None:
        self.reached = threading.Event()
        self._act = act
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._kept: list[socket.socket] = [self._listener]
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Peer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE)
        for one in self._kept:
            one.close()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._listener.getsockname()[1]}"

    def keep(self, connection: socket.socket) -> socket.socket:
        connection.settimeout(PATIENCE)
        self._kept.append(connection)
        return connection

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # the end
                return
            self._act(self, connection)
            self.reached.set()


def shake_no_hands(peer: Peer, connection: socket.socket) -> None:
    """Reads how the client begins its handshake."""
    peer.keep(connection).recv(1)


def answer(content: bytes) -> Act:
    """Reads a request and sends this."""

    def act(peer: Peer, connection: socket.socket) -> None:
        secure = peer.keep(context().wrap_socket(connection, server_side=True))
        request = b""
        while b"\r\n\r\n" not in request:
            request += secure.recv(4096)
        secure.sendall(content)

    return act


@functools.cache
def context() -> ssl.SSLContext:
    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    pair = AUTHORITY.serving(["127.0.0.1"])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "pair.pem")
        file.write_bytes(pair.certificate + pair.key)
        made.load_cert_chain(file)
    return made


@contextlib.contextmanager
def deaf() -> Iterator[str]:
    """The URL of a server that is there, and takes no connection: an attempt to connect goes on and on."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):  # as many as wait to be accepted, and more
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"


def open_sockets(url: str) -> set[int]:
    """The sockets of this process that are open, but for those of that server."""
    port = int(url.rpartition(":")[2])
    sockets = [one for one in gc.get_objects() if issubclass(type(one), socket.socket) and one.fileno() >= 0]
    return {id(one) for one in sockets if one.family == socket.AF_INET and one.getsockname()[1] != port}
