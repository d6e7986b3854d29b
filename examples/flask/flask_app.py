"""Flask with tasks: a request submits one and another asks for its result. Run it with `flask --app flask_app run`.

RUNNER_REDIS_URL says where Redis is; the queue `reports` is declared. The producer may be made before a server forks its workers:
a forked process takes connections of its own.
"""

from __future__ import annotations

from typing import Any

from flask import Flask, abort, current_app

import runner
from runner.errors import TaskUnknownError, UnavailableError, WaitTimeoutError


def create_app() -> Flask:
    """The application with its producer; threads share it."""
    app = Flask(__name__)
    app.extensions["runner"] = runner.Producer()
    app.add_url_rule("/reports/<int:number>", view_func=order, methods=["POST"])
    app.add_url_rule("/reports/<int:number>", view_func=read)
    return app


def tasks() -> runner.Producer:
    """The application's producer."""
    found: runner.Producer = current_app.extensions["runner"]
    return found


def order(number: int) -> tuple[dict[str, Any], int]:
    """However often it is asked for, a report is made once: its number is the task's id."""
    try:
        receipt = tasks().submit("report.make", {"number": number}, queue="reports", task_id=f"report-{number}")
    except UnavailableError:
        abort(503)
    return {"id": receipt.id, "new": receipt.created}, 202


def read(number: int) -> dict[str, Any]:
    """The result, if it is there."""
    try:
        return {"done": True, "result": tasks().wait(f"report-{number}", 0, queue="reports")}
    except WaitTimeoutError:
        return {"done": False}
    except TaskUnknownError:
        abort(404)


@runner.task("report.make")
def make(payload: dict[str, int]) -> str:
    """Runs in a worker's pod: `handlers: [flask_app]`."""
    return f"report {payload['number']}: all is well"
