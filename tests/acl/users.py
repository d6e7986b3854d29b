"""A server with the chart's users, made as the chart's init container makes them. Called by the tests beside this file."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import redis

from runner.url import with_login
from tests.servers import VOLATILE, Server

FILES = Path(__file__).parents[2] / "charts" / "runner" / "files"
PREFIX = "staging"
USERS = ("producer", "worker", "controller", "keda")


def rules(prefix: str = PREFIX) -> str:
    """The chart's rules for a prefix, as its template has them."""
    keys = f"~{prefix}:* ~{{{prefix}:*" if prefix else "~*"
    lines = (FILES / "users.acl").read_text().replace("@keys@", keys).splitlines()
    return "\n".join(line for line in lines if not line.startswith("#")) + "\n"


def make_users(folder: Path, logins: dict[str, str], prefix: str = PREFIX) -> subprocess.CompletedProcess[str]:
    """Run the chart's script over a folder that stands for the mounted Secret."""
    secret = folder / "logins"
    secret.mkdir(exist_ok=True)
    for name, password in logins.items():
        (secret / name).write_text(password)
    (folder / "users.acl").write_text(rules(prefix))
    command = ["sh", str(FILES / "make-users.sh"), str(folder / "users.acl"), str(secret), str(folder / "out.acl")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Guarded:
    """The server; `url(user)` is a user's own, `admin` may do everything."""

    def __init__(self, program: str, folder: Path, options: tuple[str, ...] = VOLATILE) -> None:
        assert make_users(folder, {f"{user}-password": f"{user}-secret" for user in USERS}).returncode == 0
        with (folder / "out.acl").open("a") as file:
            file.write("user admin on >admin-secret ~* &* +@all\n")
        self.server = Server(program, (*options, "--aclfile", str(folder / "out.acl")))
        self.plain_url, self.server.url = self.server.url, with_login(self.server.url, "admin", "admin-secret")
        self.server.start()
        self.admin = redis.Redis.from_url(self.server.url)

    def url(self, user: str) -> str:
        """The URL with a user's login."""
        return with_login(self.plain_url, user, f"{user}-secret")

    def client(self, user: str) -> Any:
        """A client of one user."""
        return redis.Redis.from_url(self.url(user))

    def commands_of(self, do: Callable[[], object]) -> set[str]:
        """Which commands were called while something was done, those inside scripts too."""
        self.admin.config_resetstat()
        do()
        stats = self.admin.info("commandstats")
        return {name.removeprefix("cmdstat_") for name, stat in stats.items() if stat["calls"] > stat.get("rejected_calls", 0)} - OWN

    def close(self) -> None:
        """End it."""
        self.admin.close()
        self.server.close()


OWN = {"config|resetstat", "info", "auth"}


def granted(user: str) -> set[str]:
    """The commands that the rules give a user."""
    (line,) = [line for line in rules().splitlines() if line.startswith(f"user {user} ")]
    return {word[1:] for word in line.split() if word.startswith("+")}
