"""The Secret with the logins: made once and never changed, by one request; a stand-in answers for Kubernetes."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from runner.errors import RunnerError
from runner.logins import USERS, main, make, secret


class Api(ThreadingHTTPServer):
    """Keeps Secrets by name; refuses who does not show the token."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Asked)
        self.kept: dict[str, Any] = {}
        self.url = f"http://127.0.0.1:{self.server_port}"


class Asked(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        api, name = self.server, body["metadata"]["name"]
        assert isinstance(api, Api)
        if self.headers["Authorization"] != "Bearer let-me-in" or self.path != "/api/v1/namespaces/demo/secrets":
            return self._answered(403)
        if name in api.kept:
            return self._answered(409)
        api.kept[name] = body
        return self._answered(201)

    def _answered(self, code: int) -> None:
        self.send_response(code)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def api() -> Iterator[Api]:
    server = Api()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def account(folder: Path, token: str = "let-me-in") -> Path:
    (folder / "namespace").write_text("demo")
    (folder / "token").write_text(f"{token}\n")
    return folder


def test_the_secret_is_made_once_and_never_changed(api: Api, tmp_path: Path) -> None:
    first = make("logins", api.url, account(tmp_path))
    kept = json.dumps(api.kept)

    again = make("logins", api.url, account(tmp_path))

    assert (first, again) == (True, False)
    assert json.dumps(api.kept) == kept


def test_every_user_has_a_password_of_its_own_that_needs_no_quoting() -> None:
    passwords = [base64.b64decode(value).decode() for value in secret("logins")["data"].values()]

    assert sorted(secret("logins")["data"]) == sorted(f"{user}-password" for user in USERS)
    assert len(set(passwords)) == 4 and all(one.isalnum() and len(one) == 48 for one in passwords)
    assert secret("logins")["data"] != secret("logins")["data"]


def test_a_refusal_is_told(api: Api, tmp_path: Path) -> None:
    with pytest.raises(RunnerError, match="Kubernetes refused to create the Secret 'logins': 403"):
        make("logins", api.url, account(tmp_path, "wrong"))


def test_a_cluster_that_does_not_answer_is_told(tmp_path: Path) -> None:
    with pytest.raises(RunnerError, match="cannot be reached"):
        make("logins", "http://127.0.0.1:1", account(tmp_path))


def test_outside_of_a_cluster_it_says_so() -> None:
    assert main(["logins"]) == 2
