"""The only door to Redis: one method per transition of the state diagram. Called by producer, worker, controller and cli."""

from runner.broker.broker import Broker
from runner.broker.claims import Empty, Reaped, Settled
from runner.broker.dead import DeadLetter, Heading
from runner.broker.history import Kept
from runner.broker.queue import Queue
from runner.broker.reads import Facts, Measures

__all__ = ["Broker", "DeadLetter", "Empty", "Facts", "Heading", "Kept", "Measures", "Queue", "Reaped", "Settled"]
