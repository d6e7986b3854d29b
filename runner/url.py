"""Puts a login that comes beside a Redis URL into it. Called by config and by producers.

In Kubernetes the URL is a plain setting and the password an entry of a Secret, which may hold any character.
"""

from __future__ import annotations

from collections.abc import Mapping

DEFAULT = "redis://localhost:6379/0"


def with_login(url: str, username: str = "", password: str = "", sentinel_username: str = "", sentinel_password: str = "") -> str:
    """The URL with the login, and with the sentinels' own; a login that the URL has already stays."""
    scheme, mark, rest = url.partition("://")
    place = rest.partition("?")[0]
    if (username or password) and "@" not in place:
        rest = f"{_quoted(username)}:{_quoted(password)}@{rest}"
    sentinels = {"sentinel_username": sentinel_username, "sentinel_password": sentinel_password}
    if scheme.endswith("+sentinel"):
        more = "&".join(f"{name}={_quoted(value)}" for name, value in sentinels.items() if value and f"{name}=" not in rest)
        rest += f"{'&' if '?' in rest else '?'}{more}" if more else ""
    return f"{scheme}{mark}{rest}"


def from_environment(environ: Mapping[str, str]) -> str:
    """What the environment of a pod says of Redis; the default where it says nothing."""
    words = ("USERNAME", "PASSWORD", "SENTINEL_USERNAME", "SENTINEL_PASSWORD")
    return with_login(environ.get("RUNNER_REDIS_URL", "") or DEFAULT, *(environ.get(f"RUNNER_REDIS_{word}", "") for word in words))


def _quoted(text: str) -> str:
    from urllib.parse import quote  # a process without a login pays nothing for it

    return quote(text, safe="")
