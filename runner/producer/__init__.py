"""Submit tasks from any Python program: `Producer`, `AsyncProducer`. Imported by users through `runner`, and by cli."""

from runner.producer.async_producer import AsyncProducer
from runner.producer.chunks import Submitted
from runner.producer.prepare import NewTask
from runner.producer.producer import Producer

__all__ = ["AsyncProducer", "NewTask", "Producer", "Submitted"]
