"""From one URL to a redis client that is patient for a stated time. Called by broker and the roles; with scripts the only door to redis-py.

    redis://  rediss://?ssl_ca_certs=  unix://       one server, as redis-py reads it
    redis+sentinel://[user:pass@]h1:p1,h2:p2/SERVICE[/DB]?sentinel_username=&sentinel_password=
    redis+cluster://[user:pass@]h1:p1,h2:p2          rediss+sentinel:// and rediss+cluster:// speak TLS
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar
from urllib.parse import parse_qsl, urlencode

import redis
from redis.backoff import AbstractBackoff, NoBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.connection import parse_url
from redis.exceptions import (
    AuthenticationError,
    ClusterDownError,
    MasterDownError,
    ReadOnlyError,
    RedisClusterException,
    ResponseError,
    TryAgainError,
)
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError

from runner.errors import ConfigError
from runner.explain import FAILURES, NO_DATABASE, REFUSALS, TOLD, explain
from runner.masking import masked

__all__ = ["FAILURES", "TOLD", "Client", "connect", "explain", "patiently", "unretried"]

Client: TypeAlias = "redis.Redis | RedisCluster"
Answer = TypeVar("Answer")


class PassingRefusal(ResponseError):
    """An answer by one of the codes REFUSALS, with a type that a retry can know."""


PASSING = (
    redis.ConnectionError,
    redis.TimeoutError,
    redis.BusyLoadingError,
    ReadOnlyError,
    MasterDownError,
    TryAgainError,
    ClusterDownError,
    PassingRefusal,
)
"""Errors that go away when a server comes back, finishes loading, has its replicas or its disk again, or a failover ends."""
FIRST_S, LONGEST_S = 0.05, 1.0
SCHEMES = ("redis", "rediss", "unix", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster")
TIMEOUT_S = 5.0
"""How long a connection may take to open, and to answer."""


class _Until(AbstractBackoff):
    """Exponential with jitter, until a deadline counted from the first failure; then the failure itself is raised.

    redis-py counts tries, and a try can take nothing (refused) or 5 s (no answer), so a count says nothing about time.
    """

    def __init__(self, retry_s: float) -> None:
        self.retry_s = retry_s
        self.deadline = 0.0

    def reset(self) -> None:
        """Nothing: redis-py also calls this for a connect inside a command, which must not begin to wait anew."""

    def compute(self, failures: int) -> float:
        """Seconds to wait before the next try; raises the error in hand where waiting is over or cannot help."""
        error, now = sys.exception(), time.monotonic()
        self.deadline = self.deadline or now + self.retry_s
        if error is not None and (_hopeless(error) or now >= self.deadline):
            raise error
        pause_s: float = min(LONGEST_S, FIRST_S * 2 ** min(failures, 10)) * random.uniform(0.5, 1)
        return min(pause_s, max(0.001, self.deadline - now))


def _hopeless(error: BaseException) -> bool:
    said = str(error).lower()
    return isinstance(error, AuthenticationError) or "cluster mode is not enabled" in said or NO_DATABASE in said


class _Patient(Retry):
    """Redis-py's retry with one deadline for a whole call, however deep its tries nest (a command connects, a connect retries)."""

    def __init__(self, retry_s: float, errors: tuple[type[Exception], ...] = PASSING) -> None:
        super().__init__(_Until(retry_s), -1, (*errors, OSError))  # redis-py 5 gives the bare OSError of a connect to the retry
        self._until: _Until = self._backoff  # type: ignore[assignment]
        self._depth = 0

    def call_with_retry(self, do: Callable[[], Any], *args: Any, **kwargs: Any) -> Any:
        """The outermost call begins a new deadline."""
        if not self._depth:
            self._until.deadline = 0.0
        self._depth += 1
        try:
            return super().call_with_retry(lambda: _typed(do), *args, **kwargs)
        finally:
            self._depth -= 1


def _typed(do: Callable[[], Answer]) -> Answer:
    try:
        return do()
    except ResponseError as error:
        if str(error).startswith(REFUSALS) and not isinstance(error, PassingRefusal):
            raise PassingRefusal(str(error)) from error
        raise


class _PatientCluster(RedisCluster):
    """A cluster client whose every command is patient; redis-py gives up at once when no node answers at all."""

    retry_s = 0.0

    def execute_command(self, *args: Any, **kwargs: Any) -> Any:
        """One command, tried until it succeeds or the time is over."""
        once: Callable[..., Any] = super().execute_command
        return patiently(self.retry_s, lambda: once(*args, **kwargs))


def patiently(retry_s: float, do: Callable[[], Answer]) -> Answer:
    """What `do` answers, tried until it succeeds or the time is over; for clients that have no patience of their own."""
    answer: Answer = _Patient(retry_s, (*PASSING, RedisClusterException)).call_with_retry(do, lambda _: None)
    return answer


@dataclass(frozen=True, slots=True)
class _Address:
    """A URL of several hosts, taken apart."""

    hosts: list[tuple[str, int]]
    path: list[str]
    options: dict[str, Any]
    sentinel_options: dict[str, Any]


def connect(url: str, *, retry_s: float = 15.0, client_name: str = "", timeout_s: float = TIMEOUT_S) -> Client:
    """A client (replies are bytes) that lets Redis fail for up to `retry_s` at each call. ConfigError if the URL makes no sense."""
    common = _socket(timeout_s) | {"retry": _Patient(retry_s), "retry_on_error": list(PASSING)}
    if client_name:
        common["client_name"] = "-".join(client_name.split())
    scheme = url.partition("://")[0]
    try:
        if scheme not in SCHEMES:
            raise ValueError(f"it begins with one of {', '.join(f'{one}://' for one in SCHEMES)}")
        if scheme.endswith("+sentinel"):
            return _behind_sentinel(_taken_apart(url, 26379), common)
        if scheme.endswith("+cluster"):
            return _of_cluster(_taken_apart(url, 6379), common, retry_s)
        return _single(url, common)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"the Redis URL {masked(url)!r} makes no sense: {error}") from error


def unretried(url: str, *, client_name: str = "") -> Client:
    """A client that raises the first error; `submit` uses it, because after a lost reply it must resend through another script."""
    return connect(url, retry_s=0.0, client_name=client_name)


def _greet(connection: Any) -> None:
    """What redis-py does at the start of a connection; there a database that is not there is a failure, not an answer."""
    try:
        # Without its health check, which opens a lost connection again and so greets from within the greeting: a server that answers and
        # closes, such as one that speaks HTTP, ended in 300 nested calls.
        greet = getattr(connection, "on_connect_check_health", None)
        greet(check_health=False) if greet else connection.on_connect()
    except ResponseError as error:
        said = str(error).lower()
        if "already authenticated" in said:  # a HELLO without a login, where one is needed
            raise redis.AuthenticationError(str(error)) from error
        raise redis.ConnectionError(str(error)) if NO_DATABASE in said else error from error


class _Sentinels(redis.Sentinel):
    """Sentinels, of which one may be a plain server by mistake."""

    def discover_master(self, service_name: str) -> Any:
        """The master's address."""
        try:
            return super().discover_master(service_name)  # type: ignore[no-untyped-call]
        except ResponseError as error:
            if "unknown command" not in str(error).lower():
                raise
            raise MasterNotFoundError("what answers there is no Sentinel") from error


def _socket(timeout_s: float) -> dict[str, Any]:
    return {"socket_timeout": timeout_s, "socket_connect_timeout": timeout_s, "health_check_interval": 25}


def _single(url: str, common: dict[str, Any]) -> redis.Redis:
    path = url.partition("://")[2].partition("?")[0].rpartition("@")[2].partition("/")[2].strip("/")
    if path and not path.isdecimal() and not url.startswith("unix"):
        raise ValueError(f"{path!r} is no number of a database, as in redis://host:6379/0")
    client = redis.Redis.from_url(url, **common, redis_connect_func=_greet)
    pool = client.connection_pool
    pool.connection_class(**pool.connection_kwargs)  # an unknown option is told now, not at the first command
    return client


def _behind_sentinel(address: _Address, common: dict[str, Any]) -> redis.Redis:
    if not address.path:
        raise ValueError("it names no service, as in redis+sentinel://host:26379/SERVICE/0")
    tls = {key: value for key, value in address.options.items() if key.startswith("ssl")}
    own = _socket(TIMEOUT_S) | {"retry": Retry(NoBackoff(), 0)} | tls | address.sentinel_options
    sentinel: Any = _Sentinels(address.hosts, sentinel_kwargs=own, redis_connect_func=_greet, **(common | address.options))  # type: ignore[no-untyped-call]
    master: redis.Redis = sentinel.master_for(address.path[0])
    return master


def _of_cluster(address: _Address, common: dict[str, Any], retry_s: float) -> RedisCluster:
    if address.options.pop("db", 0):
        raise ValueError("a cluster has only database 0")
    shared = {key: value for key, value in common.items() if key != "retry_on_error"} | {"retry": Retry(NoBackoff(), 3)}
    nodes = [ClusterNode(host, port) for host, port in address.hosts]
    client = patiently(retry_s, lambda: _PatientCluster(startup_nodes=nodes, **shared, **address.options))
    client.retry_s = retry_s
    return client


def _taken_apart(url: str, default_port: int) -> _Address:
    scheme, _, rest = url.partition("://")
    place, _, query = rest.partition("?")
    login, _, place = place.rpartition("@")
    hosts, *path = [part for part in place.split("/") if part]
    given = parse_qsl(query)
    plain = urlencode([(key, value) for key, value in given if not key.startswith("sentinel_")])
    database = path[1] if len(path) > 1 and "sentinel" in scheme else "".join(path[:1]) if "cluster" in scheme else "0"
    options = dict(parse_url(f"{scheme.partition('+')[0]}://{login}@localhost/{int(database or 0)}?{plain}"))
    options = {key: value for key, value in options.items() if key not in ("host", "port", "connection_class")}
    options |= {"ssl": True} if scheme.startswith("rediss") else {}
    sentinel = {key.removeprefix("sentinel_"): value for key, value in given if key.startswith("sentinel_")}
    return _Address([_host_and_port(one, default_port) for one in hosts.split(",") if one], path, options, sentinel)


def _host_and_port(text: str, default_port: int) -> tuple[str, int]:
    host, colon, port = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    return (host if colon else text).strip("[]"), int(port) if colon else default_port
