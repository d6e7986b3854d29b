"""Every error a caller can meet; the message says what was wrong, where, and what to do. Called by all other modules."""

from __future__ import annotations


class RunnerError(Exception):
    """Base of all errors of this package."""


class ConfigError(RunnerError):
    """A setting, option or declaration is wrong; a command line ends with exit code 2."""


class HandlersError(RunnerError):
    """The handlers cannot be loaded, or their program not found; nothing was claimed."""


class StoppedError(RunnerError):
    """The child was told to stop before it was ready; nothing was claimed."""


class UndeclaredQueueError(ConfigError):
    """The queue has no declaration in this Redis."""

    def __init__(self, queue: str) -> None:
        super().__init__(f"queue {queue!r} is not declared in this Redis: run `runner queue declare {queue} --mode stream` once")


class NewerLayoutError(ConfigError):
    """The queue was declared by a newer release whose keys this one cannot read."""

    def __init__(self, queue: str, found: int, known: int) -> None:
        super().__init__(f"queue {queue!r} has layout {found}, this release knows layouts up to {known}: upgrade this process")


class UnknownPriorityError(ConfigError):
    """The queue does not have this priority."""

    def __init__(self, queue: str, priority: str, known: tuple[str, ...]) -> None:
        super().__init__(f"queue {queue!r} has no priority {priority!r}: use one of {', '.join(known)}")


class RefusedError(RunnerError):
    """A task was refused at the call site; nothing was written."""


class QueueFullError(RefusedError):
    """The queue's max_length is reached; nothing was trimmed. `accepted` has the receipts of this call's tasks that still fitted."""

    def __init__(self, queue: str, max_length: int, accepted: tuple[object, ...] = ()) -> None:
        self.accepted = accepted
        super().__init__(f"queue {queue!r} is full, it holds {max_length} tasks: submit again later or raise max_length")


class BodyTooLargeError(RefusedError):
    """The body is over the queue's max_body_bytes."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"the task's body has {size} bytes, the limit is {limit}: store the data elsewhere and submit its address")


class UnencodableError(RefusedError):
    """The payload holds a value that has no encoding."""


class UnreadableError(RunnerError):
    """A body that is no envelope; carries the raw bytes so that nothing is lost on the way to the dead letters."""

    def __init__(self, reason: str, raw: bytes) -> None:
        super().__init__(reason)
        self.raw = raw


class BrokerError(RunnerError):
    """Redis could not do what was asked."""


class UnavailableError(BrokerError):
    """Redis is down, refused the connection, is loading, or denied access; never to be taken for an empty queue."""


class OutOfMemoryError(BrokerError):
    """Redis reached maxmemory and refuses new data; running tasks can still settle."""

    def __init__(self) -> None:
        super().__init__("Redis reached its maxmemory and refuses anything new: raise maxmemory or let queues drain, then try again")


class ReplicationError(BrokerError):
    """What was submitted is in, but on too few replicas: a failover now could lose it. `receipts` are of the tasks in question."""

    def __init__(self, acknowledged: int, wanted: int, within_s: float, receipts: tuple[object, ...]) -> None:
        self.acknowledged, self.wanted, self.receipts = acknowledged, wanted, receipts
        what = "the task is in" if len(receipts) == 1 else f"{len(receipts)} tasks are in"
        said = f"{what}, but {acknowledged} of the {wanted} replicas asked for acknowledged within {within_s:g} s"
        super().__init__(f"{said}: look at the replicas (`INFO replication`), and do not submit again without a task_id")


class ClaimLostError(BrokerError):
    """The claim's token no longer holds the task; nothing was written."""

    def __init__(self, task_id: str) -> None:
        super().__init__(f"the claim on task {task_id!r} was lost to another holder; nothing was written")


class UnrecordedError(BrokerError):
    """The queue went away while a task of it was held; what became of the task is not recorded."""

    def __init__(self, task_id: str, why: str) -> None:
        changed = "since it was claimed, Redis was emptied, or its queue deleted or changed"
        super().__init__(f"the outcome of task {task_id!r} is not recorded: {changed} ({why})")


class ClusterError(RunnerError):
    """Kubernetes cannot be asked, or refuses."""


class WaitError(RunnerError):
    """`wait` ended without a result."""


class TaskDeadError(WaitError):
    """The task is in the dead-letter queue."""


class TaskCancelledError(WaitError):
    """The task was cancelled."""


class TaskExpiredError(WaitError):
    """The task expired before a worker took it."""


class TaskUnknownError(WaitError):
    """No queue knows this id: never submitted, purged, or done longer ago than keep_done_s."""


class WaitTimeoutError(WaitError):
    """The task was still on its way when the timeout passed."""


class NestedWaitError(WaitError):
    """`wait` was called inside a handler."""

    def __init__(self, task_id: str) -> None:
        said = f"this is the handler of task {task_id!r}, whose pod would be held while it waits for another"
        why = "once every pod up to the queue's maxReplicas waits like this, none is left to run what they wait for"
        super().__init__(f"{said}; {why}: submit and return, or pass allow_nested=True if the other queue has pods of its own")
