"""The embedded server answers once it is started, leaves nothing behind, and says in one line why it could not start."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from runner.connect import FAILURES, Client, unretried
from runner.embedded import EmbeddedServer, binary
from runner.errors import UnavailableError
from tests.servers import free_port
from tests.waiting import until


@pytest.mark.parametrize("on_a_port", [False, True], ids=["socket", "port"])
@pytest.mark.parametrize("apart", [False, True], ids=["together", "apart"])
def test_it_answers_at_once_and_leaves_nothing_behind(on_a_port: bool, apart: bool) -> None:
    with EmbeddedServer(port=free_port() if on_a_port else 0, apart=apart) as server:
        client = unretried(server.url)
        answered = client.ping()
        client.close()

    assert answered
    assert not server.folder.exists()


def test_a_server_that_ends_at_once_is_told_with_its_last_words_and_leaves_nothing_behind() -> None:
    server = EmbeddedServer(binary(), ("--no-such-option", "1"))

    with pytest.raises(UnavailableError, match=r"ended at once: (?s:.*)no-such-option"), server:
        pytest.fail("it cannot have started")

    assert not server.folder.exists()


def test_a_program_that_is_no_server_is_told() -> None:
    server = EmbeddedServer(shutil.which("true") or "true")

    with pytest.raises(UnavailableError, match="ended at once"), server:
        pytest.fail("it cannot have started")


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ties them together on Linux only")
def test_it_ends_with_a_starter_that_was_killed() -> None:
    code = "import signal; from runner.embedded import EmbeddedServer as S; print(S(apart=True).start().folder, flush=True); signal.pause()"
    starter = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert starter.stdout is not None
    folder = starter.stdout.readline().strip()
    starter.stdout.close()
    client = unretried(f"unix://{folder}/redis.sock?db=0")
    assert client.ping()

    starter.kill()
    starter.wait()

    until(lambda: gone(client))
    client.close()
    shutil.rmtree(folder)


def gone(client: Client) -> bool:
    """Whether nobody answers any more."""
    try:
        return not client.ping()
    except FAILURES:
        return True
