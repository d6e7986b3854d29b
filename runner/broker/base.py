"""What every transition needs: a queue's keys, its declaration kept fresh, bytes made text. Called by the broker's other modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from redis.exceptions import ResponseError

from runner import scripts
from runner.errors import BrokerError, ConfigError, NewerLayoutError, OutOfMemoryError, RefusedError, UndeclaredQueueError
from runner.explain import FAILURES
from runner.keys import Keys, queue_key
from runner.queue import LAYOUT, NAME, NAME_RULE, Declaration
from runner.scripts import Argument
from runner.tasks import Counters

T = TypeVar("T")


def text(value: Any) -> str:
    """Bytes of Redis as text; ids of any form survive the way there and back."""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def raw(value: str) -> bytes:
    """Text as the bytes that `text` read; RefusedError for half a surrogate pair, which no bytes can say."""
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        said = f"{value!r} cannot be an id or a key: character {error.start} is half a surrogate pair"
        raise RefusedError(f"{said}; was the text cut, or decoded wrongly?") from error


@lru_cache(maxsize=1024)
def counters(word: Any) -> Counters:
    """The counters word of a record; most of a chunk have the same."""
    return Counters(*(int(n) for n in text(word).split(",")))


def declaration_key(prefix: str, name: str) -> str:
    """Where a queue's declaration is; ConfigError for what is no name, which may hold what cannot even be sent."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ConfigError(f"queue {name!r}: {NAME_RULE}")
    return f"{{{queue_key(prefix, name)}}}:queue"


def read_declaration(client: Any, prefix: str, name: str) -> Declaration:
    """Read a queue's declaration.

    Raises UndeclaredQueueError, NewerLayoutError, and BrokerError for something else in its place.
    """
    key = declaration_key(prefix, name)
    try:
        stored = client.hgetall(key)
    except ResponseError as error:
        raise refusal(name, error) from error
    return declared(name, key, stored)


def declared(name: str, key: str, stored: Mapping[bytes, bytes]) -> Declaration:
    """The declaration that is stored under `key`; raises as `read_declaration` does."""
    if not stored:
        raise UndeclaredQueueError(name)
    fields = {text(k): text(v) for k, v in stored.items()}
    try:
        if int(fields["layout"]) > LAYOUT:
            raise NewerLayoutError(name, int(fields["layout"]), LAYOUT)
        return Declaration.from_fields(name, fields)
    except (KeyError, ValueError, TypeError) as error:
        said = f"queue {name!r}: another program changed its declaration, and it cannot be read any more ({error!r})"
        raise BrokerError(f"{said}: delete the key {key} and declare the queue again") from error


def refusal(name: str, error: ResponseError) -> Exception:
    """What to raise for an answer that is an error: a failure of Redis as it is, else (NOREPLICAS, a wrong type) BrokerError."""
    return error if isinstance(error, FAILURES) else BrokerError(f"queue {name!r}: Redis refused: {' '.join(str(error).split())}")


def head(declaration: Declaration) -> tuple[Argument, ...]:
    """ARGV 1 to 6 of every script (runner/lua/prelude.lua)."""
    d = declaration
    return (d.rev, d.mode, d.lease_ms, int(d.keep_done_s * 1000), d.max_length, ",".join(d.priorities))


class Base:
    """One declared queue in one Redis."""

    def __init__(self, client: Any, prefix: str, declaration: Declaration) -> None:
        self.client = client
        self.prefix = prefix
        self.use(declaration)

    def use(self, declaration: Declaration) -> None:
        """Take a declaration that was read anew."""
        self.declaration = declaration
        self.keys = Keys(prefix=self.prefix, declaration=declaration)
        self.head = head(declaration)

    @property
    def name(self) -> str:
        """The queue's name, without prefix."""
        return self.declaration.name

    def run(self, name: str, *args: Argument) -> Any:
        """Run one script of this queue."""
        return self.run_fresh(name, lambda: args)

    def run_fresh(self, name: str, args: Callable[[], Sequence[Argument]]) -> Any:
        """The same with arguments that come out of the declaration: one that is found out of date must not decide."""
        return self.current(lambda: scripts.run(self.client, name, self.keys.all, (*self.head, *args())))

    def run_all(self, calls: Sequence[tuple[str, Sequence[Argument]]]) -> list[Any]:
        """Run several scripts of this queue in one round trip."""
        return self.current(lambda: scripts.run_all(self.client, [(name, self.keys.all, (*self.head, *args)) for name, args in calls]))

    def current(self, call: Callable[[], T]) -> T:
        """Repeat a call with a fresh declaration while somebody declares the queue again."""
        for _ in range(5):
            try:
                return call()
            except scripts.StaleDeclaration:
                self.use(read_declaration(self.client, self.prefix, self.name))
            except scripts.MissingDeclaration:
                raise UndeclaredQueueError(self.name) from None
            except scripts.MemoryFull:
                raise OutOfMemoryError from None
            except ResponseError as error:
                raise refusal(self.name, error) from error
        return call()
