"""Submit tasks from any Python program: `Producer`. Imported by users through `runner.Producer`, and by cli."""

from runner.producer.chunks import Submitted
from runner.producer.prepare import NewTask
from runner.producer.producer import Producer

__all__ = ["NewTask", "Producer", "Submitted"]
