"""Speaking JSON to an API server, for tests: the standard library and nothing of Grove's own client.

A test that checks Grove through the client that Grove uses cannot see their common mistakes. A connection per request:
simple, and safe from any thread.
"""

import contextlib
import http.client
import json
import ssl
import urllib.parse
from collections.abc import Iterator
from typing import Any

JSON = "application/json"


class Connection:
    """An API server, the authority that vouches for it, and the token that is sent unless a call names another."""

    def __init__(self, url: str, ca: bytes, token: str) -> None:
        parts = urllib.parse.urlsplit(url)
        self._host = parts.hostname or ""
        self._port = parts.port
        self._tls = ssl.create_default_context(cadata=ca.decode())
        self._token = token

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        token: str | None = None,
        content_type: str = JSON,
        timeout: float = 30.0,
    ) -> tuple[int, Any]:
        """Status and body of the answer; the body is parsed if it is JSON, else text. Errors of HTTP are not raised."""
        content = None if body is None else json.dumps(body)
        with self._send(method, path, content, token, content_type, timeout) as response:
            text = response.read().decode()
            is_json = response.headers.get_content_type() == JSON
            return response.status, json.loads(text) if is_json else text

    def watch(
        self, path: str, *, seconds: int, token: str | None = None, **parameters: str
    ) -> Iterator[dict[str, Any]]:
        """The events of a watch, until the server ends it after about `seconds`."""
        query = urllib.parse.urlencode({"watch": "true", "timeoutSeconds": str(seconds), **parameters})
        with self._send("GET", f"{path}?{query}", None, token, JSON, seconds + 30.0) as response:
            if response.status != http.HTTPStatus.OK:
                raise AssertionError(f"watching {path}: {response.status} {response.read().decode()}")
            for line in response:
                yield json.loads(line)

    @contextlib.contextmanager
    def _send(
        self, method: str, path: str, content: str | None, token: str | None, content_type: str, timeout: float
    ) -> Iterator[http.client.HTTPResponse]:
        connection = http.client.HTTPSConnection(self._host, self._port, context=self._tls, timeout=timeout)
        headers = {"Authorization": f"Bearer {token or self._token}", "Accept": JSON}
        if content is not None:
            headers["Content-Type"] = content_type
        with contextlib.closing(connection):
            connection.request(method, path, content, headers)
            with connection.getresponse() as response:
                yield response
