"""What is wrong between here and Redis, in one line that says where and never shows a password. Called through connect."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import redis
from redis.exceptions import (
    ClusterDownError,
    ClusterError,
    InvalidResponse,
    MasterDownError,
    MovedError,
    NoPermissionError,
    ReadOnlyError,
    RedisClusterException,
    TryAgainError,
)
from redis.sentinel import MasterNotFoundError

from runner.errors import UnavailableError
from runner.masking import masked

FAILURES: tuple[type[Exception], ...] = (
    redis.ConnectionError,
    redis.TimeoutError,
    ReadOnlyError,
    NoPermissionError,
    TryAgainError,
    MovedError,
    ClusterError,
    RedisClusterException,
    InvalidResponse,
)
"""What redis-py raises when Redis could not be asked, as against an answer."""
TOLD: tuple[type[Exception], ...] = (*FAILURES, redis.ResponseError)
"""For the outermost `except TOLD as error: raise explain(error, url)`: also an answer that nobody below expected, such as BUSY."""

DENIED: type[Exception] = NoPermissionError
"""What is raised where the login may not call a command or use a key."""
REFUSALS = ("NOREPLICAS ", "BUSY ", "MISCONF ")
"""Codes of answers that redis-py has no type for and that go away: too few replicas, somebody's long script, a full disk."""

NO_DATABASE = "db index is out of range"

_AUTHENTICATION = (
    ("wrongpass", "refused the user or password of the URL"),
    ("invalid username-password", "refused the user or password of the URL"),
    ("invalid password", "refused the user or password of the URL"),
    ("without any password", "has no password, but the URL has one"),
    ("noauth", "wants a password, and the URL has none"),
    ("already authenticated", "wants a password, and the URL has none"),
    ("authentication required", "wants a password, and the URL has none"),
)
_BY_TYPE: tuple[tuple[type[Exception], str], ...] = (
    (redis.BusyLoadingError, "is still loading its data from disk"),
    (InvalidResponse, "does not speak Redis's protocol: is it another server's port?"),
    (ReadOnlyError, "is a read-only replica: give the master's address, or a redis+sentinel:// URL"),
    (MasterDownError, "is a replica that has lost its master"),
    (MovedError, "is a node of a cluster: use redis+cluster://"),
    (TryAgainError, "is moving slots, and did not finish in time"),
)
_BY_CAUSE: tuple[tuple[type[BaseException], str], ...] = (
    (ssl.SSLCertVerificationError, "has a certificate that is not trusted here: name its authority with ?ssl_ca_certs=FILE"),
    (ssl.SSLError, "does not speak TLS as asked: is it a TLS port, and does it want a client certificate?"),
    (socket.gaierror, "cannot be found: its name is not resolved"),
    (ConnectionRefusedError, "refused the connection: nothing listens there"),
    (FileNotFoundError, "is not there: a socket, certificate or key file does not exist"),
    (PermissionError, "may not be opened by this user"),
)


def passes(error: BaseException) -> bool:
    """Whether an answer says that Redis cannot do it now, as against never; the same call is worth repeating for a while."""
    return isinstance(error, (ReadOnlyError, MasterDownError, TryAgainError, ClusterDownError)) or str(error).startswith(REFUSALS)


def explain(error: BaseException, url: str) -> UnavailableError:
    """The error to raise in place of redis-py's; `raise explain(error, url) from error`."""
    hint = "; is it a TLS port?" if isinstance(error, redis.TimeoutError) and url.startswith("rediss") else ""
    return UnavailableError(f"Redis at {place(url)} {_what(error)}{hint}")


def place(url: str) -> str:
    """The part of a URL that says where: hosts, service, socket path; no user, password or options."""
    return masked(url).partition("://")[2].rpartition("@")[2].partition("?")[0].rstrip("/")


def _what(error: BaseException) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, MasterNotFoundError):
        return _of_sentinel(text)
    if isinstance(error, NoPermissionError):
        return f"does not permit this user a command or key that is needed: {text}"
    if NO_DATABASE in text.lower():
        return "has no database of that number"
    denied = next((said for sign, said in _AUTHENTICATION if sign in text.lower()), "")
    said = denied or next((said for kind, said in _BY_TYPE if isinstance(error, kind)), "") or _of_cluster(error, text)
    return said or _of_network(error, text)


def _of_sentinel(text: str) -> str:
    denied = next((said for sign, said in _AUTHENTICATION if sign in text.lower()), "")
    if denied:
        return f"cannot be found: the Sentinel {denied} (its own password is ?sentinel_password=, the master's stands before the @)"
    if "no Sentinel" in text:
        return f"cannot be found: {text}, which a redis:// URL would reach"
    return f"cannot be found: no Sentinel there knows a living master of that name ({text})"


def _of_cluster(error: BaseException, text: str) -> str:
    if not isinstance(error, (ClusterError, RedisClusterException)):
        return ""
    if "cluster mode is not enabled" in text.lower() or "cluster support disabled" in text.lower():
        return "is no cluster: use redis:// in place of redis+cluster://"
    return f"is a cluster that does not answer for all its slots ({text})"


def _of_network(error: BaseException, text: str) -> str:
    for kind, said in _BY_CAUSE:
        if any(isinstance(cause, kind) for cause in _causes(error)):
            return said
    if isinstance(error, redis.TimeoutError):
        return f"did not answer in time ({text})"
    if "closed by server" in text or any(isinstance(cause, ConnectionResetError) for cause in _causes(error)):
        return "closed the connection: it went away, or is a TLS port that wants rediss://"
    return f"failed: {text}"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:  # redis-py ties rings of them, in which `runner status` went round for ten minutes
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
