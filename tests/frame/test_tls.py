"""TLS: a server is reached through its own authority, and what people get wrong with certificates is explained."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.connect import FAILURES, connect, explain, unretried
from tests.servers import VOLATILE, Server, binary_of, free_port


class Guarded:
    """A server that speaks TLS alone, and the certificate that vouches for it."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.certificate, key = folder / "cert.pem", folder / "key.pem"
        _make_certificate(self.certificate, key)
        files = ("--tls-cert-file", str(self.certificate), "--tls-key-file", str(key), "--tls-ca-cert-file", str(self.certificate))
        tls = ("--tls-port", str(self.port), "--tls-auth-clients", "no", *files)
        self.server = Server(binary_of("redis-server"), (*VOLATILE, *tls)).start()
        self.url = f"rediss://127.0.0.1:{self.port}/0"


def _make_certificate(certificate: Path, key: Path) -> None:
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command, "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)


@pytest.fixture
def guarded(full: bool, tmp_path: Path) -> Iterator[Guarded]:
    if not full:
        pytest.skip("TLS needs redis-server: make test-all")
    if not (binary_of("redis-server") and shutil.which("openssl")):
        pytest.skip("no redis-server or openssl on PATH")
    made = Guarded(tmp_path)
    yield made
    made.server.close()


def said_by(url: str) -> str:
    with pytest.raises(FAILURES) as caught, contextlib.closing(unretried(url)) as client:
        client.ping()
    return str(explain(caught.value, url))


def test_a_server_is_reached_through_its_own_authority(guarded: Guarded) -> None:
    with contextlib.closing(connect(f"{guarded.url}?ssl_ca_certs={guarded.certificate}")) as client:
        assert client.ping()


def test_an_unknown_authority_is_explained(guarded: Guarded) -> None:
    assert "name its authority with ?ssl_ca_certs=FILE" in said_by(guarded.url)


def test_a_missing_authority_file_is_explained(guarded: Guarded) -> None:
    assert "does not exist" in said_by(f"{guarded.url}?ssl_ca_certs=/nowhere.pem")


def test_a_tls_port_asked_in_plain_is_explained(guarded: Guarded) -> None:
    assert "wants rediss://" in said_by(guarded.url.replace("rediss", "redis"))
