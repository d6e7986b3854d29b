"""A program as a user writes it, under `mypy --strict`: typed handlers, a producer, an async one. Checked by test_typed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_type

import runner
from runner import AsyncProducer, Context, Producer
from runner.errors import RunnerError


@dataclass(frozen=True)
class Resize:
    """What the task says."""

    file: str
    width: int


@runner.task("image.resize")
def resize(wanted: Resize, context: Context) -> dict[str, str]:
    """A handler keeps its own type under the decorator."""
    context.progress(0.5, "half way")
    if wanted.width > 10_000:
        raise runner.Fatal("nobody needs an image that wide")
    return {"file": wanted.file}


def submit() -> str | None:
    """Submit, and follow."""
    with Producer("redis://localhost:6379/0") as producer:
        receipt = producer.submit("image.resize", Resize("a.jpg", 640), queue="images", delay_s=1.5)
        assert_type(receipt.id, str)
        try:
            producer.wait(receipt.id, 30)
        except RunnerError:
            return None
        return receipt.after


async def submit_async() -> bool:
    """The same in an event loop."""
    async with AsyncProducer() as producer:
        return (await producer.submit("image.resize", {"width": 640}, queue="images")).created


assert_type(resize(Resize("a.jpg", 1), Context({}, None, None)), dict[str, str])  # type: ignore[arg-type]
