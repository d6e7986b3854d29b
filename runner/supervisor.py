"""The parent's half of an attempt: it starts one child, gives it one task, ends it in time and says how it ended. Called by the worker.

One thread, one loop, none of the user's code. The loop waits on descriptors only, so whatever the child does (holds the
GIL, ignores SIGTERM, is stopped, prints 100 MB, leaves grandchildren) it has ended by timeout_s + grace_s.
"""

from __future__ import annotations

import contextlib
import math
import os
import select
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from runner import child, program
from runner.cgroup import oom_kills
from runner.channels import Channels, wake_pipe
from runner.ending import Outcome, Stopping, judge
from runner.errors import HandlersError, StoppedError
from runner.outcome import Ending, Kind
from runner.process import Process, Reaped, fork
from runner.replies import Known, Replies
from runner.tail import STDERR, Output, clip, last_line

__all__ = ["Known", "Supervisor"]

LAST_S = 1.0
"""What a child may take to exit after it has told its outcome."""
LINE_S = 0.1
"""How long the beginning of a line waits for its end before it is passed on."""
ASK_S = 0.05
"""How often a child's end is asked for where the kernel has no pidfd."""
LONGEST_WAIT_S = 3600.0
"""One wait; poll takes no longer ones than 24 days."""


class Supervisor:
    """One child, from its start to its end; not to be used twice.

    `output` takes what the child prints (None: this process's stderr). `root` holds the proc and sys that are read.
    """

    def __init__(
        self,
        handlers: Sequence[str] = (),
        exec_command: str = "",
        *,
        grace_s: float = 10.0,
        start_s: float = 60.0,
        output: Callable[[bytes], object] | None = None,
        root: str = "/",
    ) -> None:
        self._handlers, self._command = tuple(handlers), exec_command
        self._grace_s, self._start_s, self._root = grace_s, start_s, root
        self._channels = Channels()
        self._output = Output(self._channels.output_r, output)
        self._replies = Replies(self._channels.reply_r)
        self._wake_r, self._wake_w = wake_pipe()
        self._orders: deque[tuple[Stopping, float]] = deque()
        self._process: Process | None = None
        self._stopping: Stopping | None = None
        self._end_at = self._kill_at = math.inf
        self._killed = False
        self._result_file = ""

    @property
    def progress(self) -> tuple[float, str] | None:
        """The handler's last word, fraction and note, for the heartbeat to tell."""
        return self._replies.progress

    def start(self) -> None:
        """Fork the child. To be called while this process is small, has one thread and nothing open."""
        if self._command:
            self._result_file = program.new_result_file()
        self._end_at = time.monotonic() + self._start_s
        pid = fork()
        if pid == 0:
            child.main(self._channels, self._handlers, self._command, self._result_file)
        self._process = Process(pid)
        self._channels.keep_supervisors_ends()

    def await_ready(self) -> Known:
        """What the child can run, once it can. HandlersError in one line if it cannot; StoppedError after `stop`."""
        process, replies = self._running(), self._replies
        while not (replies.ready or replies.failed or self._orders or process.ended() or time.monotonic() >= self._end_at):
            self._turn(self._end_at)
        late = not process.ended()
        replies.take()
        if replies.ready and not self._orders:
            return replies.ready
        reaped = self._end()
        if self.stopping:
            raise StoppedError("stopped before the child was ready; nothing was claimed")
        raise HandlersError(replies.failed or replies.nonsense or self._unready(reaped, late))

    def waits(self, at_most_s: float = 0.0) -> bool:
        """Whether the ready child still waits for its task, looked at for so long; False once it ended or `stop` was called."""
        process, until = self._running(), time.monotonic() + at_most_s
        while not (self._orders or process.ended()) and time.monotonic() < until:
            self._turn(until)
        return not (self._orders or process.ended())

    @property
    def stopping(self) -> bool:
        """Whether `stop` was called, and not by this class itself because of what the child wrote: no pod may leave as if asked to then."""
        return bool(self._orders or self._stopping) and not self._replies.nonsense

    def run(self, facts: dict[str, Any], body: bytes, timeout_s: float) -> Ending:
        """Have the task run, and return when the child is gone. `facts`: id, type, version, queue, attempt; the times are added here.

        A child that was stopped before it got the task, or had ended by itself, is a release: the task did not run.
        """
        process, started = self._running(), time.monotonic()
        kills_before = oom_kills(self._root)
        times = {"timeout_ms": int(timeout_s * 1000), "deadline_ms": int((time.time() + timeout_s) * 1000)}
        if self._orders or process.ended() or not self._channels.hand_over({**facts, **times}, body):
            return self._unrun()
        self._end_at = started + timeout_s
        while not process.ended():
            self._decide(timeout_s)
            self._turn(min(self._end_at, self._kill_at))
        self._replies.take()
        wall_s = time.monotonic() - started
        written = program.take_result(self._result_file) if self._command else b""
        reaped = self._end()
        return self._ending(self._outcome(reaped, written, oom_kills(self._root) > kills_before), reaped, wall_s)

    def stop(self, kind: Kind, detail: str = "", *, grace_s: float | None = None) -> None:
        """End the child: TERM to its group, KILL after the grace. From any thread or signal handler, at any time.

        The Ending is of this kind, unless the child was done before it was gone. The first stop names the kind; a later
        one can only shorten the grace.
        """
        self._orders.append((Stopping(kind, detail), self._grace_s if grace_s is None else grace_s))
        with contextlib.suppress(BlockingIOError):  # full: it is awake already
            os.write(self._wake_w, b"\n")

    def close(self) -> None:
        """End the child at once, if it is still there. For one that has no task."""
        if self._process:
            self._end()
        self._channels.close()

    def __del__(self) -> None:
        """The wake pipe stays open as long as anybody could call `stop`: its number must not become another file's."""
        os.close(self._wake_r)
        os.close(self._wake_w)

    def _running(self) -> Process:
        if self._process is None:
            raise RuntimeError("start() comes first, and a supervisor runs one task")
        return self._process

    def _turn(self, until: float) -> None:
        """Wait for the next thing to happen, at most until then, and take in what came."""
        output, came = self._output, self._wait(until)
        if self._wake_r in came:
            os.read(self._wake_r, 4096)
        if came & {output.source_fd, STDERR}:
            output.take_some()
        elif not came:
            output.flush()
        if self._replies.fd in came:
            self._replies.take()
        if self._replies.nonsense and not self._stopping:
            self.stop(Kind.CRASH, self._replies.nonsense, grace_s=0)

    def _wait(self, until: float) -> set[int]:
        process, output, replies = self._running(), self._output, self._replies
        poll = select.poll()
        poll.register(self._wake_r, select.POLLIN)
        if process.fd >= 0:
            poll.register(process.fd, select.POLLIN)
        if replies.open and not replies.nonsense:
            poll.register(replies.fd, select.POLLIN)
        if output.open and output.blocked:
            poll.register(STDERR, select.POLLOUT)
        elif output.open:
            poll.register(output.source_fd, select.POLLIN)
        limits = (until - time.monotonic(), LINE_S if output.held else math.inf, ASK_S if process.fd < 0 else math.inf, LONGEST_WAIT_S)
        return {fd for fd, _ in poll.poll(max(0, math.ceil(min(limits) * 1000)))}

    def _decide(self, timeout_s: float) -> None:
        """Stop the child if that was ordered or its time is over, kill it if the grace is."""
        now = time.monotonic()
        if self._replies.outcome:
            self._end_at, self._kill_at = math.inf, min(self._kill_at, now + LAST_S)
            self._orders.clear()
        while self._orders:
            stopping, grace_s = self._orders.popleft()
            self._begin_to_stop(stopping, now + grace_s)
        if now >= self._end_at:
            self._begin_to_stop(Stopping(Kind.TIMEOUT, f"ran longer than its timeout of {timeout_s:g} s"), now + self._grace_s)
        if now >= self._kill_at:
            self._running().kill()
            self._kill_at, self._killed = math.inf, True

    def _begin_to_stop(self, stopping: Stopping, kill_at: float) -> None:
        if self._stopping is None:
            self._stopping = stopping
            self._running().terminate()
        if not self._killed:
            self._kill_at = min(self._kill_at, kill_at)
        self._end_at = math.inf

    def _end(self) -> Reaped:
        """Kill whoever is left of the group, reap the child, take what it printed last."""
        process = self._running()
        process.kill()
        reaped = process.reap()
        self._process = None
        self._output.finish()
        self._channels.close()
        if self._command:
            program.take_result(self._result_file)
        return reaped

    def _unready(self, reaped: Reaped, late: bool) -> str:
        printed = last_line(self._output.tail)
        last = f"; it printed last: {clip(printed)}" if printed else ""
        if late:
            return f"the handlers were not ready within {self._start_s:g} s{last}"
        return f"the child ended before its handlers were ready, {reaped.how}{last}"

    def _unrun(self) -> Ending:
        stopping = self._orders[0][0] if self._orders else Stopping(Kind.RELEASED, "the child had ended before it got the task")
        return self._ending(Outcome(stopping.kind, stopping.detail), self._end(), 0.0)

    def _outcome(self, reaped: Reaped, written: bytes, oom_killed: bool) -> Outcome:
        said = self._replies.outcome
        if self._command and not said:
            said = program.outcome_of(reaped.exit_code, written, self._output.tail, self._stopping is not None, oom_killed)
        outcome = judge(said, self._stopping, reaped, oom_killed)
        if self._killed and outcome.kind is Kind.TIMEOUT:
            return Outcome(outcome.kind, f"{outcome.detail}, and was killed after a grace of {self._grace_s:g} s")
        return outcome

    def _ending(self, outcome: Outcome, reaped: Reaped, wall_s: float) -> Ending:
        told = (outcome.kind or Kind.CRASH, outcome.detail, outcome.result, outcome.after_s)
        return Ending(*told, wall_s, reaped.cpu_s, reaped.peak_kib, reaped.exit_code, self._output.tail)
