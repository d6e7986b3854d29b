"""One child process as its supervisor handles it: alive or ended, signalled with its group, reaped once. Called by the supervisor."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reaped:
    """What the kernel says of an ended child. `exit_code` is negative for a signal; usage includes waited-for descendants."""

    exit_code: int
    cpu_s: float
    peak_kib: int

    @property
    def how(self) -> str:
        """In words, such as `killed by SIGSEGV` or `exit code 3`."""
        if self.exit_code >= 0:
            return f"exit code {self.exit_code}"
        try:
            return f"killed by {signal.Signals(-self.exit_code).name}"
        except ValueError:
            return f"killed by signal {-self.exit_code}"


def fork() -> int:
    """Fork with nothing unwritten that the child would write again, and with children that can be waited for.

    A process that was started with SIGCHLD ignored has its children collected by the kernel, exit code and usage with them.
    """
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for stream in filter(None, (sys.stdout, sys.stderr)):
        stream.flush()
    return os.fork()


class Process:
    """A forked child that leads, or is about to lead, a process group of its own."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.fd = _pidfd(pid)
        """Readable once the child has ended; -1 where the kernel has no such thing and `ended` is to be asked again."""

    def ended(self) -> bool:
        """Whether it has ended. It is not reaped by this, so that its group's number cannot be another's yet."""
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def signal(self, number: int) -> None:
        """Send to the group; to the child alone in the moment before it has made its group."""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            os.kill(self.pid, number)
        except PermissionError:
            # Nothing but the zombie itself is left of the group, which some kernels word like this.
            return

    def terminate(self) -> None:
        """Ask the group to end; a stopped one is woken, or it would never hear."""
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)

    def kill(self) -> None:
        """End the group, and whoever the ended child left in it."""
        self.signal(signal.SIGKILL)

    def reap(self) -> Reaped:
        """Collect the ended child; waits if it has only been killed."""
        _, status, used = os.wait4(self.pid, 0)
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1
        peak = used.ru_maxrss // 1024 if sys.platform == "darwin" else used.ru_maxrss
        return Reaped(os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime, peak)


def _pidfd(pid: int) -> int:
    if not hasattr(os, "pidfd_open"):
        return -1
    try:
        return os.pidfd_open(pid)
    except OSError:
        return -1
