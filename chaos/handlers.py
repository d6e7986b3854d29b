"""The handler of the chaos run: tells the ledger of its start and its end, and misbehaves as its payload says. Called by the workers."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from chaos.ledger import Ledger
from runner import Context, Fatal, Retry, task


@task("chaos.work")
def work(payload: dict[str, Any], context: Context) -> int:
    """Do what `do` says; the result is the task's number."""
    number, ledger = payload["n"], Ledger(Path(os.environ["CHAOS_LEDGER"]))
    ledger.write(number, "start", context.id, context.attempt)
    time.sleep(payload["s"])
    failed_before = sum(line.word == "fail" for line in ledger.read(number))
    if payload["do"] not in ("work", "slow") and failed_before < payload["fails"]:
        ledger.write(number, "fail", context.id, context.attempt)
        _fail(payload["do"])
    ledger.write(number, "finish", context.id, context.attempt)
    return int(number)


def _fail(how: str) -> None:
    if how == "fatal":
        raise Fatal("poison on purpose")
    if how == "again":
        raise Retry("once more on purpose", after_s=0.1)
    if how == "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    raise ValueError("an error on purpose")
