"""Every setting of every role, defined once: name, type, unit, bounds, default, meaning. Called by the roles and the command line.

`load` reads plain good values with the standard library alone, because importing pydantic costs a worker more CPU than all its
work for a small task. Whatever is not plainly good goes to `configcheck`, where pydantic-settings decides and words the error.
`document` is docs/settings.md.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, TypeVar

from runner.queue import NAME
from runner.url import DEFAULT as DEFAULT_URL
from runner.url import with_login

Settings = TypeVar("Settings", bound="CommonSettings")

NO_OPTIONS = "there are no options here: settings are environment variables, see docs/settings.md"
_MODULE = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"
_PLAIN_NUMBER = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?")
_URL = r"(?:rediss?(?:\+sentinel|\+cluster)?|unix)://\S+"


def setting(meaning: str, default: Any = MISSING, *, allowed: str = "", env: str = "", **facts: Any) -> Any:
    """One setting. `facts`: unit, at_least, at_most for numbers; pattern for texts; falls_back (a variable); secret."""
    return field(default=default, metadata={"meaning": meaning, "allowed": allowed, "env": env, **facts})


def seconds(meaning: str, default: float, at_least: float, at_most: float, *, env: str = "") -> Any:
    """A duration in seconds."""
    return setting(meaning, default, env=env, unit="s", at_least=at_least, at_most=at_most)


@dataclass(frozen=True, kw_only=True)
class CommonSettings:
    """What every role reads."""

    redis_url: str = setting(
        "Where Redis is, see docs/operations.md; a password in it is never printed.",
        DEFAULT_URL,
        allowed="redis://, rediss://, unix://, redis+sentinel:// or redis+cluster:// and an address",
        pattern=_URL,
        secret=True,
    )
    redis_username: str = setting("The user, where the URL names none.", "", allowed="a name")
    redis_password: str = setting("The password, where the URL has none; never printed.", "", allowed="any text", secret=True)
    redis_sentinel_username: str = setting("The user that the sentinels ask for.", "", allowed="a name")
    redis_sentinel_password: str = setting("The password that the sentinels ask for; never printed.", "", allowed="any text", secret=True)
    prefix: str = setting(
        "Put before every queue's name with a colon, so that releases and stages share one Redis unseen by each other.",
        "",
        allowed="nothing, or up to 100 letters, digits, `.`, `_`, `-` (no colon, no braces)",
        pattern=NAME.pattern,
    )
    connect_s: float = seconds("How long Redis may fail, at the start and in between, before the process gives up.", 15.0, 0, 3600)
    log_level: str = setting(
        "The least important line that is written.", "info", allowed="debug, info, warning, error", pattern="debug|info|warning|error"
    )

    def __post_init__(self) -> None:
        """From here on the URL says all about how to get in."""
        login = (self.redis_username, self.redis_password, self.redis_sentinel_username, self.redis_sentinel_password)
        if any(login):
            object.__setattr__(self, "redis_url", with_login(self.redis_url, *login))


@dataclass(frozen=True, kw_only=True)
class ProducerSettings(CommonSettings):
    """What the command line reads for everything but `work` and `control`."""


@dataclass(frozen=True, kw_only=True)
class WorkerSettings(CommonSettings):
    """What a worker reads."""

    queue: str = setting("The queue to take one task from.", allowed="the name of a declared queue", pattern=NAME.pattern)
    handlers: tuple[str, ...] = setting(
        "Python modules with handlers, imported by the child; none leaves the built-in `runner.echo` and `runner.sleep`.",
        (),
        allowed="module names joined by commas",
        pattern=rf"{_MODULE}(?: *, *{_MODULE})*",
    )
    exec: str = setting("A program that handles the tasks instead of Python modules, such as `node resize.js`.", "", allowed="a command")
    idle_s: float = seconds(
        "How long to wait for the earliest claim of others to expire; 0 is the queue's lease + 5, less than that is refused.", 0.0, 0, 86400
    )
    grace_s: float = seconds("How long a child that was asked to end (TERM) may take before it is killed.", 10.0, 0, 3600)
    ready_file: str = setting("A file that exists from the claim to the end of the process, for a readiness probe.", "", allowed="a path")
    settle_s: float = seconds("How long to try to record the outcome of a finished task while Redis fails.", 300.0, 0, 86400)
    start_s: float = seconds("How long the child may take to import the handlers and report ready.", 60.0, 1, 3600)
    pod: str = setting("The pod's name, recorded with each attempt.", "", allowed="a name", falls_back="HOSTNAME")
    pod_uid: str = setting("The pod's uid, by which Kubernetes tells it from another of its name.", "", allowed="a uid")
    node: str = setting("The node's name, recorded with each attempt.", "", allowed="a name")


@dataclass(frozen=True, kw_only=True)
class ControllerSettings(CommonSettings):
    """What the controller reads."""

    for_s: float = seconds("How long to make passes; 0 is one pass.", 0.0, 0, 86400, env="CONTROL_FOR_S")
    every_s: float = seconds("From the start of one pass to the start of the next.", 5.0, 0.1, 3600, env="CONTROL_EVERY_S")
    stuck_s: float = seconds("How long a Job that cannot start is left there before it is deleted.", 300.0, 0, 86400, env="CONTROL_STUCK_S")
    release: str = setting(
        "The release whose pods and Jobs are looked at, by its label; empty is all workers of the namespace.",
        "",
        allowed="a name",
        env="CONTROL_RELEASE",
    )
    queues_file: str = setting(
        "A file with the declarations of queues, which each pass makes true.", "", allowed="a path", env="CONTROL_QUEUES_FILE"
    )


def variable(one: Field[Any]) -> str:
    """The environment variable of a setting."""
    return f"RUNNER_{one.metadata['env'] or one.name.upper()}"


def load(kind: type[Settings], environ: Mapping[str, str] | None = None) -> Settings:
    """The role's settings from the environment; an empty variable is as none. ConfigError is one line about what is wrong."""
    given = os.environ if environ is None else environ
    plain = {one.name: _plainly_good(one, _raw(one, given)) for one in fields(kind)}
    if None not in plain.values():
        return kind(**plain)
    from runner.configcheck import judge

    texts = judge({one.name: one for one in fields(kind)}, {one.name: variable(one) for one in fields(kind)}, given)
    return kind(**{one.name: _valued(one, texts[one.name]) for one in fields(kind)})


def _raw(one: Field[Any], environ: Mapping[str, str]) -> str:
    return environ.get(variable(one), "") or environ.get(one.metadata.get("falls_back", ""), "")


def _plainly_good(one: Field[Any], raw: str) -> Any:
    """The value, or None where there is any doubt."""
    if not raw:
        return None if one.default is MISSING else one.default
    if isinstance(one.default, float):
        return _plain_number(one, raw)
    if not (raw.isascii() and raw.isprintable() and raw == raw.strip() and re.fullmatch(one.metadata.get("pattern", ".+"), raw)):
        return None
    return _valued(one, raw)


def _plain_number(one: Field[Any], raw: str) -> float | None:
    if not _PLAIN_NUMBER.fullmatch(raw):
        return None
    number = float(raw)
    return number if one.metadata["at_least"] <= number <= one.metadata["at_most"] else None


def _valued(one: Field[Any], good: Any) -> Any:
    """What a good text or number becomes in the dataclass."""
    if isinstance(one.default, tuple) and isinstance(good, str):
        return tuple(part.strip() for part in good.split(",") if part.strip())
    return good


def described(one: Field[Any]) -> tuple[str, str, str]:
    """A setting's allowed values, default, and meaning, as people read them."""
    facts = one.metadata
    allowed = facts["allowed"] or f"seconds, {facts['at_least']:g} to {facts['at_most']:g}"
    if one.default is MISSING:
        return allowed, "(required)", facts["meaning"]
    shown = f"{one.default:g}" if isinstance(one.default, float) else one.default or facts.get("falls_back", "")
    return allowed, f"`{shown}`" if shown else "(empty)", facts["meaning"]


def document() -> Iterator[str]:
    """The lines of docs/settings.md."""
    yield "# Settings"
    yield ""
    yield "Written by `make pages` from `runner/config.py`."
    yield "All are environment variables; an empty one is as none, and spaces around a value are cut."
    yield "A wrong one ends the process with one line and exit code 2."
    shared = {one.name for one in fields(CommonSettings)}
    for title, kind in (("Every process", CommonSettings), ("Worker", WorkerSettings), ("Controller", ControllerSettings)):
        yield from ["", f"## {title}", "", "| variable | type | allowed | default | meaning |", "|---|---|---|---|---|"]
        for one in fields(kind):
            if kind is CommonSettings or one.name not in shared:
                yield "| " + " | ".join([f"`{variable(one)}`", _type(one), *described(one)]) + " |"


def _type(one: Field[Any]) -> str:
    return "number (s)" if isinstance(one.default, float) else "list" if isinstance(one.default, tuple) else "text"
