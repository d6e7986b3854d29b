"""FastAPI with tasks: a request submits one and another asks for its result. Run it with `uvicorn fastapi_app:app`.

The producer lives as long as the application (lifespan). RUNNER_REDIS_URL says where Redis is; the queue `mail` is declared.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Request

import runner
from runner.errors import QueueFullError, TaskUnknownError, UnavailableError, WaitTimeoutError


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """One producer for all requests; on the way out its submits are waited for."""
    async with runner.AsyncProducer() as app.state.producer:
        yield


app = FastAPI(lifespan=lifespan)


def producer(request: Request) -> runner.AsyncProducer:
    """The application's producer."""
    found: runner.AsyncProducer = request.app.state.producer
    return found


Tasks = Annotated[runner.AsyncProducer, Depends(producer)]


@app.post("/mails", status_code=202)
async def send(to: str, tasks: Tasks) -> dict[str, str]:
    """Answer as soon as the task is in."""
    try:
        receipt = await tasks.submit("mail.send", {"to": to}, queue="mail", timeout_s=30)
    except (QueueFullError, UnavailableError) as error:
        raise HTTPException(503, "try again later") from error
    return {"id": receipt.id}


@app.get("/mails/{task_id}")
async def sent(task_id: str, tasks: Tasks) -> dict[str, Any]:
    """The result, if it is there within a second; a page asks again."""
    try:
        return {"done": True, "result": await tasks.wait(task_id, 1, queue="mail")}
    except WaitTimeoutError:
        return {"done": False}
    except TaskUnknownError as error:
        raise HTTPException(404) from error


@runner.task("mail.send")
def deliver(payload: dict[str, str]) -> str:
    """Runs in a worker's pod: `handlers: [fastapi_app]`. Larger applications keep handlers in a module without the web framework."""
    return f"sent to {payload['to']}"
