"""A small client for Kubernetes JSON over HTTPS: raw paths, one connection a thread."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
REQUEST_SECONDS = 30.0


class ApiError(Exception):
    """The server refused; `status` is the HTTP status, the text its own words."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text[:500]}")
        self.status = status


class Api:
    """Speaks to one server of this machine with a bearer token."""

    def __init__(self, port: int, token: str, *, host: str = "127.0.0.1") -> None:
        self._host = host
        self._port = port
        self._token = token
        self._tls = ssl.create_default_context()
        # the server's own throw-away certificate; it never leaves this machine
        self._tls.check_hostname = False
        self._tls.verify_mode = ssl.CERT_NONE
        self._local = threading.local()
        self._kept: list[http.client.HTTPSConnection] = []

    def text(self, method: str, path: str, body: Json | None = None) -> str:
        """The answer's text.

        Raises:
            ApiError: the status is not a 2xx.
            OSError, http.client.HTTPException: no answer.
        """
        data = None if body is None else json.dumps(body).encode()
        patch = "application/strategic-merge-patch+json"
        kind = patch if method == "PATCH" else "application/json"
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": kind}
        connection = self._connection()
        try:
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            text = response.read().decode("utf-8", "replace")
        except (OSError, http.client.HTTPException):
            connection.close()
            raise
        if response.status // 100 != 2:
            raise ApiError(response.status, text)
        return text

    def json(self, method: str, path: str, body: Json | None = None) -> Json:
        answer: Json = json.loads(self.text(method, path, body))
        return answer

    def close(self) -> None:
        """Closes the kept connections; they open again when needed."""
        for connection in self._kept:
            connection.close()

    def lines(self, path: str) -> Iterator[bytes]:
        """The lines of a watch, on a connection of its own, until the server ends it.

        Raises:
            OSError: nothing came for `REQUEST_SECONDS`.
        """
        connection = self._open()
        try:
            headers = {"Authorization": f"Bearer {self._token}"}
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            if response.status != 200:
                raise ApiError(response.status, response.read().decode())
            yield from response
        finally:
            connection.close()

    def answers(self, path: str) -> bool:
        """Whether a GET gives a 2xx now."""
        try:
            self.text("GET", path)
        except (OSError, http.client.HTTPException, ApiError):
            return False
        return True

    def _connection(self) -> http.client.HTTPSConnection:
        found: http.client.HTTPSConnection | None
        found = getattr(self._local, "connection", None)
        if found is None:
            found = self._local.connection = self._open()
            self._kept.append(found)
        return found

    def _open(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=REQUEST_SECONDS, context=self._tls
        )
