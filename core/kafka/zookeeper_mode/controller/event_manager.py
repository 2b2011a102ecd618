"""The controller's event queue (Kafka: `ControllerEventManager`): it handles one event at a time.

An event that reads or writes ZooKeeper continues when the response arrives; the next event begins only after that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from core.kafka.zookeeper.protocol import Op, Result
from core.kafka.zookeeper_mode.client import ZooKeeperClient
from core.sim.journal import Journal

Callback = Callable[..., None]
"""The continuation of an event."""


class ControllerEventManager:
    """The event queue of one broker's controller.

    Attributes:
        active: whether this broker considers itself the controller; only then are events handled.
        generation: the number of its controllerships so far; responses to a former one are ignored.
    """

    def __init__(self, journal: Journal, zk: ZooKeeperClient) -> None:
        self._journal = journal
        self._zk = zk
        self.active = False
        self.generation = 0
        self._events: deque[tuple[int, Callback, tuple[object, ...]]] = deque()
        self._busy = False
        self._running = False

    def begin_failover(self) -> None:
        """The controllership begins, with the failover as the event under way."""
        self.active = self._busy = True

    def activate(self) -> None:
        """Become controller with nothing to do: it has been controller for long."""
        self.active = True

    def clear(self) -> None:
        """The controllership is over: drop all events."""
        self.active = self._busy = False
        self.generation += 1
        self._events.clear()

    def add(self, handler: Callback, *about: object) -> None:
        """Queue an event behind the one under way."""
        self._events.append((self._journal.cause, handler, about))

    def put(self, handler: Callback, *about: object) -> None:
        """Queue an event, and begin it if no other is under way."""
        self.add(handler, *about)
        self._run()

    def done(self) -> None:
        """The event under way is complete."""
        self._busy = False
        self._run()

    def _run(self) -> None:
        if self._running:
            return
        self._running = True
        journal = self._journal
        before = journal.cause
        while self._events and not self._busy and self.active:
            self._busy = True
            journal.cause, handler, about = self._events.popleft()
            handler(*about)
        journal.cause = before
        self._running = False

    def submit(self, ops: Iterable[Op], callback: Callback, *about: object) -> None:
        """Send operations to ZooKeeper; the callback runs only if this is still the same controllership."""
        self._zk.submit(tuple(ops), self._on_results, self.generation, callback, about)

    def _on_results(self, results: tuple[Result, ...], generation: int, callback: Callback, about: tuple[object, ...]) -> None:
        if generation == self.generation:
            callback(results, *about)
